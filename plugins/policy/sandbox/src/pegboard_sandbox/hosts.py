"""Which hosts the proxy connects to, and at which of their addresses."""

from __future__ import annotations

import ipaddress
import socket

from pegboard_rules.patterns import ascii_host, host_test

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

METADATA = frozenset({ipaddress.ip_address("168.63.129.16")})
"""Public by number, yet answered by the machine's provider."""


class HostRefusedError(Exception):
    """A connection that the list does not allow; the message is for whoever asked."""


class Allowed:
    """The list of allowed hosts: `example.com`, `*.example.com`, `*`, each also with a port as in `example.com:443`."""

    def __init__(self, patterns: tuple[str, ...], denied: tuple[str, ...] = ()) -> None:
        self._entries = [_split(pattern) for pattern in patterns]
        self._tests = [(host_test(host), port) for host, port in self._entries]
        self._denied = [(host_test(host), port) for host, port in map(_split, denied)]

    def addresses(self, host: str, port: int) -> list[Address]:
        """The addresses to connect to. Names are looked up here, so what is checked is what is connected to."""
        name = _plain(host)
        if not any(test(name) and wanted in (None, port) for test, wanted in self._tests):
            raise HostRefusedError(f"{host}:{port} is not in sandbox.network.allowedDomains.")
        if any(test(name) and wanted in (None, port) for test, wanted in self._denied):
            raise HostRefusedError(f"{host}:{port} is in sandbox.network.deniedDomains.")
        # A wildcard is no decision about private addresses: only a name that is written out is.
        by_name = any(name == ascii_host(listed) for listed, _ in self._entries)
        literal = _literal(name)
        if literal and self._denied and not by_name:
            raise HostRefusedError(
                f"{host} could be a host in sandbox.network.deniedDomains. List it by its IP address."
            )
        found = [literal] if literal else _resolved(name, port)
        good = [address for address in found if is_public(address) or (by_name and _may_be_listed(address, literal))]
        if not good:
            raise HostRefusedError(f"{host} resolves to a private address. To allow that, list it by its full name.")
        return good


def is_public(address: Address) -> bool:
    """Whether an address is on the public internet, whatever form it has."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped
        if inner:
            return is_public(inner)
        # These contain an IPv4 address that the network may unpack and deliver to a private host.
        if address.sixtofour or address.teredo or address not in ipaddress.ip_network("2000::/3"):
            return False
    return address.is_global and not address.is_multicast and address not in METADATA


def _may_be_listed(address: Address, literal: Address | None) -> bool:
    """Whether a listed name may lead here. What is worse than private must be listed by its number."""
    if literal is not None:
        return not address.is_multicast
    ordinary = address.is_loopback or address.is_private
    return ordinary and not (address.is_link_local or address.is_unspecified or address.is_multicast)


def _plain(host: str) -> str:
    name = ascii_host(host.strip("[]").lower().removesuffix("."))
    # The resolver reads 0x7f.1 and 2130706433 as addresses; a list of names cannot mean those.
    if not name or (_literal(name) is None and not name.rpartition(".")[2][:1].isalpha()):
        raise HostRefusedError(f"{host} is not a host name.")
    return name


def _literal(name: str) -> Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _resolved(name: str, port: int) -> list[Address]:
    try:
        rows = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    except (OSError, ValueError):
        raise HostRefusedError(f"{name} has no address.") from None
    # Link-local addresses come with a zone, as in fe80::1%eth0.
    return [ipaddress.ip_address(str(row[4][0]).partition("%")[0]) for row in rows]


def _split(pattern: str) -> tuple[str, int | None]:
    host, colon, port = pattern.rpartition(":")
    if colon and port.isdigit() and (":" not in host or host.startswith("[")):
        return host.strip("[]").lower().removesuffix("."), int(port)
    return pattern.strip("[]").lower().removesuffix("."), None
