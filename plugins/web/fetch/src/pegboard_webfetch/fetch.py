"""Fetch a URL: hop by hop through the guard, within every limit, and no further than the host that was allowed."""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from http import HTTPStatus

import anyio
import httpcore2

from pegboard_webfetch import connect
from pegboard_webfetch.guard import Resolver, Rules, Target, checked, refuse_by_sight
from pegboard_webfetch.inflate import BadEncodingError, Unpack, supported, unpacker
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
BEGUN = (ssl.SSLError, anyio.EndOfStream, anyio.BrokenResourceError, ConnectionResetError, BrokenPipeError)
"""Ways in which a connection ends that has begun."""
NEITHER_WAY = "Nothing was fetched, and plain http was not tried. Continue without it, or tell the user."

REDIRECTS = frozenset({301, 302, 303, 307, 308})


class Failed(Exception):  # noqa: N818 - it reads as what happened
    """A failed fetch. `code` is one of the error codes of a tool."""

    def __init__(self, message: str, code: str = "not_found") -> None:
        super().__init__(message)
        self.code = code


class Unreachable(Failed):
    """No connection could be opened."""


@dataclass(frozen=True, slots=True)
class Network:
    """How to reach the network; a test or an embedder can replace each part."""

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
    """The target of a redirect that was not followed: another host, or the same one without encryption."""
    is_private: bool = False
    is_cut: bool = False
    """Whether the body is incomplete; the notes say why."""
    notes: list[str] = field(default_factory=list)


async def fetch(url: Url, rules: Rules, network: Network, headers: Mapping[str, str], seconds: float) -> Fetched:
    """Fetch within `seconds`. A body that is still arriving by then is returned in part and marked."""
    deadline = time.monotonic() + seconds
    got: list[Fetched] = []
    with anyio.move_on_after(seconds) as scope:
        return await _hops(url, rules, network, headers, deadline, got)
    if scope.cancelled_caught and got:
        got[0].is_cut = True
        got[0].notes.append(f"The server was too slow: this is what arrived within {seconds:g} s.")
        return got[0]
    raise Failed(
        f"{url.host} did not answer within {seconds:g} s. Set a longer timeout, or continue without it.", "timeout"
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
        upgrade = False
        answer.notes[:0], answer.is_private = notes, target.is_private
        location = answer.headers.get("location", "")
        if answer.status not in REDIRECTS or not location:
            return answer
        leads_to = _next(answer.url, location, rules)
        if leads_to.host != url.host or (answer.url.scheme, leads_to.scheme) == ("https", "http"):
            answer.redirect = leads_to
            return answer
        followed += 1
        if followed > MOST_REDIRECTS:
            raise Failed(f"{url.host} redirects more than {MOST_REDIRECTS} times, which may be a loop.")
        url = leads_to
        got.clear()


async def _target(url: Url, rules: Rules, network: Network) -> Target:
    try:
        return await checked(url, network.resolve, rules)
    except OSError:
        # Behind a proxy, public names often resolve only at the proxy.
        if proxy_for(url, network.env):
            return Target(url, (), is_private=False)
        raise Failed(f"The host {url.host} cannot be resolved. Check its spelling.") from None


def _next(url: Url, location: str, rules: Rules) -> Url:
    """The target of a redirect. One that could not be fetched is refused, so that the model is not told to try it."""
    try:
        leads_to = joined(url, location)
        refuse_by_sight(leads_to, rules)
        return leads_to
    except Refused as error:
        raise Refused(f"{url} redirects to {location[:200]!r}, which was not followed. {error}") from None


async def _upgraded(hop: _Hop, notes: list[str]) -> Fetched:
    """Try https first; a host to which no such connection comes about is asked over http, as the URL says.

    A host that takes the connection and fails at the certificate, or at anything after it, is not: whoever stands
    between would have won.
    """
    try:
        return await hop.by_https().fetch(UPGRADE_SECONDS)
    except Unreachable:
        notes.append("The page was fetched over http without encryption: the host does not answer over https.")
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
    """Holds the response as soon as it has begun, so that a timeout in the middle loses nothing."""

    def by_https(self) -> _Hop:
        """The same hop over https. The guard's answer holds: same host, and 443 is as open as 80."""
        return replace(self, target=replace(self.target, url=self.target.url.with_scheme("https")))

    async def fetch(self, connect_seconds: float = connect.CONNECT_SECONDS) -> Fetched:
        """Send the request and read the answer; every way in which a server can fail becomes a sentence."""
        url = self.target.url
        patience = max(0.001, min(connect_seconds, self.deadline - time.monotonic()))
        sent = {"Accept-Encoding": supported(), **self.headers}
        proxy = proxy_for(url, self.network.env)
        reached = _Reached(self.network.dial)
        try:
            async with connect.request(
                self.target, sent, dial=reached.dial, proxy=proxy, connect_seconds=patience
            ) as answer:
                return await self._read(answer)
        except httpcore2.ConnectTimeout:
            if reached:
                what = f"{url.host} accepted the connection but did not start https within {patience:.3g} s."
                raise Failed(f"{what} {NEITHER_WAY}", "timeout") from None
            raise Unreachable(f"{url.host} could not be reached within {patience:.3g} s.", "timeout") from None
        except httpcore2.ConnectError as error:
            raise _not_connected(url, error, was_reached=bool(reached)) from None
        except httpcore2.ProxyError as error:
            raise Unreachable(f"The proxy did not connect to {url.authority}: {_first_line(error)}.") from None
        except (httpcore2.ProtocolError, httpcore2.NetworkError) as error:
            if not self.got:
                raise Failed(f"{url.host} did not answer with valid HTTP: {_first_line(error)}.") from None
            self.got[0].is_cut = True
            self.got[0].notes.append(f"The connection was lost before the end of the response: {_first_line(error)}.")
            return self.got[0]
        except BadEncodingError as error:
            raise Failed(f"{url} cannot be read. {error}", "unsupported") from None

    async def _read(self, answer: httpcore2.Response) -> Fetched:
        if len(answer.headers) > MOST_HEADERS:
            raise Failed(f"{self.target.url.host} sent {len(answer.headers)} headers; the limit is {MOST_HEADERS}.")
        headers = _folded(answer.headers)
        fetched = Fetched(self.target.url, answer.status, _phrase(answer.status), headers)
        unpack = unpacker(headers.get("content-encoding", ""))
        self.got.append(fetched)
        if answer.status in REDIRECTS and "location" in headers:
            return fetched  # The body of a redirect is not needed.
        await _read_body(answer, fetched, unpack)
        return fetched


class _Reached:
    """Remembers whether a connection came about: what fails after that is the handshake."""

    def __init__(self, dial: connect.Dial) -> None:
        self._dial, self._opened = dial, False

    async def dial(self, address: str, port: int, seconds: float) -> connect.Stream:
        stream = await self._dial(address, port, seconds)
        self._opened = True
        return stream

    def __bool__(self) -> bool:
        return self._opened


def _not_connected(url: Url, error: httpcore2.ConnectError, *, was_reached: bool) -> Failed:
    reasons = _reasons(error)
    if not was_reached and not any(isinstance(reason, BEGUN) for reason in reasons):
        return Unreachable(f"Cannot connect to {url.authority}: {_first_line(error)}.")
    untrusted = next((reason for reason in reasons if isinstance(reason, ssl.SSLCertVerificationError)), None)
    if untrusted is not None:
        what = f"The certificate of {url.host} is not valid: {untrusted.verify_message.rstrip('.')}."
    else:
        what = f"{url.host} does not support https correctly: {_first_line(error)}."
    return Failed(f"{what} {NEITHER_WAY}")


def _reasons(error: BaseException) -> list[BaseException]:
    """An error and its chain of causes."""
    found = [error]
    while (before := found[-1].__cause__ or found[-1].__context__) is not None and before not in found:
        found.append(before)
    return found


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
            f"{fetched.url} decompresses from {fetched.wire_bytes} to over {MOST_DECODED} bytes: a decompression bomb.",
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
    """The standard phrase for a status; the server's own could contain anything, outside the marked content."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _first_line(error: Exception) -> str:
    """The first line of an error, without bytes of the server that the HTTP library may quote."""
    text = str(error).strip().partition("\n")[0].partition(": bytearray(")[0].rstrip(".")
    return text[:200] or type(error).__name__
