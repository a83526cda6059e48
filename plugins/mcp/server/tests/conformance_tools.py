"""A plugin with the tools that the official conformance suite calls by name. It is written like anybody's plugin."""

from __future__ import annotations

import base64
import json
from typing import Any

import anyio

from pegboard import Context, Document, ExternalTool, Image, Text, ToolError, hookimpl
from pegboard_mcp_server import Form, Roots, Sample

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
WAV = b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0@\x1f\0\0@\x1f\0\0\x01\0\x08\0data\0\0\0\0"
NOTHING = {"type": "object", "properties": {}}
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
COLOR = {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}
OK = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}

HARMLESS = {"read_only": True, "concurrency_safe": True, "open_world": False, "rule_subject": "name"}
TOOLS: list[ExternalTool] = []


def client(ctx: Context) -> Any:
    return ctx.service("mcp_client")


def named(name: str, description: str, schema: dict[str, Any] | None = None) -> Any:
    def add(callback: Any) -> Any:
        TOOLS.append(ExternalTool(name, description, schema or NOTHING, callback, **HARMLESS))
        return callback

    return add


@named("test_simple_text", "Return a text.")
def simple_text(args: dict[str, Any], ctx: Context) -> str:
    return "This is a simple text response for testing."


@named("test_image_content", "Return a picture.")
def image(args: dict[str, Any], ctx: Context) -> Image:
    return Image(PNG)


@named("test_audio_content", "Return a sound.")
def audio(args: dict[str, Any], ctx: Context) -> Document:
    return Document(WAV, "audio/wav")


@named("test_embedded_resource", "Return a text with a name.")
def embedded(args: dict[str, Any], ctx: Context) -> Document:
    return Document(b"This is an embedded resource content.", "text/plain", "embedded-resource")


@named("test_multiple_content_types", "Return a text, a picture and a document.")
def mixed(args: dict[str, Any], ctx: Context) -> list[Text | Image | Document]:
    data = Document(json.dumps({"test": "data", "value": 123}).encode(), "application/json", "mixed-content-resource")
    return [Text("Multiple content types test:"), Image(PNG), data]


@named("test_error_handling", "Fail.")
def error(args: dict[str, Any], ctx: Context) -> str:
    raise ToolError("This tool intentionally returns an error for testing")


@named("test_tool_with_logging", "Say three things on the way.")
@named("test_logging_tool", "Say three things on the way.")
async def logging_tool(args: dict[str, Any], ctx: Context) -> str:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        ctx.report(words)
        await anyio.sleep(0.05)
    return "It said three things."


@named("test_tool_with_progress", "Count to a hundred.")
async def progress_tool(args: dict[str, Any], ctx: Context) -> str:
    for done in (0, 50, 100):
        ctx.report(f"{done} of 100", progress=done, total=100)
        await anyio.sleep(0.05)
    return "Done."


@named(
    "test_sampling",
    "Ask the client's model.",
    {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
)
async def sampling(args: dict[str, Any], ctx: Context) -> str:
    return f"LLM response: {await client(ctx).sample(args['prompt'], 100)}"


@named("test_missing_capability", "Need a model of the client.")
async def missing_capability(args: dict[str, Any], ctx: Context) -> str:
    return str(await client(ctx).sample("Hello", 100))


async def put(ctx: Context, message: str, schema: dict[str, Any], key: str = "") -> str:
    answer = await client(ctx).elicit(message, schema, key)
    return f"Elicitation completed: action={answer['action']}, content={json.dumps(answer['content'])}"


@named(
    "test_elicitation",
    "Put a form to the person.",
    {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
)
async def elicitation(args: dict[str, Any], ctx: Context) -> str:
    fields = {name: {"type": "string", "description": name} for name in ("username", "email")}
    return await put(ctx, args["message"], {"type": "object", "properties": fields, "required": ["username", "email"]})


@named("test_elicitation_sep1034_defaults", "Put a form with defaults to the person.")
async def defaults(args: dict[str, Any], ctx: Context) -> str:
    fields = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return await put(ctx, "Who are you?", {"type": "object", "properties": fields})


@named("test_elicitation_sep1330_enums", "Put a form with choices to the person.")
async def enums(args: dict[str, Any], ctx: Context) -> str:
    plain = ["option1", "option2", "option3"]
    titled = [{"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second"), 1)]
    legacy = {"enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]}
    fields = {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", **legacy},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return await put(ctx, "Choose.", {"type": "object", "properties": fields})


@named("test_streaming_elicitation", "Ask for a name.")
@named("test_input_required_result_elicitation", "Ask for a name.")
@named("test_input_required_result_request_state", "Ask for a name.")
async def ask_for_a_name(args: dict[str, Any], ctx: Context) -> str:
    return await put(ctx, "What is your name?", NAME, "user_name")


@named("test_input_required_result_tampered_state", "Ask for a confirmation.")
async def ask_to_confirm(args: dict[str, Any], ctx: Context) -> str:
    return await put(ctx, "Confirm.", OK, "confirm")


@named("test_input_required_result_sampling", "Ask the client's model.")
async def ask_the_model(args: dict[str, Any], ctx: Context) -> str:
    return str(await client(ctx).sample("What is the capital of France?", 100, "capital_question"))


@named("test_input_required_result_list_roots", "Ask for the client's folders.")
async def ask_for_roots(args: dict[str, Any], ctx: Context) -> str:
    return str((await client(ctx).ask({"client_roots": Roots()}))["client_roots"])


@named("test_input_required_result_multiple_inputs", "Ask three things at once.")
async def ask_three(args: dict[str, Any], ctx: Context) -> str:
    wishes = {"user_name": Form("What is your name?", NAME), "greeting": Sample("Greet."), "client_roots": Roots()}
    return json.dumps(await client(ctx).ask(wishes))


@named("test_input_required_result_capabilities", "Ask what the client can answer.")
async def ask_what_it_can(args: dict[str, Any], ctx: Context) -> str:
    wishes = {"user_name": Form("What is your name?", NAME), "greeting": Sample("Greet.")}
    offered = {key: wish for key, wish in wishes.items() if client(ctx).offers(type(wish))}
    return json.dumps(await client(ctx).ask(offered))


@named("test_input_required_result_multi_round", "Ask twice.")
async def ask_twice(args: dict[str, Any], ctx: Context) -> str:
    first = await put(ctx, "Step 1: What is your name?", NAME, "step1")
    return first + await put(ctx, "Step 2: What is your favorite color?", COLOR, "step2")


@named(
    "test_custom_headers",
    "Has an argument that is also a header.",
    {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"],
    },
)
def custom_headers(args: dict[str, Any], ctx: Context) -> str:
    return f"The region is {args['region']}."


@named(
    "json_schema_2020_12_tool",
    "Has a schema with newer words.",
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
)
def newer_schema(args: dict[str, Any], ctx: Context) -> str:
    return "Fine."


class Growing:
    """A source whose tools change when one of them is called."""

    name = "growing"
    version = 1

    def tools(self) -> list[ExternalTool]:
        return [ExternalTool(f"grown_{n}", "It came later.", NOTHING, simple_text) for n in range(1, self.version)]


growing = Growing()


@named("test_trigger_tool_change", "Change the list of tools.")
def trigger(args: dict[str, Any], ctx: Context) -> str:
    growing.version += 1
    return "Changed."


@hookimpl
def register_tools() -> list[ExternalTool]:
    return TOOLS


@hookimpl
def tool_sources() -> list[Growing]:
    return [growing]
