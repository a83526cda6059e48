"""Logins at servers: tokens in a file that only the user can read, and the loopback address for the browser.

Imports the SDK.
"""

from __future__ import annotations

import html
import json
import os
import time
import urllib.parse
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)

from pegboard.settings import private_folder, state_dir
from pegboard_mcp.config import ServerConfig, expand
from pegboard_trust import replace_file

PORT = 33418
"""Where the browser comes back to, unless the entry says otherwise."""
LOGIN_SECONDS = 300.0


class LoginNeededError(Exception):
    """The server wants a login, and no one is at a browser now."""


class LoginRefusedError(Exception):
    """The browser came back without a code. The message is what the login server says."""


METADATA: dict[str, type[OAuthMetadata] | type[ProtectedResourceMetadata]] = {
    "oauth_metadata": OAuthMetadata,
    "protected_resource_metadata": ProtectedResourceMetadata,
}
"""What a refresh has to know about the login server, by the name that the SDK's context has for it."""


class TokenFile:
    """The login at one server, in a file of its own."""

    context: Any = None
    """The SDK's notes about the login; those that a later process needs for a refresh are kept with the tokens."""

    def __init__(self, server: ServerConfig, env: Mapping[str, str]) -> None:
        folder = state_dir(env)
        self.path = Path(folder, "mcp", f"{server.key}.login.json") if folder else None
        self._digest = server.digest
        self._registered = _registered(server)
        self._memory: dict[str, Any] = {}

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens of the last login."""
        found = self._read().get("tokens")
        return OAuthToken.model_validate(found) if found else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep tokens, with what it takes to refresh them."""
        kept: dict[str, Any] = {"tokens": tokens.model_dump(mode="json", exclude_none=True)}
        kept["expires_at"] = time.time() + tokens.expires_in if tokens.expires_in is not None else None
        for name in METADATA:
            if found := getattr(self.context, name, None):
                kept[name] = found.model_dump(mode="json", exclude_none=True)
        self._write(kept)

    def remind(self, context: Any) -> None:
        """Tell the SDK what it does not ask for: when the tokens end, and where to refresh them."""
        self.context, kept = context, self._read()
        context.token_expiry_time = kept.get("expires_at")
        for name, kind in METADATA.items():
            if name in kept:
                setattr(context, name, kind.model_validate(kept[name]))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """What the login server knows us by."""
        found = self._read().get("client") or self._registered
        return OAuthClientInformationFull.model_validate(found) if found else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep what the login server knows us by."""
        self._write({"client": client_info.model_dump(mode="json", exclude_none=True)})

    def exists(self) -> bool:
        """Whether there is a login."""
        return bool(self._read().get("tokens"))

    def forget(self) -> None:
        """Log out: remove the file."""
        self._memory = {}
        if self.path:
            self.path.unlink(missing_ok=True)

    def _read(self) -> dict[str, Any]:
        """What is kept for exactly this server; a file that others could read or write counts as none."""
        if self.path is None:
            return self._memory
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with open(descriptor, "rb") as file:
                about = os.fstat(descriptor)
                found = json.loads(file.read()) if about.st_uid == os.geteuid() and not about.st_mode & 0o077 else {}
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) and found.get("digest") == self._digest else {}

    def _write(self, more: Mapping[str, Any]) -> None:
        kept = {**self._read(), "digest": self._digest, **more}
        if self.path is None or private_folder(self.path.parent) is None:
            self._memory = kept
            return
        replace_file(str(self.path), json.dumps(kept).encode(), 0o600)


def _registered(server: ServerConfig) -> dict[str, Any] | None:
    """What the entry says about a client that was registered by hand."""
    said = server.entry.get("oauth", {})
    if not said.get("clientId"):
        return None
    known = {"client_id": said["clientId"], "redirect_uris": [redirect_address(server)]}
    if secret := said.get("clientSecret"):
        method = {"token_endpoint_auth_method": "client_secret_basic"}
        known |= {"client_secret": expand(secret, server.env), **method}
    return known


OpenAddress = Callable[[str], Awaitable[None]]


def auth_for(
    server: ServerConfig, url: str, env: Mapping[str, str], open_address: OpenAddress | None = None
) -> OAuthClientProvider | None:
    """The login for requests to a server. Without a way to open an address it is used if there is one, never begun."""
    storage = TokenFile(server, env)
    if open_address is None and not storage.exists():
        return None
    said = server.entry.get("oauth", {})
    visit = Visit(said.get("callbackPort", PORT), open_address)
    metadata = OAuthClientMetadata(
        client_name="Pegboard",
        redirect_uris=[redirect_address(server)],  # type: ignore[list-item]
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        scope=said.get("scope"),
    )
    provider = OAuthClientProvider(
        server_url=url,
        client_metadata=metadata,
        storage=storage,
        redirect_handler=visit.begin,
        callback_handler=visit.come_back,
        client_metadata_url=said.get("clientMetadataUrl"),
    )
    storage.remind(provider.context)
    return provider


def redirect_address(server: ServerConfig) -> str:
    """Where the browser comes back to."""
    return f"http://localhost:{server.entry.get('oauth', {}).get('callbackPort', PORT)}/callback"


class Visit:
    """A visit of the browser to the login server and back."""

    def __init__(self, port: int, open_address: OpenAddress | None) -> None:
        self._port, self._open, self._address = port, open_address, ""

    async def begin(self, address: str) -> None:
        """Remember where to go: it is opened when someone listens for the way back."""
        if self._open is None:
            raise LoginNeededError
        self._address = address

    async def come_back(self) -> AuthorizationCodeResult:
        """Open the address and wait for the code."""
        if self._open is None:
            raise LoginNeededError
        listener = CallbackListener(self._port)
        async with anyio.create_task_group() as tasks:
            await tasks.start(listener.serve)
            await self._open(self._address)
            with anyio.fail_after(LOGIN_SECONDS):
                code = await listener.code()
            tasks.cancel_scope.cancel()
        return code


class CallbackListener:
    """Waits on the loopback address for the browser to come back with a code."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._found: AuthorizationCodeResult | None = None
        self._done = anyio.Event()
        self.problem = ""

    async def serve(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Listen until the code is there."""
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=self._port)
        async with listener:
            task_status.started()
            await listener.serve(self._answer)

    async def code(self) -> AuthorizationCodeResult:
        """The code that the browser brought."""
        await self._done.wait()
        if self._found is None:
            raise LoginRefusedError(self.problem)
        return self._found

    async def _answer(self, stream: anyio.abc.SocketStream) -> None:
        """Browsers also open connections that they never use, or leave early: neither ends a login."""
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            await self._exchange(stream)

    async def _exchange(self, stream: anyio.abc.SocketStream) -> None:
        async with stream:
            head = b""
            with anyio.move_on_after(5):
                while b"\r\n\r\n" not in head and len(head) < 65_536:
                    head += await stream.receive()
            target = head.split(b" ", 2)[1].decode("ascii", "replace") if head.count(b" ") >= 2 else ""
            where = urllib.parse.urlsplit(target)
            if where.path != "/callback":
                await stream.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            try:
                await stream.send(self._take(dict(urllib.parse.parse_qsl(where.query))))
            finally:
                self._done.set()

    def _take(self, query: dict[str, str]) -> bytes:
        if "code" in query:
            self._found = AuthorizationCodeResult(code=query["code"], state=query.get("state"), iss=query.get("iss"))
            words = "You are logged in. You can close this page."
        else:
            self.problem = query.get("error_description") or query.get("error") or "The browser brought no code."
            words = f"The login failed: {html.escape(self.problem)}"
        body = f"<!doctype html><meta charset=utf-8><title>Pegboard</title><p>{words}".encode()
        head = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n"
        policy = "Content-Security-Policy: default-src 'none'\r\n"
        return f"{head}{policy}Content-Length: {len(body)}\r\n\r\n".encode() + body
