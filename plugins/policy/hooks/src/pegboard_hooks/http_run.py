"""Handlers of type `http`: the event is posted, and the answer is read like a command's output."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

import anyio
import httpx2

from pegboard import Context, Settings
from pegboard_hooks.handler_run import MAX_OUTPUT_BYTES, Firing, HandlerRun
from pegboard_hooks.handlers import Handler

VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


async def run_http(handler: Handler, firing: Firing, ctx: Context) -> HandlerRun:
    """Post the event. Only a 2xx answer counts; a redirect is not followed, because it could lead anywhere."""
    url = handler.given["url"]
    if refusal := _refusal(url, ctx.settings):
        return HandlerRun(unable=refusal)
    headers = {"Content-Type": "application/json", **_headers(handler, ctx.settings)}
    body = json.dumps(firing.payload, ensure_ascii=False).encode("utf-8", "replace")
    try:
        with anyio.fail_after(handler.timeout):
            return await _post(url, headers, body)
    except TimeoutError:
        return HandlerRun(problem=f"It did not answer within {handler.timeout:g} s.")
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        return HandlerRun(problem=f"The request failed: {str(error) or type(error).__name__}.")


async def _post(url: str, headers: Mapping[str, str], body: bytes) -> HandlerRun:
    answer = bytearray()
    async with (
        httpx2.AsyncClient(timeout=None, follow_redirects=False) as client,
        client.stream("POST", url, headers=dict(headers), content=body) as response,
    ):
        if not response.is_success:
            return HandlerRun(problem=f"It answered with the status {response.status_code}.")
        async for chunk in response.aiter_bytes():
            answer += chunk
            if len(answer) > MAX_OUTPUT_BYTES:
                return HandlerRun(problem=f"It answered with more than {MAX_OUTPUT_BYTES} bytes.")
    return HandlerRun(0, bytes(answer))


def _refusal(url: str, settings: Settings) -> str:
    """Why an address may not be asked: a setting lists those that may."""
    if not settings.holders("allowedHttpHookUrls"):
        return ""
    allowed = settings.get("allowedHttpHookUrls")
    listed = any(fnmatchcase(url, pattern.replace("[", "[[]")) for pattern in allowed)
    return "" if listed else f"{url} is not among allowedHttpHookUrls."


def _headers(handler: Handler, settings: Settings) -> dict[str, str]:
    """The headers, with the variables that the handler names in `allowedEnvVars`; any other is empty."""
    names = set(handler.given.get("allowedEnvVars", ()))
    if settings.holders("httpHookAllowedEnvVars"):
        names &= set(settings.get("httpHookAllowedEnvVars"))

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        return os.environ.get(name, "") if name in names else ""

    return {name: VARIABLE.sub(value, text) for name, text in handler.given.get("headers", {}).items()}
