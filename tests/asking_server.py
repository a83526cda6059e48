"""An MCP server without the SDK, which starts in no time. Its one tool asks the person for a colour."""

import json
import sys

SCHEMA = {"type": "object", "properties": {"colour": {"type": "string", "default": "blue"}}, "required": ["colour"]}
TOOL = {"name": "ask", "description": "Ask for a colour.", "inputSchema": {"type": "object", "properties": {}}}


def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def hear():
    return json.loads(sys.stdin.readline() or "null")


def ask():
    form = {"message": "Which colour?", "requestedSchema": SCHEMA}
    say({"id": "form", "method": "elicitation/create", "params": form})
    while (said := hear()) is not None:
        if said.get("id") == "form":
            result = said.get("result", {})
            return f"{result.get('action')} {result.get('content')}"
    return ""


while (request := hear()) is not None:
    method, answer = request.get("method"), {}
    if method == "initialize":
        about = {"name": "asker", "version": "1"}
        answer = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
    elif method == "tools/list":
        answer = {"tools": [TOOL]}
    elif method == "tools/call":
        answer = {"content": [{"type": "text", "text": ask()}]}
    elif method != "ping" and "id" in request:
        say({"id": request["id"], "error": {"code": -32601, "message": "There is no such method."}})
        continue
    if "id" in request:
        say({"id": request["id"], "result": answer})
