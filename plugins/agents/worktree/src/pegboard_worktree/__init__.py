"""EnterWorktree and ExitWorktree."""

from pegboard_worktree.plugin import register_session_services, register_tools
from pegboard_worktree.worktree_tools import EnterWorktree, ExitWorktree

__all__ = ["EnterWorktree", "ExitWorktree", "register_session_services", "register_tools"]
