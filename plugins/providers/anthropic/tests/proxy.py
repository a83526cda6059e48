"""A proxy on loopback: it forwards plain requests, tunnels encrypted ones, and notes what it was asked for."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import closing
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit


class Proxy:
    """`with Proxy() as proxy: … proxy.url … proxy.asked`."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.refuses = refuses
        self.asked: list[tuple[str, str, str | None]] = []
        """The method, the target, and the credentials of each request."""
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.005,), daemon=True)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    owner: Proxy

    def _note(self) -> bool:
        self.owner.asked.append((self.command, self.path, self.headers.get("proxy-authorization")))
        if self.owner.refuses:
            self.send_response(407)
            self.send_header("content-length", "0")
            self.end_headers()
        return not self.owner.refuses

    def do_CONNECT(self) -> None:
        if not self._note():
            return
        host, _, port = self.path.partition(":")
        with socket.create_connection((host, int(port))) as there:
            self.send_response(200)
            self.end_headers()
            self._copy(there)

    def _copy(self, there: socket.socket) -> None:
        ends = {self.connection: there, there: self.connection}
        while True:
            for end in select.select(list(ends), [], [])[0]:
                data = end.recv(65536)
                if not data:
                    return
                ends[end].sendall(data)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if not self._note():
            return
        target = urlsplit(self.path)
        connection = HTTPConnection(target.netloc)
        headers = {k: v for k, v in self.headers.items() if not k.lower().startswith("proxy-")}
        connection.request("POST", target.path + (f"?{target.query}" if target.query else ""), body, headers)
        with closing(connection):
            answer = connection.getresponse()
            data = answer.read()
        self.send_response(answer.status)
        self.send_header("content-type", answer.headers["content-type"])
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass
