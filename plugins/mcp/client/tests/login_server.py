"""A server of the official SDK that wants a login, with a login server beside it, which agrees to everyone.

`python login_server.py PORT_FILE NOTES`: a line in NOTES for each code and refresh.
While NOTES.closed exists, the login server refuses to refresh, and while NOTES.no does, to log in.
"""

import os
import secrets
import socket
import sys
import time
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizeError,
    ProviderTokenVerifier,
    RefreshToken,
    TokenError,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.lowlevel.server import Server
from mcp.shared.auth import OAuthToken

PORT_FILE, NOTES = sys.argv[1:]
LIFETIME = 3600


class Logins:
    """Keeps everything in memory."""

    def __init__(self) -> None:
        self.clients: dict[str, Any] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.refreshers: dict[str, RefreshToken] = {}
        self.tokens: dict[str, AccessToken] = {}

    async def get_client(self, client_id: str) -> Any:
        return self.clients.get(client_id)

    async def register_client(self, client_info: Any) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: Any, params: Any) -> str:
        if os.path.exists(f"{NOTES}.no"):
            raise AuthorizeError("access_denied", "You are not on the list.")
        code = secrets.token_hex(20)
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 300,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return f"{params.redirect_uri}?code={code}&state={params.state}"

    async def load_authorization_code(self, client: Any, authorization_code: str) -> Any:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client: Any, authorization_code: Any) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._issue(client, "code")

    async def load_refresh_token(self, client: Any, refresh_token: str) -> Any:
        return self.refreshers.get(refresh_token)

    async def exchange_refresh_token(self, client: Any, refresh_token: Any, scopes: list[str]) -> OAuthToken:
        if os.path.exists(f"{NOTES}.closed"):
            raise TokenError("invalid_grant", "This login is over.")
        del self.refreshers[refresh_token.token]
        return self._issue(client, "refresh")

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.tokens.get(token)

    async def revoke_token(self, token: Any) -> None:
        self.tokens.pop(token.token, None)

    def _issue(self, client: Any, how: str) -> OAuthToken:
        with open(NOTES, "a") as file:
            file.write(f"{how}\n")
        access, refresh = secrets.token_hex(20), secrets.token_hex(20)
        about = {"client_id": client.client_id, "scopes": []}
        self.tokens[access] = AccessToken(token=access, expires_at=int(time.time()) + LIFETIME, **about)
        self.refreshers[refresh] = RefreshToken(token=refresh, **about)
        return OAuthToken(access_token=access, expires_in=LIFETIME, refresh_token=refresh)


async def on_list(ctx: Any, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool(name="secret", input_schema={"type": "object"})])


async def on_call(ctx: Any, params: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text="only for those who are logged in")])


async def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = Server("locked", version="1", on_list_tools=on_list, on_call_tool=on_call)
    auth = AuthSettings(
        issuer_url=address,  # type: ignore[arg-type]
        resource_server_url=f"{address}/mcp",  # type: ignore[arg-type]
        client_registration_options=ClientRegistrationOptions(enabled=True),
        validate_token_resource=False,
    )
    logins = Logins()
    verifier = ProviderTokenVerifier(logins)
    app = server.streamable_http_app(auth=auth, auth_server_provider=logins, token_verifier=verifier)
    running = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    with open(f"{PORT_FILE}.part", "w") as file:
        file.write(address.rpartition(":")[2])
    os.rename(f"{PORT_FILE}.part", PORT_FILE)
    await running.serve(sockets=[listener])


if __name__ == "__main__":
    anyio.run(main)
