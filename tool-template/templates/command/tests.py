{%- set file = cookiecutter.__file -%}
"""The command, as a person types it."""

import json

import pytest
from pegboard_cli.main import main


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """Nothing of the person who runs the tests leaks in."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def test_{{ file }}_lists_tools(capsys):
    assert main(["{{ cookiecutter.__word }}"]) == 0
    assert "Read" in capsys.readouterr().out.splitlines()


def test_{{ file }}_prints_json(capsys):
    assert main(["{{ cookiecutter.__word }}", "--json"]) == 0
    assert "Read" in json.loads(capsys.readouterr().out)


def test_{{ file }}_refuses_options_that_it_does_not_know(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["{{ cookiecutter.__word }}", "--jason"])
    assert ended.value.code == 2
    assert "unrecognized arguments: --jason" in capsys.readouterr().err
