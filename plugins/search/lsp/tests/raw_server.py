"""A small language server that does what its argument says: it dies, hangs, is empty while it loads, or plays a part.

Its only argument is a JSON object. Every message that it gets is a line of the file `log`.
"""

import json
import os
import sys
import threading
import time

HOW = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
BORN = time.monotonic()
LOCK = threading.Lock()
FULL = {
    "definitionProvider": True,
    "referencesProvider": True,
    "hoverProvider": True,
    "documentSymbolProvider": True,
    "workspaceSymbolProvider": True,
    **HOW.get("capabilities", {}),
}
counts: dict[str, int] = {}
texts: dict[str, tuple[int, str]] = {}


def say(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    with LOCK:
        sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        sys.stdout.buffer.flush()


def hear():
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return json.loads(sys.stdin.buffer.read(length)) if length else None


def note(message):
    if path := HOW.get("log"):
        with open(path, "a") as log:
            log.write(json.dumps({"pid": os.getpid(), **message}) + "\n")


def at(uri, line=0, character=0):
    place = {"line": line, "character": character}
    return {"uri": uri, "range": {"start": place, "end": place}}


def load():
    """Tell of the loading of a project, which takes as long as `loading` says."""
    say({"id": "p", "method": "window/workDoneProgress/create", "params": {"token": "loading"}})
    say({"method": "$/progress", "params": {"token": "loading", "value": {"kind": "begin", "title": "Loading"}}})
    time.sleep(HOW["loading"])
    say({"method": "$/progress", "params": {"token": "loading", "value": {"kind": "end"}}})


def is_loading():
    return time.monotonic() - BORN < HOW.get("loading", 0) or counts.get("asked", 0) <= HOW.get("empty", 0)


def misbehave(method):
    """Do what is wanted at a method; True where it must not be answered."""
    marker = HOW.get("once")
    if method == HOW.get("dies_at") and not (marker and os.path.exists(marker)):
        if marker:
            open(marker, "w").close()
        sys.stderr.write("out of cheese\n")
        sys.stderr.flush()
        os._exit(3)
    if method == HOW.get("garbage_at"):
        sys.stdout.write("Hello, I am no server.\r\n\r\n")
        sys.stdout.flush()
    return method == HOW.get("silent_at")


def answer(method, params):
    if method == "initialize":
        return {"capabilities": FULL}
    if method == "shutdown":
        return None
    counts["asked"] = counts.get("asked", 0) + 1
    if is_loading():
        return []
    return HOW.get("answers", {}).get(method, [at(params["textDocument"]["uri"])] if "textDocument" in params else [])


def push(uri):
    """Diagnostics: one for each line with the word `bad`."""
    version, text = texts[uri]
    found = [
        {"range": at(uri, number)["range"], "severity": 1, "message": f"bad: {line}"}
        for number, line in enumerate(text.split("\n"))
        if "bad" in line
    ]
    params = {"uri": uri, "diagnostics": found}
    say(
        {
            "method": "textDocument/publishDiagnostics",
            "params": params if HOW.get("plain") else {**params, "version": version},
        }
    )


def keep(method, params):
    document = params.get("textDocument", {})
    if method == "textDocument/didOpen":
        texts[document["uri"]] = (document["version"], document["text"])
    elif method == "textDocument/didChange":
        texts[document["uri"]] = (document["version"], params["contentChanges"][-1]["text"])
    if method in ("textDocument/didOpen", "textDocument/didChange"):
        push(document["uri"])


def main():
    while message := hear():
        note(message)
        method, params = message.get("method"), message.get("params") or {}
        if method == "exit":
            return
        if method is None or misbehave(method):
            continue
        if "id" not in message:
            keep(method, params)
            if method == "initialized" and "says" in HOW:
                say(HOW["says"])
            if method == "initialized" and HOW.get("loading") and not HOW.get("quiet"):
                threading.Thread(target=load, daemon=True).start()
        elif method in HOW.get("refuses", {}) and counts.setdefault(method, 0) < HOW["refuses"][method][1]:
            counts[method] += 1
            code, _, *words = HOW["refuses"][method]
            say({"id": message["id"], "error": {"code": code, "message": words[0] if words else "not now"}})
        else:
            say({"id": message["id"], "result": answer(method, params)})


main()
