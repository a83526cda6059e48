"""What the official conformance suite drives: a board that uses the server whose url is the last argument."""

import json
import os
import sys
import tempfile

import anyio
import httpx2

from pegboard import Allow, Board, hookimpl

CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
METADATA = "https://conformance-test.local/client-metadata.json"
ARGUMENTS = {"integer": 5, "number": 5, "string": "text", "boolean": True}


class Agreeable:
    @hookimpl
    def ask_user(self):
        return Allow("yes")


async def visit(address: str) -> None:
    """What a browser does whose person agrees to everything."""
    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        await browser.get(address)


def entry(url: str, port: int) -> dict:
    oauth = {"callbackPort": port, "clientMetadataUrl": METADATA}
    if "client_id" in CONTEXT:
        oauth |= {"clientId": CONTEXT["client_id"], "clientSecret": CONTEXT.get("client_secret", "")}
    return {"type": "http", "url": url, "oauth": oauth}


def arguments(schema: dict, seen: dict) -> dict:
    fields = schema.get("properties", {})
    if "schema" in fields:
        return {"schema": seen}  # One scenario wants to have the schema back that a model sees of another tool.
    return {name: ARGUMENTS.get(fields.get(name, {}).get("type"), "text") for name in schema.get("required", fields)}


def calls_of(definitions: list) -> list[dict]:
    seen = definitions[0].schema if definitions else {}
    return [{"name": one.tool, "arguments": arguments(one.data["inputSchema"], seen)} for one in definitions]


async def main(url: str) -> int:
    with tempfile.TemporaryDirectory() as home:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        await listener.aclose()
        settings = {"mcpServers": {"it": entry(url, port)}, "permissions": {"allow": ["mcp__it"]}}
        env = {"HOME": home, "PATH": os.environ["PATH"]}
        board = Board.load(cwd=home, settings=settings, env=env, plugins=[Agreeable()])
        hub = board.services.others["mcp"]
        hub.open_address = visit
        hub.start(board.equip(board.context()))
        connection = hub.connections["it"]
        await hub.reached([connection])
        board.refresh()
        failed = connection.state != "ready"
        if failed:
            print(connection.problem, file=sys.stderr)
        for one in CONTEXT.get("toolCalls") or calls_of(connection.definitions):
            result = await board.call(f"mcp__it__{one['name']}", one.get("arguments", {}))
            print(one["name"], result.text[:300], file=sys.stderr)
        await anyio.to_thread.run_sync(hub.close)
        return int(failed)


if __name__ == "__main__":
    sys.exit(anyio.run(main, sys.argv[-1]))
