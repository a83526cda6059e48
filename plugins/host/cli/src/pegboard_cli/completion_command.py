"""`pegboard completion`: scripts for bash, zsh and fish, and the words they ask for."""

from __future__ import annotations

import sys

from pegboard_cli import options
from pegboard_cli.main import COMMANDS, OK

# Imports happen inside functions: a listing and --help must not load what only other commands need.

EXAMPLES = """\
  source <(pegboard completion bash)
  pegboard completion zsh > ~/.zfunc/_pegboard
  pegboard completion fish > ~/.config/fish/completions/pegboard.fish
"""

SCRIPTS = {
    "bash": """\
_pegboard() {
    mapfile -t COMPREPLY < <(pegboard __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _pegboard pegboard
""",
    "zsh": """\
#compdef pegboard
_pegboard() {
    local -a found
    found=("${(@f)$(pegboard __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    compadd -- $found || _files
}
compdef _pegboard pegboard
""",
    "fish": """\
complete -c pegboard -f -a '(pegboard __complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
""",
}

FLAGS = ["--help", "--json", "--only", "--no-family", "--no-tool", "--settings", "--cwd", "--debug"]


def run(words: list[str]) -> int:
    """The command."""
    parser = options.parser("completion", "Shell completion.", EXAMPLES)
    parser.add_argument("shell", choices=sorted(SCRIPTS), help="your shell")
    sys.stdout.write(SCRIPTS[parser.parse_args(words).shell])
    return OK


def complete(words: list[str]) -> int:
    """Print the completions for the last word."""
    before, last = words[:-1], words[-1] if words else ""
    sys.stdout.write("".join(f"{word}\n" for word in candidates(before, last) if word.startswith(last)))
    return OK


def candidates(before: list[str], last: str) -> list[str]:
    """Commands first; then flags, tool names or families as the words before suggest."""
    if not before:
        return [*COMMANDS, "--help", "--version"]
    if before[-1] in ("--no-family", "--only"):
        from pegboard.hosting import FAMILIES

        return list(FAMILIES)
    if last.startswith("-"):
        return FLAGS
    if before in (["call"], ["tools", "show"]) or before[-1] == "--no-tool":
        from pegboard.settings import load
        from pegboard_cli.tools_command import the_pool

        return the_pool(load()).names
    if before[0] == "settings":
        from pegboard.settings import installed_keys

        return list(installed_keys())
    return {"tools": ["search", "show"], "completion": sorted(SCRIPTS)}.get(before[0], []) if len(before) == 1 else []
