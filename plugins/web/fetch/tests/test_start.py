"""What is loaded when: nobody waits for a library that the call does not need."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("httpcore2", "lxml", "trafilatura", "charset_normalizer", "brotli", "PIL", "pypdfium2", "idna")

FETCH_TEXT = """
import sys, threading, socketserver
import anyio
from pegboard import Context
from pegboard_webfetch import WebFetch, WebFetchInput
from pathlib import Path

class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        while self.rfile.readline() not in (b"\\r\\n", b""):
            pass
        self.wfile.write(b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: 2\\r\\n\\r\\n{}")

from pegboard_webfetch.connect import dial
from pegboard_webfetch.fetch import Network
server = socketserver.TCPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()

async def resolve(host, port):
    return ["93.184.215.14"]

async def lead(address, port, seconds):
    return await dial("127.0.0.1", server.server_address[1] if port == 80 else 1, seconds)

tool = WebFetch(Network(resolve, lead))
value = anyio.run(tool.call, WebFetchInput(url="http://example.com/"), Context(Path(".")))
assert value.result == "{}", value
server.shutdown()
print(*sys.modules)
"""


def loaded(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


def test_importing_the_plugin_loads_nothing_heavy():
    assert not loaded("import sys, pegboard_webfetch; print(*sys.modules)").intersection(HEAVY)


def test_a_call_without_html_does_not_load_the_conversion():
    found = loaded(FETCH_TEXT)
    assert "httpcore2" in found
    assert not found.intersection({"lxml", "trafilatura", "charset_normalizer", "brotli", "PIL", "pypdfium2"})
