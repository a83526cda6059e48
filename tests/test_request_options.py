"""Every option of a request in the bytes that a server receives, from each source; bad values reach no server."""

import json
import os
import tomllib
from pathlib import Path

import anyio
import pytest

import pegboard_session
from pegboard import Board
from pegboard_anthropic import AnthropicProvider
from pegboard_cli.main import main
from pegboard_session import Session
from pegboard_session.model_options import KEYS
from pegboard_session.model_rows import OPTION_FIELDS

from .sse import SseServer, message, text, thinking

MODEL = "claude-test"
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
EDITS = {"edits": [{"type": "clear_tool_uses_20250919"}, {"type": "compact_20260112"}]}

SETTINGS = {
    "thinking": "budget",
    "thinkingBudget": 2048,
    "thinkingDisplay": "summarized",
    "effort": "high",
    "maxTokens": 9000,
    "betas": ["alpha-2026-01-01", "beta-2026-01-01"],
    "contextManagement": EDITS,
    "speed": "fast",
    "serviceTier": "standard_only",
    "stopSequences": ["STOP", "END"],
    "requestHeaders": {"X-Team": "blue"},
    "requestMetadata": {"user_id": "u-1"},
}
BODY = {
    "max_tokens": 9000,
    "thinking": {"type": "enabled", "budget_tokens": 2048, "display": "summarized"},
    "output_config": {"effort": "high"},
    "context_management": EDITS,
    "speed": "fast",
    "service_tier": "standard_only",
    "stop_sequences": ["STOP", "END"],
    "metadata": {"user_id": "u-1"},
}
BETAS = [
    *("alpha-2026-01-01", "beta-2026-01-01"),
    *("context-management-2025-06-27", "compact-2026-01-12", "fast-mode-2026-02-01"),
]
WORDS = [
    *(
        "--thinking",
        "2048",
        "--thinking-display",
        "summarized",
        "--effort",
        "high",
        "--max-tokens",
        "9000",
        "--beta",
        "alpha-2026-01-01",
    ),
    *("--beta", "beta-2026-01-01", "--context-management", json.dumps(EDITS), "--speed", "fast"),
    *("--service-tier", "standard_only", "--stop-sequence", "STOP", "--stop-sequence", "END"),
    *("--header", "X-Team=blue", "--metadata", "user_id=u-1"),
]


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder and a home of one's own, and no variable of the person who runs the tests."""
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "PEGBOARD_", "XDG_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    (tmp_path / "home/.pegboard").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


@pytest.fixture
def ask(work, monkeypatch, capfd):
    """`pegboard run` against a server: the exit code, what was printed, and the requests."""

    def run(*words, settings=None, answers=("Done.",), model=MODEL):
        (work / "home/.pegboard/settings.json").write_text(json.dumps(settings or {}))
        with SseServer([message(text(words)) for words in answers]) as server:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
            try:
                code = main(["run", "Go", "--model", model, "--only", "files,support,host,providers", *words])
            except SystemExit as usage:  # argparse leaves so
                code = usage.code
        out, err = capfd.readouterr()
        return code, out, err, server.requests

    return run


def assert_asked_for_everything(request):
    body = request.body
    assert {key: body[key] for key in BODY if key in body} == {**BODY, "thinking": {**body["thinking"]}}
    assert body["thinking"]["budget_tokens"] == 2048
    assert request.headers["anthropic-beta"].split(",") == BETAS
    assert request.headers["x-team"] == "blue"


def test_from_settings(ask):
    code, _, err, [request] = ask(settings=SETTINGS)
    assert code == 0, err
    assert request.body["thinking"] == BODY["thinking"]
    assert_asked_for_everything(request)


def test_from_the_command_line(ask):
    code, _, err, [request] = ask(*WORDS, settings={"effort": "low", "maxTokens": 10, "speed": "standard"})
    assert code == 0, err
    assert request.body["thinking"] == BODY["thinking"]
    assert_asked_for_everything(request)


def test_from_the_profile_of_a_model(ask):
    code, _, err, [request] = ask(settings={"models": {"claude-te*": {"options": SETTINGS}}})
    assert code == 0, err
    assert request.body["thinking"] == BODY["thinking"]
    assert_asked_for_everything(request)


def test_settings_count_before_the_profile(ask):
    settings = {"effort": "low", "models": {MODEL: {"options": {"effort": "max", "maxTokens": 5000}}}}
    _, _, _, [request] = ask(settings=settings)
    assert (request.body["output_config"], request.body["max_tokens"]) == ({"effort": "low"}, 5000)


def test_nothing_is_sent_that_nobody_asked_for(ask):
    _, _, _, [request] = ask()
    assert set(request.body) == {"model", "max_tokens", "system", "tools", "messages", "stream"}
    assert "anthropic-beta" not in request.headers


@pytest.mark.parametrize(
    ("words", "sent"), [("adaptive", {"type": "adaptive"}), ("off", {"type": "disabled"})], ids=["adaptive", "off"]
)
def test_the_ways_to_think(ask, words, sent):
    _, _, _, [request] = ask("--thinking", words)
    assert request.body["thinking"] == sent
    _, _, _, [request] = ask(settings={"thinking": words})
    assert request.body["thinking"] == sent


def test_the_sdk_is_given_the_same(work, monkeypatch):
    with SseServer([message(text("Done."))]) as server:

        async def talk():
            board = Board.load(settings={"only": ["files", "support"], **SETTINGS})
            provider = AnthropicProvider(base_url=server.url, api_key="k", transport="sdk")
            async with Session(board, provider, model=MODEL) as session:
                await session.run("Go")
                await provider.aclose()

        anyio.run(talk)
        [request] = server.requests
    assert_asked_for_everything(request)


BAD = {
    "an effort that does not exist": ((), {"effort": "huge"}, "effort must be one of low, medium, high, xhigh, max"),
    "the same as an option": (("--effort", "huge"), {}, "effort must be one of low, medium, high, xhigh, max"),
    "the same in a profile": (
        (),
        {"models": {MODEL: {"options": {"effort": "huge"}}}},
        "options.effort must be one of",
    ),
    "an unknown option of a profile": ((), {"models": {MODEL: {"options": {"efort": 1}}}}, "Did you mean 'effort'?"),
    "thinking as a word": (("--thinking", "much"), {}, "--thinking must be adaptive, off, or a number of tokens"),
    "thinking as a list": ((), {"thinking": []}, "thinking must be one of adaptive, budget, off, got []"),
    "a small budget": (("--thinking", "100"), {}, "thinkingBudget must be 1024 or more, got 100."),
    "a budget above the limit": (("--thinking", "9000", "--max-tokens", "9000"), {}, "must be less than maxTokens"),
    "a budget above the usual limit": ((), {"thinkingBudget": 40000}, "must be less than maxTokens, which is 32000"),
    "a budget without a number": ((), {"thinking": "budget"}, "thinkingBudget is not set"),
    "no tokens": (("--max-tokens", "0"), {}, "maxTokens must be a whole number of 1 or more, got 0"),
    "a speed": (("--speed", "ludicrous"), {}, "speed must be one of standard, fast"),
    "a tier": (("--service-tier", "gold"), {}, "serviceTier must be one of auto, standard_only"),
    "a beta with a comma": (("--beta", "a,b"), {}, "betas must be names without spaces or commas"),
    "a blank stop": (("--stop-sequence", " "), {}, "stopSequences must be up to 20 texts, none of them blank"),
    "a header without a value": (("--header", "X"), {}, "--header must be NAME=VALUE, got 'X'"),
    "a header with a line break": (
        ("--header", "X=a\nY: b"),
        {},
        "must have one line of ASCII text for X",
    ),
    "a header that says who asks": (("--header", "Authorization=x"), {}, "may not contain Authorization"),
    "a name that is none": (("--header", "X Y=1"), {}, 'a name that is not a header name: "X Y"'),
    "metadata that is a number": (
        (),
        {"requestMetadata": {"user_id": 1}},
        "requestMetadata must be an object",
    ),
    "context management that is no JSON": (("--context-management", "{"), {}, "must be JSON or @file"),
    "context management that is a list": (("--context-management", "[]"), {}, "must be a JSON object"),
    "a schema that is not there": (("--json-schema", "no.json"), {}, "cannot be read: No such file or directory"),
    "a system prompt that is not there": (
        ("--system-prompt", "@no.md"),
        {},
        "cannot be read: No such file or directory",
    ),
}


@pytest.mark.parametrize(("words", "settings", "said"), BAD.values(), ids=BAD)
def test_a_bad_value_is_refused_before_anything_is_sent(ask, words, settings, said):
    code, _, err, requests = ask(*words, settings=settings)
    assert (code, requests) == (2, [])
    assert said in " ".join(err.split())


UNSUPPORTED = {
    "adaptive thinking": ("claude-haiku-4-5", ("--thinking", "adaptive"), "thinking as much as it finds useful"),
    "a budget": ("claude-opus-4-7", ("--thinking", "4000"), "thinking with a token budget"),
    "no thinking": ("claude-sonnet-5-5", ("--thinking", "off"), "answering without thinking"),
    "effort": ("claude-haiku-4-5", ("--effort", "low"), "an effort level"),
    "the highest effort": ("claude-opus-4-5", ("--effort", "max"), "the effort max"),
}


@pytest.mark.parametrize(("model", "words", "feature"), UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_what_a_model_does_not_support_is_said_before_the_request(ask, model, words, feature):
    code, _, err, requests = ask(*words, model=model)
    assert (code, requests) == (2, [])
    assert f"The model {model} does not support {feature}. Leave the option out, or choose another model." in err


def test_an_answer_longer_than_the_model_can_is_refused(ask):
    code, _, err, requests = ask("--max-tokens", "100000", model="claude-haiku-4-5")
    assert (code, requests) == (2, [])
    assert "The model claude-haiku-4-5 answers with at most 64000 tokens, not 100000." in err


def test_from_a_file_it_is_left_out_with_a_notice(ask):
    code, _, err, [request] = ask(settings={"effort": "low", "thinking": "adaptive"}, model="claude-haiku-4-5")
    assert code == 0
    assert not {"output_config", "thinking"} & set(request.body)
    assert "The model claude-haiku-4-5 does not support an effort level, so it is not asked for." in err


def test_a_file_that_the_command_line_names_is_a_file_too(ask):
    Path("more.json").write_text('{"effort": "low"}')
    code, _, err, [request] = ask("--settings", "more.json", model="claude-haiku-4-5")
    assert (code, "output_config" in request.body) == (0, False)
    assert "more.json: The model claude-haiku-4-5 does not support an effort level, so it is not asked for." in err


def test_a_structured_answer_is_checked_and_asked_for_once_more(ask, work):
    Path("schema.json").write_text(json.dumps(SCHEMA))
    code, out, _, requests = ask(
        *("--json-schema", "schema.json", "--output-format", "json"), answers=('{"n": "x"}', '{"n": 7}')
    )
    assert code == 0
    assert json.loads(out)["value"] == {"n": 7}
    assert requests[0].body["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}
    again = requests[1].body["messages"][-1]["content"][0]["text"]
    assert (
        "Your answer does not follow the JSON schema. These values do not fit:\n- n: 'x' is not of type 'integer'"
        in again
    )
    code, out, _, requests = ask(
        "--output-format", "json", settings={"jsonSchema": "schema.json"}, answers=("no", "still no")
    )
    assert (code, len(requests)) == (1, 2)
    assert json.loads(out)["stopped_by"] == "invalid_output"


def test_a_model_without_structured_output_is_told_in_words(ask, work):
    Path("schema.json").write_text(json.dumps(SCHEMA))
    settings = {"models": {MODEL: {"supports": {"structured_output": False}}}}
    code, _, err, [request] = ask(
        "--json-schema", "schema.json", settings=settings, answers=('```json\n{"n": 1}\n```',)
    )
    assert code == 0, err
    assert "output_config" not in request.body
    assert json.dumps(SCHEMA) in json.dumps(request.body["messages"]).replace('\\"', '"')


def test_a_schema_that_is_none_is_refused(ask, work):
    Path("schema.json").write_text('{"type": "objekt"}')
    code, _, err, requests = ask("--json-schema", "schema.json")
    assert (code, requests) == (2, [])
    assert "This is not a JSON schema: type: 'objekt' is not valid" in err


def test_thinking_is_carried_through(work):
    block = thinking("Let me see.", "sig-1")
    with SseServer([message(block, text("One.")), message(text("Two."))]) as server:

        async def talk():
            board = Board.load(settings={"only": ["files", "support"], "thinking": "adaptive"})
            provider = AnthropicProvider(base_url=server.url, api_key="k")
            async with Session(board, provider, model=MODEL) as session:
                await session.run("Go")
                await session.run("On")
                await provider.aclose()

        anyio.run(talk)
        sent = server.requests[1].body["messages"][1]["content"]
    assert sent[0] == block


def test_a_profile_takes_every_option_that_settings_have():
    declared = tomllib.loads((Path(pegboard_session.__file__).parent / "pegboard.toml").read_text())["settings"]
    assert set(OPTION_FIELDS) == {*KEYS, "maxTokens"}
    for name, check in OPTION_FIELDS.items():
        for choice in declared[name].get("choices", ()):
            assert check(name, choice) == ""
        assert check(name, None) != ""
