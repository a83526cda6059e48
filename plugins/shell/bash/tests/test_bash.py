"""Bash, through the door the model uses."""

import pytest


@pytest.fixture
def bash(approve, call_tool):
    return lambda command, **more: call_tool("Bash", command=command, **more)


def test_bash_runs_in_the_working_directory(bash, ctx):
    assert bash("pwd").text == str(ctx.cwd)


def test_bash_keeps_the_order_of_output_and_errors(bash):
    assert bash("echo one; echo two >&2; echo three").text == "one\ntwo\nthree"


def test_bash_names_the_exit_code_and_shows_the_output(bash):
    result = bash("echo before; exit 3")
    assert (result.is_error, result.text) == (True, "The command exited with code 3.\nbefore")


def test_bash_names_the_signal(bash):
    assert bash("kill -9 $$").text == "The command was killed by SIGKILL."


def test_bash_ends_what_takes_too_long(bash):
    result = bash("echo begun; sleep 60", timeout=300)
    assert (result.code, result.text) == ("timeout", "The command timed out after 0.3 s and was killed.\nbegun")


def test_bash_asks_first(call_tool):
    assert call_tool("Bash", command="touch x").code == "permission_denied"


def test_bash_does_not_ask_before_reading(call_tool, ctx):
    (ctx.cwd / "a.txt").write_text("hello")
    assert call_tool("Bash", command="cat a.txt | tr a-z A-Z").text == "HELLO"
