"""A server made with the official SDK: every kind of content, questions, changes, resources, prompts and tasks.

`python sdk_server.py stdio`, or `python sdk_server.py http|sse PORT_FILE`; a token in TOKEN is asked for over HTTP.
"""

import base64
import os
import socket
import sys
from typing import Any, Literal

import anyio
import mcp_types as types
import uvicorn
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
NOTHING = {"type": "object", "properties": {}}
COLOUR = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "blue"], "default": "red"}},
    "required": ["colour"],
}
EVERY_KIND = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "description": "What to call it", "minLength": 2},
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "weight": {"type": "number"},
        "sure": {"type": "boolean", "default": False},
        "colour": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}]},
        "extras": {"type": "array", "items": {"type": "string", "enum": ["x", "y", "z"]}},
    },
    "required": ["name", "size", "colour"],
}
NAMES = ["content", "structured", "ask", "form", "sample", "grow", "headers", "roots"]
extra: list[str] = []
bus = InMemorySubscriptionBus()
seen_headers: dict[str, str] = {}


async def on_list(ctx: Any, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool(name=name, input_schema=NOTHING) for name in [*NAMES, *extra]])


async def on_call(ctx: Any, params: Any) -> Any:
    name = params.name
    if name == "content":
        link = types.ResourceLink(type="resource_link", uri="note://1", name="First", mime_type="text/plain")
        return types.CallToolResult(content=[text("words"), picture(), link, embedded()])
    if name == "structured":
        return types.CallToolResult(content=[], structured_content={"degrees": 21})
    if name == "ask":
        return await ask(ctx, params)
    if name == "sample":
        return await sample(ctx, params)
    if name == "form":
        return await ask(ctx, params, EVERY_KIND)
    if name == "grow":
        extra.append(f"grown_{len(extra)}")
        await ctx.session.send_tool_list_changed()
        await bus.publish(ToolsListChanged())
    if name == "headers":
        return types.CallToolResult(content=[text(str(sorted(seen_headers.items())))])
    if name == "roots":
        if not ctx.session.can_send_request and not params.input_responses:
            requests = {"r": types.ListRootsRequest()}
            return types.InputRequiredResult(input_requests=requests, request_state="1")
        found = params.input_responses["r"] if params.input_responses else await ctx.session.list_roots()
        return types.CallToolResult(content=[text(" ".join(str(root.uri) for root in found.roots))])
    return types.CallToolResult(content=[text("done")])


async def sample(ctx: Any, params: Any) -> Any:
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="Say hi"))
    try:
        if ctx.session.can_send_request:
            said = await ctx.session.create_message(messages=[message], max_tokens=10, system_prompt="Be brief.")
        elif params.input_responses:
            said = params.input_responses["s"]
        else:
            wanted = types.CreateMessageRequestParams(messages=[message], max_tokens=10, system_prompt="Be brief.")
            requests = {"s": types.CreateMessageRequest(params=wanted)}
            return types.InputRequiredResult(input_requests=requests, request_state="1")
    except Exception as error:
        return types.CallToolResult(content=[text(f"refused: {error}")])
    return types.CallToolResult(content=[text(f"{said.model} said {said.content.text}")])


async def ask(ctx: Any, params: Any, form: dict[str, Any] = COLOUR) -> Any:
    if ctx.session.can_send_request:
        said = await ctx.session.elicit_form("Which colour?", form, related_request_id=ctx.request_id)
    elif params.input_responses:
        said = params.input_responses["q"]
    else:
        question = types.ElicitRequestFormParams(message="Which colour?", requested_schema=form)
        requests = {"q": types.ElicitRequest(params=question)}
        return types.InputRequiredResult(input_requests=requests, request_state="1")
    return types.CallToolResult(content=[text(f"{said.action} {said.content}")])


def text(words: str) -> types.TextContent:
    return types.TextContent(type="text", text=words)


def picture() -> types.ImageContent:
    return types.ImageContent(type="image", data=base64.b64encode(PIXEL).decode(), mime_type="image/png")


def embedded() -> types.EmbeddedResource:
    inside = types.TextResourceContents(uri="note://2", text="inside", mime_type="text/plain")
    return types.EmbeddedResource(type="resource", resource=inside)


async def on_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[types.Resource(uri="note://1", name="First", description="A note")])


async def on_templates(ctx: Any, params: Any) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(uri_template="note://{id}", name="Any note")
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def on_read(ctx: Any, params: Any) -> types.ReadResourceResult:
    words = f"the text of {params.uri}"
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=params.uri, text=words)])


async def on_prompts(ctx: Any, params: Any) -> types.ListPromptsResult:
    argument = types.PromptArgument(name="topic", required=True)
    return types.ListPromptsResult(prompts=[types.Prompt(name="poem", description="A poem", arguments=[argument])])


async def on_prompt(ctx: Any, params: Any) -> types.GetPromptResult:
    message = types.PromptMessage(role="user", content=text(f"Write a poem about {params.arguments['topic']}."))
    return types.GetPromptResult(messages=[message])


class Telling(Server):
    """Says that its list may change, to old clients over HTTP too."""

    def create_initialization_options(self, *args: Any, **kwargs: Any) -> Any:
        return super().create_initialization_options(NotificationOptions(tools_changed=True))


server = Telling(
    "sdk",
    version="1",
    instructions="Be kind.",
    on_list_tools=on_list,
    on_call_tool=on_call,
    on_list_resources=on_resources,
    on_list_resource_templates=on_templates,
    on_read_resource=on_read,
    on_list_prompts=on_prompts,
    on_get_prompt=on_prompt,
    on_subscriptions_listen=ListenHandler(bus),
)


class Watched:
    """Remembers the headers of requests, and wants a token if it was given one."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            seen_headers.update({name: value for name, value in headers.items() if name.startswith("x-")})
            token = os.environ.get("TOKEN")
            if token and headers.get("authorization") != f"Bearer {token}":
                await send({"type": "http.response.start", "status": 401, "headers": []})
                await send({"type": "http.response.body", "body": b""})
                return
        await self.app(scope, receive, send)


async def serve(kind: Literal["http", "sse"], port_file: str) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    app = server.streamable_http_app() if kind == "http" else old_app()
    running = uvicorn.Server(uvicorn.Config(Watched(app), log_level="error", timeout_graceful_shutdown=1))
    with open(f"{port_file}.part", "w") as file:
        file.write(str(listener.getsockname()[1]))
    os.rename(f"{port_file}.part", port_file)
    await running.serve(sockets=[listener])


def old_app() -> Any:
    from mcp.server.sse import SseServerTransport
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Mount, Route

    sse = SseServerTransport("/messages/")

    async def connect(request: Any) -> Response:
        async with sse.connect_sse(request.scope, request.receive, request._send) as streams:
            await server.run(*streams, server.create_initialization_options())
        return Response()

    routes = [Route("/sse", connect), Mount("/messages/", app=sse.handle_post_message)]
    return Starlette(routes=routes)


async def over_stdio() -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(over_stdio) if sys.argv[1] == "stdio" else anyio.run(serve, sys.argv[1], sys.argv[2])
