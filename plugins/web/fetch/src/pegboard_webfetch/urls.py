"""The one parser of URLs: what it returns is what is checked, what is dialled and what permission rules see.

It is stricter than browsers on purpose. What two programs could read in two ways is refused, never guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import quote, urljoin

LONGEST = 4096
DEFAULT_PORTS = {"http": 80, "https": 443}

_SHAPE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?", re.DOTALL)
_FORBIDDEN = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029\ud800-\udfff]")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"(?:[0-9]+|0[xX][0-9a-fA-F]*)")
_KEPT = "/%:@!$&'()*+,;=~-._"
"""What stays as it is in a path; the rest of it is percent-encoded, so that quotes and angle brackets cannot pass."""


class Refused(Exception):  # noqa: N818 - it reads as what happened
    """A URL that will not be fetched; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Url:
    """A URL taken apart, with the host in the one spelling that is compared: lower case, A-labels, no final dot."""

    scheme: str
    host: str
    port: int
    target: str
    """Path and query as they are sent; the fragment never leaves this machine."""

    @property
    def address(self) -> IPv4Address | IPv6Address | None:
        """The address, when the host is one rather than a name."""
        if ":" in self.host:
            return IPv6Address(self.host)
        return IPv4Address(self.host) if self.host.rpartition(".")[2].isdigit() else None

    @property
    def authority(self) -> str:
        """Host and port as the Host header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    def with_scheme(self, scheme: str) -> Url:
        """The same place by the other scheme, on that scheme's own port."""
        return replace(self, scheme=scheme, port=DEFAULT_PORTS[scheme])

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def parse(text: str) -> Url:
    """Take a URL apart, or raise `Refused`."""
    if len(text) > LONGEST:
        raise Refused(f"The URL is {len(text)} characters long; the limit is {LONGEST}.")
    if found := _FORBIDDEN.search(text):
        what = "a space" if found[0] == " " else "a backslash" if found[0] == "\\" else f"U+{ord(found[0]):04X}"
        raise Refused(f"The URL contains {what}, which is not allowed in a URL. Percent-encode it, or correct the URL.")
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise Refused("This is not a complete URL. Include the scheme, as in https://example.com/page.")
    scheme, authority, path, query, _ = shape.groups()
    if scheme.lower() not in DEFAULT_PORTS:
        raise Refused(f"{scheme} URLs cannot be fetched, only http and https.")
    host, port = _host_and_port(authority)
    target = _encoded(path or "/") + _encoded(query or "", more="?")
    return Url(scheme.lower(), host, port or DEFAULT_PORTS[scheme.lower()], target)


def joined(base: Url, location: str) -> Url:
    """Where a redirect leads, read by the same parser."""
    if _FORBIDDEN.search(location):
        raise Refused("The redirect target is not a URL.")
    return parse(urljoin(str(base), location))


def normal_host(text: str) -> str:
    """A host name or address in the spelling that is compared, or raise `Refused`."""
    return _host_and_port(f"[{text}]" if text.count(":") > 1 and not text.startswith("[") else text)[0]


def _encoded(text: str, more: str = "") -> str:
    return quote(text, safe=_KEPT + more)


def _host_and_port(authority: str) -> tuple[str, int | None]:
    if "@" in authority:
        raise Refused("The URL contains a user name or password before an @. Leave them out; this tool cannot log in.")
    if "%" in authority:
        raise Refused("The host is percent-encoded. Write it without percent-encoding.")
    if authority.startswith("["):
        inside, closed, rest = authority[1:].partition("]")
        if not closed or (rest and not rest.startswith(":")):
            raise Refused("The closing bracket of the IPv6 address is missing or misplaced.")
        return _ipv6(inside), _port(rest[1:])
    host, _, port = authority.partition(":")
    if ":" in port:
        raise Refused("The host has more than one colon. Write an IPv6 address in brackets.")
    return _name(host), _port(port)


def _port(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 0 < int(text) < 65536):
        raise Refused(f"{text!r} is not a port. A port is a number from 1 to 65535.")
    return int(text)


def _ipv6(text: str) -> str:
    try:
        return str(IPv6Address(text))
    except AddressValueError:
        raise Refused(f"[{text}] is not an IPv6 address.") from None


def _name(text: str) -> str:
    host = _ascii(text).lower().removesuffix(".")
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _ipv4(host, labels)
    if not host or len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise Refused(f"{text!r} is not a host name.")
    if any(label.startswith("xn--") for label in labels):
        _check_a_labels(host, labels)
    return host


def _ascii(text: str) -> str:
    """The A-label form of a name, with look-alike digits, dots and letters read as the standard reads them."""
    if text.isascii():
        return text
    import idna  # Imported late: its tables take 10 ms, and few hosts need them.

    try:
        return idna.encode(text, uts46=True, std3_rules=True).decode()
    except (idna.IDNAError, UnicodeError):
        pass
    # A full-width address is no valid name, but it must still be recognised as the address it is.
    import unicodedata  # Late like idna: few hosts need it.

    plain = unicodedata.normalize("NFKC", text).replace("\u3002", ".")
    if plain.isascii():
        return plain
    raise Refused(f"{text!r} is not a valid international host name.")


def _check_a_labels(host: str, labels: list[str]) -> None:
    import idna  # See above.

    try:
        for label in labels:
            if label.startswith("xn--"):
                idna.ulabel(label)
    except (idna.IDNAError, UnicodeError):
        raise Refused(f"{host} is not a valid international host name.") from None


def _ipv4(host: str, labels: list[str]) -> str:
    """An address in its plain spelling. Octal, hexadecimal and short forms are named for what they are and refused."""
    try:
        return str(IPv4Address(host))
    except AddressValueError:
        meant = _as_the_socket_reads(labels)
    if meant is None:
        raise Refused(f"{host} is neither a host name nor an IPv4 address.")
    raise Refused(f"{host} is an unusual spelling of the address {meant}. Write addresses as four decimal numbers.")


def _as_the_socket_reads(labels: list[str]) -> IPv4Address | None:
    """How `inet_aton` reads one to four numbers in any base, the last of which fills the rest of the address."""
    try:
        numbers = [_number(label) for label in labels]
    except ValueError:
        return None
    if len(numbers) > 4 or any(number > 255 for number in numbers[:-1]) or numbers[-1] >= 256 ** (5 - len(numbers)):
        return None
    value = numbers[-1]
    for place, number in enumerate(numbers[:-1]):
        value += number << (8 * (3 - place))
    return IPv4Address(value)


def _number(label: str) -> int:
    if len(label) > 40:
        raise ValueError(label)
    if label[:2].lower() == "0x":
        return int(label[2:] or "0", 16)
    return int(label, 8 if len(label) > 1 and label[0] == "0" else 10)
