"""How long a command may take and how much is shown, by the variables that other hosts know."""

from __future__ import annotations

import json
import os

import pytest

from pegboard import Allow, Board, Call, hookimpl
from pegboard.settings import load
from pegboard_bash.call_limits import default_timeout_ms, longest_timeout_ms, shown_chars
from pegboard_bash.output import ON_SUCCESS


class Person:
    @hookimpl
    def ask_user(self):
        return Allow("yes")


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def settings(tmp_path, monkeypatch):
    home, root = tmp_path / "home", tmp_path / "project"
    root.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_TIMEOUT_MS", "BASH_MAX_OUTPUT_LENGTH"):
        monkeypatch.delenv(name, raising=False)

    def made(values, *, folder=".claude", at=home, trusted=False):
        file = at / folder / "settings.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
        return load(root, {"HOME": str(home), "PATH": os.environ["PATH"]}, managed=str(tmp_path / "m"), trusted=trusted)

    made.root = root
    return made


async def run(settings, **given):
    board = Board.load(settings=settings, plugins=[Person()])
    return await board.dispatch(Call("1", "Bash", given))


async def test_the_default_timeout_ends_a_command(settings):
    result = await run(settings({"env": {"BASH_DEFAULT_TIMEOUT_MS": "300"}}), command="sleep 60")
    assert "timed out after 0.3 s and was killed" in result.text


async def test_the_longest_timeout_limits_what_the_model_asks_for(settings):
    env = {"BASH_DEFAULT_TIMEOUT_MS": "300", "BASH_MAX_TIMEOUT_MS": "400"}
    result = await run(settings({"env": env}), command="sleep 60", timeout=30_000)
    assert "timed out after 0.4 s and was killed" in result.text


@pytest.mark.parametrize("end", ["", "; false"])
async def test_so_much_of_the_output_is_shown(settings, end):
    made = settings({"env": {"BASH_MAX_OUTPUT_LENGTH": "2000"}})
    result = await run(made, command=f"seq 100000{end}")
    assert len(result.text) < 3000
    assert "1\n2\n3" in result.text


def test_what_counts_where_several_say_something(settings, monkeypatch):
    made = settings({"env": {"BASH_DEFAULT_TIMEOUT_MS": "5000", "BASH_MAX_TIMEOUT_MS": "900"}})
    assert (default_timeout_ms(made), longest_timeout_ms(made)) == (5000, 5000)  # The longest is never the shorter.
    monkeypatch.setenv("BASH_DEFAULT_TIMEOUT_MS", "7000")
    assert default_timeout_ms(made) == 5000
    assert default_timeout_ms(settings({})) == 7000
    assert default_timeout_ms(settings({"bash": {"defaultTimeoutMs": 9000}}, folder=".pegboard")) == 9000


@pytest.mark.parametrize("words", ["", "soon", "-5", "1e3", "12345678901234", "٣٠٠"])
def test_a_variable_that_is_no_number_changes_nothing(settings, words):
    made, plain = settings({"env": {"BASH_DEFAULT_TIMEOUT_MS": words, "BASH_MAX_OUTPUT_LENGTH": words}}), settings({})
    assert default_timeout_ms(made) == default_timeout_ms(plain)
    assert shown_chars(made) == ON_SUCCESS


def test_no_variable_shows_more_than_a_result_may_have(settings):
    assert shown_chars(settings({"env": {"BASH_MAX_OUTPUT_LENGTH": "99999999"}})) == 38_000


@pytest.mark.parametrize("trusted", [True, False])
def test_those_of_a_project_count_once_it_is_trusted(settings, trusted):
    made = settings({"env": {"BASH_DEFAULT_TIMEOUT_MS": "300"}}, at=settings.root, trusted=trusted)
    assert (default_timeout_ms(made) == 300) is trusted
