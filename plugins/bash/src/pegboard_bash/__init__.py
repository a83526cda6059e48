"""The Bash tool."""

from pegboard_bash.bash import Bash, BashInput, BashOutput, register_tools

__all__ = ["Bash", "BashInput", "BashOutput", "register_tools"]
