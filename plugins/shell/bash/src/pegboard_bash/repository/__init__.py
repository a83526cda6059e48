"""What a git repository could make git run. Configuration is read as text; git itself is never asked."""

from __future__ import annotations

from pegboard_bash.repository.probe import Repository, danger_in, find, git_environment

__all__ = ["Repository", "danger_in", "find", "git_environment"]
