"""The user's own aliases and functions, taken once where a setting asks for it."""

import anyio
import pytest

from pegboard import Board, Call
from pegboard.settings import Layer, Settings

PROFILE = """
echo "noise of a profile"
alias greet='echo hello'
alias ls='echo not a listing of'
shout() { echo "$1!" | tr a-z A-Z; }
echo x >> "$HOME/started"
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / ".bash_profile").write_text(PROFILE)
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def board(home, answers, tmp_path):
    """A board made after HOME was set: the environment is taken once."""
    (tmp_path / "sub").mkdir()
    settings = Settings([Layer("cli", "test", {"bash.snapshot": True})], cwd=str(tmp_path))
    return Board.load(settings=settings, plugins=[answers])


@pytest.fixture
def run(board):
    def all_of_them(*commands):
        async def one_by_one():
            ctx, results = board.context(), []
            for command in commands:
                results.append(await board.dispatch(Call("1", "Bash", {"command": command}), ctx))
                ctx = ctx.after(results[-1].change)
            return results

        return anyio.run(one_by_one)

    return all_of_them


def test_aliases_and_functions_of_the_user_are_there(approve, run):
    assert [result.text for result in run("greet you", "shout hi")] == ["hello you", "HI!"]


def test_the_profile_is_read_once(approve, run, home):
    run("greet 1", "greet 2", "greet 3")
    assert (home / "started").read_text() == "x\n"


def test_the_directory_is_still_followed(approve, run, tmp_path):
    assert [each.text for each in run("greet 1; cd sub", "greet 2; pwd")][1] == f"hello 2\n{tmp_path / 'sub'}"


def test_scripts_do_not_see_the_users_aliases(approve, run):
    assert "greet" not in run("bash -c 'alias; declare -F; echo $BASH_ENV'")[0].text


def test_a_shadowed_name_is_not_the_program_that_we_know(deny, run, board):
    shadowed, plain = run("ls -l", "stat -c %n sub")
    assert (shadowed.code, plain.text) == ("permission_denied", "sub")
    tool = board.find("Bash").tool
    facts = anyio.run(tool.facts, tool.input(command="ls -l"), board.context())
    reason = "'ls' is an alias or function of the user's shell, so what it does is not known."
    assert (facts.read_only, facts.concurrency_safe, facts.reason) == (False, False, reason)


@pytest.mark.parametrize("command", ["time ls", "time -p ls", "echo a && time ls", "[ -f x ]", "time 'shout' a"])
def test_a_shadowed_name_asks_wherever_it_stands(deny, run, home, command):
    (home / ".bash_profile").write_text(PROFILE + "\n[() { echo mine; }\n")
    assert run(command)[0].code == "permission_denied"


def test_functions_with_extended_patterns_are_taken(approve, run, home, tmp_path):
    (home / ".bash_profile").write_text(
        "shopt -s extglob\npick() { case $1 in @(a|b)) echo yes;; esac; }\nlater() { echo later; }\n"
    )
    assert [each.text for each in run("pick a; later; cd sub", "pwd")] == ["yes\nlater", str(tmp_path / "sub")]


def test_exported_functions_of_the_host_do_not_reach_commands(approve, answers, monkeypatch, tmp_path):
    monkeypatch.setenv("BASH_FUNC_ls%%", "() { echo shadowed; }")
    board = Board.load(settings=Settings(cwd=str(tmp_path)), plugins=[answers])
    assert anyio.run(board.dispatch, Call("1", "Bash", {"command": "ls /"}), board.context()).text != "shadowed"


def test_without_the_setting_nothing_is_taken(approve, home, answers, tmp_path):
    board = Board.load(settings=Settings(cwd=str(tmp_path)), plugins=[answers])
    result = anyio.run(board.dispatch, Call("1", "Bash", {"command": "greet you"}), board.context())
    assert "there is no such program" in result.text
    assert not (home / "started").exists()


def test_a_profile_that_breaks_off_is_said(approve, run, home):
    (home / ".bash_profile").write_text("exit 7\n")
    advice = "Fix the shell's profile, or remove bash.snapshot from the settings."
    said = f"The user's aliases and functions cannot be loaded: the shell ended with code 7. {advice}"
    assert run("true")[0].text == said
