"""A server that speaks the older protocol over its standard streams without the SDK: it starts in no time, and can
misbehave in ways that the SDK does not allow. Its only argument is a JSON object that says how."""

import json
import os
import subprocess
import sys
import time

HOW = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
ECHO = {
    "name": "echo",
    "description": "Say it again.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    "annotations": {"readOnlyHint": True, "openWorldHint": False},
}


def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tools():
    if path := HOW.get("tools_file"):
        with open(path) as file:
            return json.load(file)
    if count := HOW.get("count"):
        return [{**ECHO, "name": f"tool_{number}"} for number in range(count)]
    return HOW.get("tools", [ECHO])


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


def call(request, name, args):
    if name == "crash":
        os._exit(3)
    if name == "sleep":
        time.sleep(args.get("seconds", 60))
    if name == "huge":
        sys.stdout.write("x" * 100_000_000 + "\n")
    if name == "garbage":
        sys.stdout.write("this is no JSON\n{\n")
        sys.stdout.flush()
    if name == "grow":
        path = HOW["tools_file"]
        more = [*tools(), {**ECHO, "name": args["name"]}]
        with open(path, "w") as file:
            json.dump(more, file)
        say({"method": "notifications/tools/list_changed"})
    if name == "environment":
        return text(json.dumps(dict(os.environ)))
    if name == "spawn":
        child = subprocess.Popen(["sleep", "300"], start_new_session=True, env={})
        return text(json.dumps([os.getpid(), child.pid]))
    if name == "progress":
        token = request["params"]["_meta"]["progressToken"]
        for step in (1, 2):
            say({"method": "notifications/progress", "params": {"progressToken": token, "progress": step, "total": 2}})
    if name == "ask":
        form = {"type": "object", "properties": {"word": {"type": "string"}}}
        for number in range(args["times"]):
            asked = {"message": f"Question {number}?", "requestedSchema": form}
            say({"id": f"q{number}", "method": "elicitation/create", "params": asked})
        answers = [json.loads(sys.stdin.readline()) for _ in range(args["times"] if args["waits"] else 0)]
        return text(" ".join(one["result"]["action"] for one in answers))
    if name == "long":
        return text("a long line\n" * 50_000)
    if name == "fail":
        return text("It did not work.", isError=True)
    return text(args.get("text", "done"))


def meet(folder):
    """Wait for all the others."""
    open(f"{folder}/{HOW['number']}", "w").close()
    while len(os.listdir(folder)) < HOW["of"]:
        time.sleep(0.01)


def main():
    if seconds := HOW.get("wait"):
        time.sleep(seconds)
    if folder := HOW.get("starts"):
        open(f"{folder}/{len(os.listdir(folder))}", "w").close()
    if HOW.get("end"):
        os._exit(HOW["end"])
    if folder := HOW.get("meet"):
        meet(folder)
    if HOW.get("hang"):
        time.sleep(600)
    if HOW.get("stderr"):
        sys.stderr.write("noise " * 2_000_000)
        sys.stderr.flush()
    for line in sys.stdin:
        request = json.loads(line)
        method, number = request.get("method"), request.get("id")
        if number is None or method is None:
            continue
        if method == "initialize":
            capabilities = HOW.get("capabilities", {"tools": {"listChanged": True}})
            about = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "raw", "version": "1"}}
            say(
                {
                    "id": number,
                    "result": {**about, "capabilities": capabilities, "instructions": HOW.get("instructions", "")},
                }
            )
        elif method == "tools/list":
            if HOW.get("broken_list_after") and os.path.exists(HOW["broken_list_after"]):
                say({"id": number, "error": {"code": -32603, "message": "The list is broken."}})
            else:
                say({"id": number, "result": {"tools": tools()}})
        elif method == "tools/call":
            params = request["params"]
            say({"id": number, "result": call(request, params["name"], params.get("arguments", {}))})
        elif method == "ping":
            say({"id": number, "result": {}})
        else:
            say({"id": number, "error": {"code": -32601, "message": f"There is no method {method}."}})
    if HOW.get("ignore_end"):
        time.sleep(600)
    if folder := HOW.get("part"):
        meet(folder)
        open(f"{folder}/../met-{HOW['number']}", "w").close()


main()
