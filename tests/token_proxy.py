"""A way to an HTTP server that adds the token to each request, for clients that cannot send one."""

from __future__ import annotations

import socket
import threading
from typing import Self


class TokenProxy:
    """Forwards every connection as it is but for one header; each carries one request."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self._target, self._token = 0, ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.close()

    def lead_to(self, port: int, token: str) -> None:
        self._target, self._token = port, token
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            chunk = client.recv(65_536)
            if not chunk:
                client.close()
                return
            head += chunk
        first, _, rest = head.partition(b"\r\n")
        lines, _, body = rest.partition(b"\r\n\r\n")
        kept = [line for line in lines.split(b"\r\n") if not line.lower().startswith(b"connection:")]
        added = [b"Authorization: Bearer " + self._token.encode(), b"Connection: close"]
        try:
            server = socket.create_connection(("127.0.0.1", self._target))
            server.sendall(b"\r\n".join([first, *kept, *added]) + b"\r\n\r\n" + body)
        except OSError:
            client.close()
            return
        threading.Thread(target=_pump, args=(client, server), daemon=True).start()
        _pump(server, client)


def _pump(source: socket.socket, target: socket.socket) -> None:
    """Copy until one side is gone, and let the other side know."""
    try:
        while chunk := source.recv(65_536):
            target.sendall(chunk)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        end.close()
