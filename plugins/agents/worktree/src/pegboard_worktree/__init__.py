"""EnterWorktree and ExitWorktree."""

from pegboard_worktree.plugin import register_session_services, register_tools

WARM_UP = ("pegboard_worktree.worktree_tools",)
__all__ = ["register_session_services", "register_tools"]
