"""Know which hosts are alive, and remove what a killed one left behind."""

from pegboard_hosts.cleanup import DeadHost, tidy_up
from pegboard_hosts.record import Note, host_id, note

__all__ = ["DeadHost", "Note", "host_id", "note", "tidy_up"]
