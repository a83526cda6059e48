"""The command line of Pegboard: one file a command, each imported only when it is used."""
