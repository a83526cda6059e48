"""Completion in real shells, and the words that it offers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pegboard_cli.completion_words import completions
from pegboard_cli.main import main

ID = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home with one session."""
    for name in list(os.environ):
        if name.startswith(("PEGBOARD", "XDG")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    transcripts = tmp_path / ".local/state/pegboard/transcripts"
    transcripts.mkdir(parents=True)
    (transcripts / f"{ID}.jsonl").write_text(json.dumps({"type": "prompt", "text": "Hi"}) + "\n")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", {"run", "tools", "audit", "undo", "--version"}),
        ("run --out", {"--output-format"}),
        ("run --output-format ", {"text", "json", "stream-json"}),
        ("run --permission-mode ", {"default", "plan", "acceptEdits"}),
        ("run --agent Ex", {"Explore"}),
        ("run --tools Re", {"Read"}),
        ("run --tools Read,Gr", {"Read,Grep"}),
        ("run --resume ", {ID[:12]}),
        ("run --provider ", {"anthropic", "openai"}),
        ("run --model ", {"claude-sonnet-5-5"}),
        ("undo ", {ID[:12]}),
        ("undo --t", {"--to"}),
        ("audit --session ", {ID[:12]}),
        ("sessions show ", {ID[:12]}),
        ("sessions ", {"list", "show", "delete"}),
        ("call Gl", {"Glob"}),
        ("tools show Gl", {"Glob"}),
        ("completion ", {"bash", "zsh", "fish"}),
        ("settings perm", {"permissions.deny"}),
    ],
)
def test_every_kind_of_word_is_offered(home, line, expected):
    *before, last = line.split(" ")
    found = {word for word in completions(before, last) if word.startswith(last)}
    assert expected <= found


@pytest.mark.parametrize("line", ["run --replay ", "nonsense ", "call Read ", "tools search "])
def test_where_nothing_is_known_nothing_is_offered(home, line):
    *before, last = line.split(" ")
    assert completions(before, last) == []


def test_a_broken_setting_says_nothing_into_the_command_line(home, capfd):
    (home / ".pegboard").mkdir()
    (home / ".pegboard/settings.json").write_text("{")
    assert main(["__complete", "run", "--permission-mode", ""]) == 0
    assert capfd.readouterr() == ("", "")


ASK = {
    "bash": """
source <(pegboard completion bash)
for words in "pegboard und" "pegboard run --permission-mode pla" "pegboard undo "; do
    COMP_WORDS=($words); [[ $words == *' ' ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=(); _pegboard
    echo "${COMPREPLY[@]}"
done
""",
    "fish": """
pegboard completion fish | source
for words in "pegboard und" "pegboard run --permission-mode pla" "pegboard undo "
    echo (complete -C $words)
end
""",
    # Completion needs a line editor, which zsh has only on a terminal: one is made with its own module.
    "zsh": r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; autoload -Uz compinit; compinit -u; source <(pegboard completion zsh)'
zpty -w shell 'compadd() { builtin compadd -O found "$@"; print -r -- "OFF""ERED $found END"; builtin compadd "$@" }'
for words in "pegboard und" "pegboard run --permission-mode pla" "pegboard undo "; do
    zpty -w -n shell "$words"$'\t'
    zpty -r -m shell line '*OFFERED*END*'
    print -r -- "${${line##*OFFERED }%% END*}"
    zpty -w -n shell $'\x15'
done
zpty -d shell
""",
}


@pytest.mark.parametrize("shell", ASK)
@pytest.mark.timeout(180)
def test_a_real_shell_completes(home, shell):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed here")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [program, "-c", ASK[shell]],
        env={**os.environ, "PATH": path, "TERM": "xterm"},
        cwd=home,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.stdout.split() == ["undo", "plan", ID[:12]], done.stderr


def test_what_a_shell_would_run_is_not_offered(home, capsys):
    transcripts = home / ".local/state/pegboard/transcripts"
    for name in ("$(touch a)", "`touch a`", "a;b", "two\nlines", "\x1b[2J"):
        (transcripts / f"{name}.jsonl").write_text("")
    assert main(["__complete", "run", "--resume", ""]) == 0
    assert capsys.readouterr().out == f"{ID[:12]}\n"
