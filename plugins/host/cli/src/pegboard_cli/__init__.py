"""The command line of Pegboard: one file per command, each imported only when it is used."""
