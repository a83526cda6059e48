"""What a tool may ask of the client that called it: `ctx.service("mcp_client")`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from pegboard import ToolError
from pegboard_mcp_server.exchange import Exchange, InputRequest, ask_client, current
from pegboard_mcp_server.wishes import Form, Roots, Sample, Wish

SERVICE = "mcp_client"


class McpClient:
    """The client of the call that is being handled. A `ToolError` says what it cannot do."""

    async def elicit(self, message: str, schema: Mapping[str, Any], key: str = "") -> dict[str, Any]:
        """Put a form to the person: `{"action": "accept" | "decline" | "cancel", "content": {…}}`."""
        answer = await self._ask({key or "form": Form(message, schema)})
        return answer[key or "form"]  # type: ignore[no-any-return]

    async def sample(self, prompt: str, max_tokens: int = 1024, key: str = "") -> str:
        """Ask the client's model; the text of its answer."""
        answer = await self._ask({key or "sample": Sample(prompt, max_tokens)})
        return str(answer[key or "sample"])

    async def ask(self, wishes: Mapping[str, Wish]) -> dict[str, Any]:
        """Several questions at once, by keys of your own; the answers have the same keys."""
        return await self._ask(wishes)

    def offers(self, kind: type[Form] | type[Sample] | type[Roots]) -> bool:
        """Whether the client can answer questions of this kind."""
        exchange = _exchange()
        offered = exchange.offers
        if kind is Form:
            return exchange.can_ask_a_person
        return (offered.sampling if kind is Sample else offered.roots) is not None

    async def _ask(self, wishes: Mapping[str, Wish]) -> dict[str, Any]:
        exchange = _exchange()
        for wish in wishes.values():
            self._require(exchange, type(wish))
        try:
            answers = await exchange.ask({key: _request(wish) for key, wish in wishes.items()})
        except (TimeoutError, MCPError, ValidationError) as error:
            raise ask_client(error) from error
        return {key: _plain(answer) for key, answer in answers.items()}

    def _require(self, exchange: Exchange, kind: type[Wish]) -> None:
        if self.offers(kind):
            return
        name = {Form: "elicitation", Sample: "sampling", Roots: "roots"}[kind]
        exchange.lacks = types.ClientCapabilities.model_validate({name: {}})
        raise ToolError(f"The client does not offer {name}, which this tool needs.", code="unsupported")


def _exchange() -> Exchange:
    exchange = current.get()
    if exchange is None:
        raise ToolError("This call does not come from an MCP client.", code="unsupported")
    return exchange


def _request(wish: Wish) -> InputRequest:
    if isinstance(wish, Form):
        return types.ElicitRequest(
            params=types.ElicitRequestFormParams(message=wish.message, requested_schema=dict(wish.schema))
        )
    if isinstance(wish, Sample):
        said = types.SamplingMessage(role="user", content=types.TextContent(text=wish.prompt))
        return types.CreateMessageRequest(
            params=types.CreateMessageRequestParams(messages=[said], max_tokens=wish.max_tokens)
        )
    return types.ListRootsRequest()


def _plain(answer: Any) -> Any:
    if isinstance(answer, types.ElicitResult):
        return {"action": answer.action, "content": dict(answer.content or {})}
    if isinstance(answer, types.ListRootsResult):
        return [root.uri for root in answer.roots]
    content = answer.content
    blocks = content if isinstance(content, list) else [content]
    return "\n".join(block.text for block in blocks if isinstance(block, types.TextContent))
