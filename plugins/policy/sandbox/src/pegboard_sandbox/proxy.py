"""The only way out of a sandbox whose network is `proxy`: an HTTP proxy in the host, with a list of allowed hosts.

It listens at a socket in a private folder, which is mounted into the sandbox. It does not look into encrypted traffic:
what is allowed is a host to connect to, not what is said there.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import tempfile
import threading
from contextlib import suppress
from urllib.parse import urlsplit

from pegboard_sandbox.hosts import Allowed, HostRefusedError

LONGEST_HEAD = 65_536
PATIENCE = 30.0
"""Seconds that a connection may take to be made, and a client to say what it wants."""


class Proxy:
    """One list of hosts, one socket."""

    def __init__(self, domains: tuple[str, ...], denied: tuple[str, ...]) -> None:
        self._allowed = Allowed(domains, denied)
        self._folder = tempfile.mkdtemp(prefix="pegboard-proxy-")
        self.path = os.path.join(self._folder, "socket")
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.bind(self.path)
        self._server.listen(64)
        threading.Thread(target=self._serve, name="pegboard-proxy", daemon=True).start()
        atexit.register(self.close)

    def close(self) -> None:
        """Stop listening."""
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        atexit.unregister(self.close)

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._attend, args=(client,), daemon=True).start()

    def _attend(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            client.settimeout(PATIENCE)
            try:
                head, rest = _head(client)
                host, port, first = _target(head)
                server = self._connect(host, port)
            except HostRefusedError as refusal:
                client.sendall(_answer("403 Forbidden", str(refusal)))
            except OSError as error:
                client.sendall(_answer("502 Bad Gateway", f"The host cannot be reached: {error.strerror or error}."))
            else:
                with server:
                    if not first:
                        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    server.sendall(first + rest)
                    exchange(client, server)

    def _connect(self, host: str, port: int) -> socket.socket:
        error: OSError = OSError(f"{host} has no address")
        for address in self._allowed.addresses(host, port):
            try:
                # The checked address, never the name: a second lookup could give another answer.
                return socket.create_connection((str(address), port), timeout=PATIENCE)
            except OSError as failed:
                error = failed
        raise error


def exchange(one: socket.socket, other: socket.socket) -> None:
    """Carry bytes both ways until both sides have said all."""
    one.settimeout(None)
    other.settimeout(None)
    back = threading.Thread(target=_carry, args=(other, one), daemon=True)
    back.start()
    _carry(one, other)
    back.join()


def _carry(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def _head(client: socket.socket) -> tuple[bytes, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        more = client.recv(65_536)
        if not more or len(data) > LONGEST_HEAD:
            raise HostRefusedError("This is not a valid proxy request.")
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def _target(head: bytes) -> tuple[str, int, bytes]:
    """Where a request goes, and what to send there first: nothing for a tunnel."""
    line, *fields = head.decode("latin-1").split("\r\n")
    # A bare line feed may end a line for the server but not for us, and smuggle in another request.
    if any("\n" in field or "\r" in field or "\0" in field for field in (line, *fields)):
        raise HostRefusedError("This is not a valid proxy request: a line has an unusual ending.")
    try:
        method, where, _ = line.split(" ")
        parts = urlsplit(f"//{where}" if method == "CONNECT" else where)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise HostRefusedError("This is not a valid proxy request.") from None
    if method == "CONNECT":
        return host, port or 443, b""
    if parts.scheme != "http":
        raise HostRefusedError(f"The proxy does not support {parts.scheme or 'this protocol'}. Use http, or CONNECT.")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    # One request for each connection, and to the host that was checked: a second Host field could mean another one.
    dropped = ("host:", "proxy-", "connection:", "keep-alive:")
    kept = [field for field in fields if not field.lower().startswith(dropped)]
    place = parts.netloc.rpartition("@")[2]
    lines = [f"{method} {path} HTTP/1.1", f"Host: {place}", "Connection: close", *kept]
    return host, port or 80, ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _answer(status: str, sentence: str) -> bytes:
    body = f"{sentence}\n".encode()
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body


_PROXIES: dict[tuple[tuple[str, ...], tuple[str, ...]], Proxy] = {}
_LOCK = threading.Lock()


def proxy_for(domains: tuple[str, ...], denied: tuple[str, ...] = ()) -> Proxy:
    """The proxy of this process for a list of hosts; it is started on first use."""
    with _LOCK:
        if (domains, denied) not in _PROXIES:
            _PROXIES[domains, denied] = Proxy(domains, denied)
        return _PROXIES[domains, denied]
