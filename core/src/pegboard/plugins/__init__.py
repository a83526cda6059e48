"""From entry points to what may be loaded: discovery, features, quarantine, the index."""
