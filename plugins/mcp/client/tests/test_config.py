"""Where servers are described, and what is made of each description."""

import json

import pytest

from pegboard import Settings
from pegboard.settings import Layer
from pegboard_mcp.config import FIELDS, ConfigError, ServerConfig, expand, problems
from pegboard_mcp.limits import is_trusted
from pegboard_mcp.names import SeenNames, skeleton, tool_name
from pegboard_mcp.reading import find_servers, parse

RUN = {"command": "server"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("${NAME}", "ada"),
        ("a-${NAME}-b", "a-ada-b"),
        ("${NONE:-other}", "other"),
        ("${EMPTY:-other}", "other"),
        ("${NONE:-}", ""),
        ("${EMPTY}", ""),
        ("$NAME ${1X}", "$NAME ${1X}"),
    ],
)
def test_variables_are_filled_in(text, expected):
    assert expand(text, {"NAME": "ada", "EMPTY": ""}) == expected


def test_a_variable_that_is_not_set_is_named():
    with pytest.raises(ConfigError, match=r"The variable TOKEN is not set. Set it, or write \$\{TOKEN:-default\}."):
        ServerConfig("x", {"url": "https://h/${TOKEN}"}, env={}).text("url")


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        (RUN, "stdio"),
        ({"command": "x", "type": "stdio"}, "stdio"),
        ({"url": "https://h/mcp"}, "http"),
        ({"type": "http", "url": "https://h/mcp"}, "http"),
        ({"type": "streamable-http", "url": "https://h/mcp"}, "http"),
        ({"type": "sse", "url": "http://h/sse", "headers": {"A": "b"}}, "sse"),
    ],
)
def test_the_kind_of_a_server_follows_from_its_entry(entry, kind):
    assert list(problems(entry)) == []
    assert ServerConfig("x", entry).kind == kind


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("npx", "It must be an object"),
        ({}, "It needs a command to start, or a url to connect to."),
        ({"command": 3}, "command must be text, got 3."),
        ({"command": "x", "args": "a b"}, "args must be a list of strings"),
        ({"command": "x", "env": {"A": 1}}, "env must be an object with string values."),
        ({"type": "pipe", "command": "x"}, "The types are stdio, http and sse."),
        ({"type": "sse", "command": "x"}, "A server of the type sse needs a url."),
        ({"url": "ftp://h"}, "The url must begin with http:// or https://"),
        ({"command": "x", "timeout": 0}, "timeout must be above 0"),
        ({"command": "x", "tools": {"deny": "a"}}, "tools must be a list of names"),
        ({"command": "x", "timeout": float("nan")}, "timeout must be above 0"),
        ({"command": "x", "args": ["\ud800"]}, "halves of characters"),
        ({"url": "https://h", "oauth": {"callbackPort": "80"}}, "oauth.callbackPort must be a whole number"),
        ({"url": "https://h", "oauth": {"clientId": 5}}, "oauth.clientId must be text, got 5."),
    ],
)
def test_a_wrong_entry_is_explained(entry, words):
    assert words in next(problems(entry))


@pytest.mark.parametrize("field", sorted(FIELDS))
def test_a_field_that_is_null_is_as_good_as_missing(tmp_path, field):
    mine = ("user", {"mcpServers": {"notes": {**RUN, field: None}, "docs": {"url": "https://h/mcp", field: None}}})
    servers, notices = find_servers(settings(tmp_path, mine), {})
    wanted = {"command": {"docs"}, "url": {"notes"}}.get(field, {"notes", "docs"})
    assert {server.name for server in servers} == wanted
    assert all(server.offers("x") and server.digest for server in servers)
    assert len(notices) == 2 - len(wanted)


@pytest.mark.parametrize(
    "text",
    ['{"mcpServers": {"a": {"command": "x"}}}', '{"a": {"command": "x"}}', '{"servers": {"a": {"command": "x"}}}'],
)
def test_a_file_may_leave_out_the_wrapper(text):
    assert parse(text, "f", []) == {"a": {"command": "x"}}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1}', "[" * 100_000])
def test_a_file_that_cannot_be_used_is_a_notice(text):
    notices = []
    assert parse(text, "f", notices) == {}
    assert len(notices) == 1


def settings(root, *layers, trusted=True):
    return Settings([Layer(name, f"{name}.json", values) for name, values in layers], cwd=str(root), trusted=trusted)


def test_a_project_server_waits_for_trust(tmp_path):
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"notes": RUN}}))
    servers, notices = find_servers(settings(tmp_path, trusted=False), {})
    assert servers == []
    assert "not started until you trust the project" in str(notices[0])
    (server,), _ = find_servers(settings(tmp_path), {})
    assert (server.name, server.from_project) == ("notes", True)


def test_the_persons_server_counts_before_the_projects(tmp_path):
    (tmp_path / ".mcp.json").write_text(json.dumps({"notes": {"command": "evil"}}))
    (server,), (notice,) = find_servers(settings(tmp_path, ("user", {"mcpServers": {"notes": RUN}})), {})
    assert server.entry == RUN
    assert "It is not used: user.json has one of this name." in str(notice)


def test_a_file_that_the_project_names_comes_after_the_persons_servers(tmp_path):
    (tmp_path / "more.json").write_text(json.dumps({"notes": {"command": "evil"}}))
    said = ("user", {"mcpServers": {"notes": RUN}}), ("project", {"mcp.config": ["more.json"]})
    (server,), (notice,) = find_servers(settings(tmp_path, *said), {})
    assert server.entry == RUN
    assert "It is not used: user.json has one of this name." in str(notice)


@pytest.mark.parametrize("name", ["my__notes", "my notes", "_notes"])
@pytest.mark.parametrize("end", ["", "__*", "__send"])
def test_a_server_is_not_used_if_a_rule_about_it_would_miss_it(tmp_path, name, end):
    rules = ("managed", {"permissions.deny": [f"mcp__{name}{end}"]})
    servers, (notice,) = find_servers(settings(tmp_path, rules, ("user", {"mcpServers": {name: RUN}})), {})
    assert servers == []
    assert "in managed.json misses. Correct the rule." in str(notice)


def test_a_file_and_json_can_be_given_on_the_command_line(tmp_path):
    (tmp_path / "more.json").write_text(json.dumps({"one": RUN}))
    given = ("cli", {"mcp.config": ["more.json", '{"mcpServers": {"two": {"command": "x"}}}', "missing.json"]})
    servers, (notice,) = find_servers(settings(tmp_path, given), {})
    assert [server.name for server in servers] == ["one", "two"]
    assert "There is no such file." in str(notice)


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        ({"mcp.deniedServers": ["notes"]}, {"docs"}),
        ({"mcp.deniedServers": ["https://*"]}, {"notes"}),
        ({"mcp.allowedServers": ["n*"]}, {"notes"}),
        ({"mcp.allowedServers": ["server --all"]}, set()),
        ({"mcp.allowedServers": []}, set()),
    ],
)
def test_the_owner_limits_servers_by_name_and_address(tmp_path, limits, left):
    mine = {"mcpServers": {"notes": RUN, "docs": {"url": "https://h/mcp"}}}
    servers, notices = find_servers(settings(tmp_path, ("managed", limits), ("user", mine)), {})
    assert {server.name for server in servers} == left
    assert all("managed.json" in str(notice) for notice in notices)
    assert len(notices) == 2 - len(left)


@pytest.mark.parametrize(
    ("limits", "address"),
    [
        ({"mcp.deniedServers": ["https://evil.test/*"]}, "https://${X:-evil.test}/mcp"),
        ({"mcp.deniedServers": ["https://evil.test/*"]}, "https://EVIL.test:443/mcp"),
        ({"mcp.deniedServers": ["https://evil.test/*"]}, "https://good.test@evil.test./mcp"),
        ({"mcp.allowedServers": ["https://good.test*"]}, "https://good.test@evil.test/mcp"),
        ({"mcp.allowedServers": ["${GOOD}*"]}, "${GOOD}/mcp"),
    ],
)
def test_limits_are_about_the_address_that_is_reached(tmp_path, limits, address):
    mine = {"mcpServers": {"docs": {"url": address}}}
    made = settings(tmp_path, ("managed", limits), ("user", mine))
    assert find_servers(made, {"GOOD": "https://evil.test"})[0] == []


@pytest.mark.parametrize("address", ["https://${HOST}/mcp", "https://good.test/mcp", "https://good.test:443/mcp"])
def test_an_address_that_is_allowed_may_be_spelled_with_variables(tmp_path, address):
    limits = ("managed", {"mcp.allowedServers": ["https://good.test/*"]})
    made = settings(tmp_path, limits, ("user", {"mcpServers": {"docs": {"url": address}}}))
    assert len(find_servers(made, {"HOST": "good.test"})[0]) == 1


def test_trust_is_the_persons_word_about_a_server_of_their_own(tmp_path):
    (tmp_path / ".mcp.json").write_text(json.dumps({"theirs": RUN}))
    said = {"mcp.trustedServers": ["mine", "theirs"]}
    made = settings(tmp_path, ("user", {"mcpServers": {"mine": RUN}, **said}))
    assert {one.name: is_trusted(one, made) for one in find_servers(made, {})[0]} == {"mine": True, "theirs": False}
    by_project = settings(tmp_path, ("user", {"mcpServers": {"mine": RUN}}), ("project", said))
    assert not any(is_trusted(one, by_project) for one in find_servers(by_project, {})[0])


@pytest.mark.parametrize(
    ("names", "refused"),
    [
        (["github", "g1thub"], "looks like that of the server 'github'"),
        (["git-hub", "git_hub"], "looks like that of the server 'git-hub'"),
        (["gith\u0443b"], "spelled with characters that look like others"),
        (["a\u200bb"], "spelled with characters that look like others"),
        (["__"], "has no letter or digit"),
        (["x" * 41], "has 41 characters"),
    ],
)
def test_names_of_servers_that_could_be_mistaken_are_refused(tmp_path, names, refused):
    mine = ("user", {"mcpServers": dict.fromkeys(names, RUN)})
    servers, (notice,) = find_servers(settings(tmp_path, mine), {})
    assert len(servers) == len(names) - 1
    assert refused in str(notice)


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("notes", "read", "mcp__notes__read"),
        ("my notes", "read/all", "mcp__my_notes__read_all"),
        ("a__b", "c", "mcp__a_b__c"),
        ("notes", "caf\u00e9", "mcp__notes__caf_"),
    ],
)
def test_names_are_mapped_to_what_providers_take(server, tool, name):
    assert tool_name(server, tool) == name


def test_long_names_are_shortened_and_stay_apart():
    first, second = (tool_name("notes", "x" * 80 + end) for end in "ab")
    assert len(first) == len(second) == 64
    assert first != second


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["Bash"], "is that of a built-in tool"),
        (["send", "send"], "two tools with this name"),
        (["send_mail", "send-mail"], "looks like 'send_mail'"),
        (["list", "1ist"], "looks like 'list'"),
        (["\u0441opy"], "look like others"),
        (["\uff43opy"], "look like others"),
        (["***"], "no letter or digit"),
    ],
)
def test_names_of_tools_that_shadow_or_look_alike_are_refused(names, words):
    seen = SeenNames()
    for name in names[:-1]:
        assert seen.refusal(name) == ""
        seen.add(name)
    assert words in seen.refusal(names[-1])


def test_different_names_have_different_looks():
    names = ["read_file", "read_files", "write_file", "list", "search", "add", "get_sum", "echo"]
    assert len({skeleton(name) for name in names}) == len(names)


def test_a_timeout_of_a_thousand_and_more_is_in_milliseconds():
    assert ServerConfig("x", {"command": "x", "timeout": 30}).timeout == 30
    assert ServerConfig("x", {"command": "x", "timeout": 30_000}).timeout == 30


@pytest.mark.parametrize(
    ("said", "offered"),
    [(["a*"], ["ab"]), ({"deny": ["b"]}, ["ab", "c"]), ({"allow": ["*"], "deny": ["a*", "c"]}, ["b"]), ([], [])],
)
def test_an_entry_chooses_among_the_tools(said, offered):
    server = ServerConfig("x", {"command": "x", "tools": said})
    assert [name for name in ("ab", "b", "c") if server.offers(name)] == offered


def test_another_command_is_another_server():
    one, other = ServerConfig("x", RUN), ServerConfig("x", {"command": "server", "args": ["--evil"]})
    assert one.digest != other.digest
    assert one.digest == ServerConfig("x", {**RUN, "timeout": 3}).digest
