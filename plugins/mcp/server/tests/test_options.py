"""Options, tokens and names of the server: everything that is decided before a client connects."""

import re
from importlib.metadata import entry_points, requires

import pytest

from pegboard import SettingsError
from pegboard_mcp_server import options
from pegboard_mcp_server.guard import Names
from pegboard_mcp_server.tokens import VARIABLE, read_tokens


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--token-file", "x"], "--token-file, --allow-host and --allow-origin need --http"),
        (["--allow-host", "x"], "--token-file, --allow-host and --allow-origin need --http"),
        (["--http", "somewhere"], "--http: expected HOST:PORT such as 127.0.0.1:8931, got 'somewhere'"),
        (["--http", "127.0.0.1:99999"], "--http: expected HOST:PORT"),
        (["--cwd", "/no/such/folder"], "--cwd: there is no folder '/no/such/folder'"),
        (["--add-dir", "/no/such/folder"], "--add-dir: there is no folder '/no/such/folder'"),
        (["--token", "secret"], "unrecognized arguments: --token"),
    ],
)
def test_a_wrong_option_is_refused_with_a_sentence(words, said, capsys):
    with pytest.raises(SystemExit) as stopped:
        options.parse(words)
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "address"),
    [("8931", ("127.0.0.1", 8931)), ("localhost:0", ("localhost", 0)), ("[::1]:80", ("::1", 80))],
)
def test_an_address_is_host_and_port_and_a_bare_port_means_loopback(text, address):
    assert options.address(text) == address


def test_options_are_a_layer_of_settings(tmp_path):
    words = ["--cwd", str(tmp_path), "--tools", "Read, Grep", "--no-family", "web", "--allow", "Bash(ls)"]
    settings = options.settings_of(options.parse([*words, "--only", "files,search", "--deny", "Read(.env)"]))
    assert settings.get("availableTools") == ["Read", "Grep"]
    assert settings.get("only") == ["files", "search"]
    assert settings.get("disable") == ["web"]
    assert (settings.get("permissions.allow"), settings.get("permissions.deny")) == (["Bash(ls)"], ["Read(.env)"])


def test_a_token_is_made_for_the_run_where_none_is_given():
    tokens, made = read_tokens(None, {})
    assert len(made) >= 40
    assert tokens.owner(made)
    assert tokens.owner(made[:-1]) is None
    assert tokens.owner("") is None


def test_a_token_of_the_environment_is_taken_out_of_it():
    env = {VARIABLE: "0123456789abcdef"}
    tokens, made = read_tokens(None, env)
    assert (env, made) == ({}, "")
    assert tokens.owner("0123456789abcdef")


def test_each_token_of_a_file_has_an_owner_of_its_own(tmp_path):
    file = tmp_path / "tokens"
    file.write_text("# for Ann\nann-0123456789abcdef\n\nben-0123456789abcdef\n")
    file.chmod(0o600)
    tokens, _ = read_tokens(str(file), {})
    owners = {tokens.owner(f"{name}-0123456789abcdef") for name in ("ann", "ben")}
    assert len(owners) == 2
    assert None not in owners


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        ("0123456789abcdef", 0o644, "Others can read the token file."),
        ("short", 0o600, "A token must have at least 16"),
        ("with a space in it", 0o600, "A token must have at least 16"),
        ("# nothing\n", 0o600, "The token file has no token in it."),
    ],
)
def test_a_token_file_that_protects_nothing_is_refused(tmp_path, text, mode, said):
    file = tmp_path / "tokens"
    file.write_text(text)
    file.chmod(mode)
    with pytest.raises(SettingsError, match=said):
        read_tokens(str(file), {})


@pytest.mark.parametrize(
    ("host", "more", "accepted", "refused"),
    [
        (
            "127.0.0.1",
            [],
            ["127.0.0.1:80", "localhost:80", "[::1]:80"],
            ["evil.example:80", "127.0.0.1:81", "localhost"],
        ),
        ("0.0.0.0", [], ["127.0.0.1:80"], ["0.0.0.0:80", "192.168.0.7:80"]),
        ("192.168.0.7", [], ["192.168.0.7:80"], ["127.0.0.1:80", "evil.example:80"]),
        ("::", ["tools.example"], ["tools.example", "tools.example:80"], ["tools.example:81"]),
        ("127.0.0.1", ["Tools.example:443"], ["tools.example:443"], ["tools.example", "tools.example:80"]),
    ],
)
def test_every_address_has_its_names_and_no_others(host, more, accepted, refused):
    names = Names.of(host, 80, more, [])
    assert names.hosts.issuperset(accepted)
    assert names.hosts.isdisjoint(refused)


def test_only_pages_of_the_server_itself_may_call_it_unless_more_are_named():
    names = Names.of("127.0.0.1", 80, [], ["https://Page.example/"])
    own = {"http://127.0.0.1:80", "http://localhost:80", "http://[::1]:80"}
    assert names.origins == {*own, "https://page.example"}


def test_the_command_that_serve_is_a_part_of_is_installed_along():
    needed = {re.split("[<>=~! ]", line)[0] for line in requires("pegboard-mcp-server") or ()}
    [owner] = [point.dist.name for point in entry_points(group="pegboard.commands", name="mcp") if point.dist]
    assert owner in needed
