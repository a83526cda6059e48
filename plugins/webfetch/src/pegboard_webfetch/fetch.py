"""Fetch a URL: hop by hop through the guard, within every limit, and no further than the host that was allowed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from http import HTTPStatus

import anyio
import httpcore2

from pegboard_webfetch import connect
from pegboard_webfetch.guard import Resolver, Rules, Target, checked, refuse_by_sight
from pegboard_webfetch.inflate import Broken, Unpack, supported, unpacker
from pegboard_webfetch.proxies import proxy_for
from pegboard_webfetch.urls import Refused, Url, joined

MOST_REDIRECTS = 5
MOST_HEADERS = 200
"""The HTTP layer itself stops at 100 KB of headers."""
MOST_WIRE = 10_000_000
MOST_DECODED = 10_000_000
BOMB_RATIO = 50
"""A body that is too large after unpacking and grew by more than this is an attack, not a long page."""
UPGRADE_SECONDS = 5.0
"""How long https is tried for a host that was asked for with http."""

REDIRECTS = frozenset({301, 302, 303, 307, 308})


class Failed(Exception):  # noqa: N818 - it reads as what happened
    """A fetch that brought nothing. `code` is one of the error codes of a tool."""

    def __init__(self, message: str, code: str = "not_found") -> None:
        super().__init__(message)
        self.code = code


class Unreachable(Failed):
    """No connection came about, or the other side does not speak HTTP there."""


@dataclass(frozen=True, slots=True)
class Network:
    """How to reach the network: the seams at which a test, or an embedder, puts its own."""

    resolve: Resolver = connect.resolve
    dial: connect.Dial = connect.dial
    env: Mapping[str, str] = field(default_factory=dict)
    """Where proxy variables are looked up."""


@dataclass(slots=True)
class Fetched:
    """What came back."""

    url: Url
    status: int
    reason: str
    headers: dict[str, str]
    body: bytes = b""
    wire_bytes: int = 0
    redirect: Url | None = None
    """Another host that the server points to; it was not followed."""
    is_private: bool = False
    is_cut: bool = False
    """Whether the body is not whole; the notes say why."""
    notes: list[str] = field(default_factory=list)


async def fetch(url: Url, rules: Rules, network: Network, headers: Mapping[str, str], seconds: float) -> Fetched:
    """Fetch within `seconds`. A body that is still coming then is returned as far as it came, and marked."""
    deadline = time.monotonic() + seconds
    got: list[Fetched] = []
    with anyio.move_on_after(seconds) as scope:
        return await _hops(url, rules, network, headers, deadline, got)
    if scope.cancelled_caught and got:
        got[0].is_cut = True
        got[0].notes.append(f"The server was too slow: after {seconds:g} s this is what had arrived.")
        return got[0]
    raise Failed(
        f"{url.host} did not answer within {seconds:g} s. Allow more with timeout, or go on without.", "timeout"
    )


async def _hops(
    url: Url, rules: Rules, network: Network, headers: Mapping[str, str], deadline: float, got: list[Fetched]
) -> Fetched:
    followed, notes = 0, list[str]()
    upgrade = url.scheme == "http" and url.port == 80
    while True:
        target = await _target(url, rules, network)
        hop = _Hop(target, network, headers, deadline, got)
        answer = await (_upgraded(hop, notes) if upgrade and not target.is_private else hop.fetch())
        upgrade = False  # A server that redirects back to http means it.
        answer.notes[:0], answer.is_private = notes, target.is_private
        location = answer.headers.get("location", "")
        if answer.status not in REDIRECTS or not location:
            return answer
        leads_to = _next(answer.url, location, rules)
        if leads_to.host != url.host:
            answer.redirect = leads_to
            return answer
        followed += 1
        if followed > MOST_REDIRECTS:
            raise Failed(f"{url.host} redirects more than {MOST_REDIRECTS} times. It may be a loop.")
        url = leads_to
        got.clear()


async def _target(url: Url, rules: Rules, network: Network) -> Target:
    try:
        return await checked(url, network.resolve, rules)
    except OSError:
        # Behind a proxy the names of the world are often known to the proxy alone.
        if proxy_for(url, network.env):
            return Target(url, (), is_private=False)
        raise Failed(f"The host {url.host} cannot be found. Check its spelling.") from None


def _next(url: Url, location: str, rules: Rules) -> Url:
    """Where a redirect leads. What could not be fetched anyway is refused: no model should be advised to try it."""
    try:
        leads_to = joined(url, location)
        refuse_by_sight(leads_to, rules)
        return leads_to
    except Refused as error:
        raise Refused(f"{url} redirects to {location[:200]!r}, which was not followed. {error}") from None


async def _upgraded(hop: _Hop, notes: list[str]) -> Fetched:
    """Try https first; what cannot be reached that way is fetched as it was asked for."""
    try:
        return await hop.by_https().fetch(UPGRADE_SECONDS)
    except Unreachable:
        notes.append("The page came over http without encryption: the host does not answer to https.")
        hop.got.clear()
        return await hop.fetch()


@dataclass(frozen=True, slots=True)
class _Hop:
    """One request to one checked target."""

    target: Target
    network: Network
    headers: Mapping[str, str]
    deadline: float
    got: list[Fetched]
    """Holds the answer as soon as it has begun, so that a deadline in the middle of it loses nothing."""

    def by_https(self) -> _Hop:
        """The same hop over https. The guard's answer holds: same host, and 443 is as open as 80."""
        return replace(self, target=replace(self.target, url=self.target.url.with_scheme("https")))

    async def fetch(self, connect_seconds: float = connect.CONNECT_SECONDS) -> Fetched:
        """Send the request and read the answer; every way in which a server can fail becomes a sentence."""
        url = self.target.url
        patience = max(0.001, min(connect_seconds, self.deadline - time.monotonic()))
        sent = {"Accept-Encoding": supported(), **self.headers}
        proxy = proxy_for(url, self.network.env)
        try:
            async with connect.request(
                self.target, sent, dial=self.network.dial, proxy=proxy, connect_seconds=patience
            ) as answer:
                return await self._read(answer)
        except httpcore2.ConnectTimeout:
            raise Unreachable(f"{url.host} could not be reached within {patience:.3g} s.", "timeout") from None
        except httpcore2.ConnectError as error:
            raise Unreachable(f"No connection to {url.authority}: {_first_line(error)}.") from None
        except httpcore2.ProxyError as error:
            raise Unreachable(f"The proxy did not connect to {url.authority}: {_first_line(error)}.") from None
        except (httpcore2.ProtocolError, httpcore2.NetworkError) as error:
            if not self.got:
                raise Unreachable(f"{url.host} did not answer in proper HTTP: {_first_line(error)}.") from None
            self.got[0].is_cut = True
            self.got[0].notes.append(f"The connection broke off before the end: {_first_line(error)}.")
            return self.got[0]
        except Broken as error:
            raise Failed(f"{url} cannot be read. {error}", "unsupported") from None

    async def _read(self, answer: httpcore2.Response) -> Fetched:
        if len(answer.headers) > MOST_HEADERS:
            raise Failed(f"{self.target.url.host} sent {len(answer.headers)} headers; the limit is {MOST_HEADERS}.")
        headers = _folded(answer.headers)
        fetched = Fetched(self.target.url, answer.status, _phrase(answer.status), headers)
        unpack = unpacker(headers.get("content-encoding", ""))
        self.got.append(fetched)
        if answer.status in REDIRECTS and "location" in headers:
            return fetched  # Nobody reads the body of a redirect.
        await _read_body(answer, fetched, unpack)
        return fetched


async def _read_body(answer: httpcore2.Response, fetched: Fetched, unpack: Unpack) -> None:
    body = bytearray()
    try:
        async with aclosing(answer.aiter_stream()) as chunks:
            async for chunk in chunks:
                fetched.wire_bytes += len(chunk)
                for piece in unpack(chunk):
                    body += piece
                    if len(body) > MOST_DECODED:
                        break
                if fetched.wire_bytes > MOST_WIRE or len(body) > MOST_DECODED:
                    _stop_at_the_limit(fetched, body)
                    return
    finally:
        fetched.body = bytes(body)


def _stop_at_the_limit(fetched: Fetched, body: bytearray) -> None:
    if len(body) > BOMB_RATIO * max(fetched.wire_bytes, 1):
        raise Failed(
            f"{fetched.url} unpacks from {fetched.wire_bytes} to more than {MOST_DECODED} bytes, as an attack would.",
            "too_large",
        )
    del body[MOST_DECODED:]
    fetched.is_cut = True
    fetched.notes.append(f"The body is larger than {MOST_DECODED} bytes; only its beginning was read.")


def _folded(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by lower-case name. Of repeated ones the first counts, but encodings add up."""
    found: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("ascii", "replace").lower(), raw_value.decode("latin-1")
        if name == "content-encoding" and name in found:
            found[name] += f", {value}"
        else:
            found.setdefault(name, value)
    return found


def _phrase(status: int) -> str:
    """The standard's word for a status; the server's own could say anything, outside of all marks."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _first_line(error: Exception) -> str:
    """What went wrong, without the bytes of the server that the HTTP layer likes to quote."""
    text = str(error).strip().partition("\n")[0].partition(": bytearray(")[0].rstrip(".")
    return text[:200] or type(error).__name__
