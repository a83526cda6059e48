"""`pegboard completion`: scripts for bash, zsh and fish, and the words they ask for."""

from __future__ import annotations

import re
import sys

from pegboard_cli import options
from pegboard_cli.main import OK

# Imports happen inside functions: a listing and --help must not load what only other commands need.

EXAMPLES = """\
  source <(pegboard completion bash)
  pegboard completion zsh > ~/.zfunc/_pegboard
  pegboard completion fish > ~/.config/fish/completions/pegboard.fish
"""

PLAIN = re.compile(r"[\w@%+=:,./\[\]-]+")
"""Words that a shell takes as they are: bash puts a completion into the command line without quoting it."""

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
    compadd -- ${found:#} || _files
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _pegboard "$@"
else
    compdef _pegboard pegboard
fi
""",
    "fish": """\
function __pegboard_words
    set -l before (commandline -opc)
    set -l found (pegboard __complete $before[2..-1] (commandline -ct) 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c pegboard -f -a '(__pegboard_words)'
""",
}


def run(words: list[str]) -> int:
    """The command."""
    parser = options.parser("completion", "Print a completion script for your shell.", EXAMPLES)
    parser.add_argument("shell", choices=sorted(SCRIPTS), help="your shell")
    sys.stdout.write(SCRIPTS[parser.parse_args(words).shell])
    return OK


def complete(words: list[str]) -> int:
    """Print the completions for the last word."""
    from pegboard_cli.completion_words import completions

    before, last = words[:-1], words[-1] if words else ""
    found = (word for word in completions(before, last) if word.startswith(last) and PLAIN.fullmatch(word))
    sys.stdout.write("".join(f"{word}\n" for word in found))
    return OK
