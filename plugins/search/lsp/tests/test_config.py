"""Servers that settings and files describe."""

import json

import pytest

from pegboard.settings import Layer, Settings
from pegboard_lsp.server_config import find_servers

TOY = {"command": "toy", "extensionToLanguage": {".toy": "toy"}}


def settings(root, *layers, trusted=True):
    made = [Layer(name, f"{name}.json", {"lsp.servers": servers}) for name, servers in layers]
    return Settings(made, cwd=str(root), trusted=trusted)


def named(found, name):
    return next((one for one in found.servers if one.name == name), None)


def test_an_entry_of_the_person_comes_before_the_project_and_the_built_in(tmp_path):
    mine, theirs = {**TOY, "args": ["mine"]}, {**TOY, "args": ["theirs"]}
    (tmp_path / ".lsp.json").write_text(json.dumps({"ty": {**TOY, "args": ["file"]}}))
    found = find_servers(settings(tmp_path, ("project", {"ty": theirs}), ("user", {"ty": mine})))
    server = named(found, "ty")
    assert (server.command, server.source, server.from_project) == (("toy", "mine"), "user.json", False)
    assert [one.name for one in found.servers].count("ty") == 1


def test_every_field_of_a_file_counts(tmp_path):
    entry = {
        **TOY,
        "args": ["--stdio"],
        "env": {"A": "b"},
        "initializationOptions": {"x": 1},
        "settings": {"toy": {"y": 2}},
        "startupTimeout": 1500,
        "shutdownTimeout": 500,
        "maxRestarts": 7,
        "diagnostics": False,
        "transport": "stdio",
    }
    (tmp_path / ".lsp.json").write_text(json.dumps({"toy": entry}))
    server = named(find_servers(settings(tmp_path)), "toy")
    assert (server.command, dict(server.languages), server.env) == (("toy", "--stdio"), {".toy": "toy"}, {"A": "b"})
    assert (server.options, server.settings) == ({"x": 1}, {"toy": {"y": 2}})
    assert (server.start_seconds, server.stop_seconds, server.restarts, server.diagnostics) == (1.5, 0.5, 7, False)
    assert server.from_project


def test_the_other_file_and_its_names_are_read_too(tmp_path):
    (tmp_path / ".github").mkdir()
    entry = {"command": "toy", "args": [], "fileExtensions": {".TOY": "toy"}}
    (tmp_path / ".github/lsp.json").write_text(json.dumps({"lspServers": {"toy": entry}}))
    assert dict(named(find_servers(settings(tmp_path)), "toy").languages) == {".toy": "toy"}


def test_a_built_in_server_can_be_switched_off(tmp_path):
    assert named(find_servers(settings(tmp_path, ("user", {"ty": {"enabled": False}}))), "ty") is None


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("ty", "It must be an object with a command."),
        ({}, "It needs a command."),
        ({"command": "x"}, 'It needs extensionToLanguage, such as {".zig": "zig"}.'),
        ({**TOY, "args": "x"}, "args must be of the type list, got str."),
        ({**TOY, "args": [1]}, "command, args and env must contain texts."),
        ({**TOY, "env": {"A": 1}}, "command, args and env must contain texts."),
        ({**TOY, "transport": "socket"}, "Only the transport stdio is supported."),
        ({**TOY, "args": ["${HOME}/x"]}, "Variables such as ${HOME} are not filled in. Write the value."),
        (
            {"command": "x", "extensionToLanguage": {"zig": "zig"}},
            'It needs extensionToLanguage, such as {".zig": "zig"}.',
        ),
        ({**TOY, "comand": "x"}, "It has no field 'comand'."),
    ],
    ids=str,
)
def test_a_wrong_entry_is_a_notice_and_not_used(tmp_path, entry, reason):
    found = find_servers(settings(tmp_path, ("user", {"toy": entry})))
    assert named(found, "toy") is None
    [notice] = found.notices
    assert notice.source == "user.json: the language server 'toy'"
    assert notice.message.startswith(reason)


@pytest.mark.parametrize("text", ["{", "[]", '"x"', "[" * 100_000, "\ufffe"], ids=lambda text: text[:3])
def test_a_broken_file_is_a_notice(tmp_path, text):
    (tmp_path / ".lsp.json").write_text(text)
    [notice] = find_servers(settings(tmp_path)).notices
    assert notice.source == str(tmp_path / ".lsp.json")


def test_a_file_of_a_project_that_is_not_trusted_is_not_read(tmp_path):
    (tmp_path / ".lsp.json").write_text("{")
    [notice] = find_servers(settings(tmp_path, trusted=False)).notices
    assert notice.message == "Its language servers are not used until you trust the project: pegboard trust."
