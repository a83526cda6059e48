"""Which addresses belong to the public internet, and what the others are.

The standard library's `is_global` is not enough: it passes multicast, several forms that carry an IPv4 address inside,
and addresses at which cloud providers answer with secrets.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address

BY_NAME_TOO = frozenset({"loopback", "private", "shared"})
"""Kinds that an allow rule on a host name opens. A name must never lead to the others, whoever controls its DNS."""
BY_ADDRESS = BY_NAME_TOO | {"link-local", "metadata", "documentation", "benchmarking"}
"""Kinds that an allow rule opens when it spells out the address itself. Nothing opens the rest."""

_V4 = [
    (IPv4Network(network), kind)
    for network, kind in (
        ("168.63.129.16/32", "metadata"),  # Azure
        ("169.254.169.254/32", "metadata"),
        ("169.254.170.2/32", "metadata"),  # ECS credentials
        ("100.100.100.200/32", "metadata"),  # Alibaba
        ("192.0.0.192/32", "metadata"),  # Oracle
        ("0.0.0.0/8", "unspecified"),  # Linux takes 0.0.0.0 for this machine
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared"),
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "reserved"),  # 6to4 relays
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
]
_V6 = [
    (IPv6Network(network), kind)
    for network, kind in (
        ("::1/128", "loopback"),
        ("::/128", "unspecified"),
        ("fd00:ec2::254/128", "metadata"),
        ("fd20:ce::254/128", "metadata"),  # Google
        ("fd00:c1::a9fe:a9fe/128", "metadata"),  # Oracle
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private"),
        ("ff00::/8", "multicast"),
        ("2001:db8::/32", "documentation"),
        ("3fff::/20", "documentation"),
        ("2001:2::/48", "benchmarking"),
        ("2001::/23", "reserved"),  # Teredo, ORCHID and other protocol assignments
        ("2002::/16", "reserved"),  # 6to4
    )
]
_NAT64 = IPv6Network("64:ff9b::/96")
_GLOBAL = IPv6Network("2000::/3")
_ISATAP = (0x00005EFE, 0x02005EFE)


def kind_of(address: Address) -> str:
    """What an address is: `public`, or the reason why it is not, in one word."""
    if isinstance(address, IPv4Address):
        return next((kind for network, kind in _V4 if address in network), "public")
    inside = _v4_inside(address)
    if inside is not None and (kind := kind_of(inside)) != "public":
        return kind
    if address in _NAT64 or address.ipv4_mapped:
        return "public"
    if found := next((kind for network, kind in _V6 if address in network), None):
        return found
    return "public" if address in _GLOBAL else "reserved"


def _v4_inside(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address carries, in every form that some gateway or kernel acts upon."""
    value = int(address)
    low = IPv4Address(value & 0xFFFFFFFF)
    if address.ipv4_mapped:
        return address.ipv4_mapped
    if address.sixtofour:
        return address.sixtofour
    if address.teredo:
        return address.teredo[1]
    carries = (
        address in _NAT64
        or address in IPv6Network("64:ff9b:1::/48")
        or address in IPv6Network("::ffff:0:0:0/96")  # SIIT
        or (value >> 32 == 0 and value > 0xFFFF)  # IPv4-compatible
        or (value >> 32) & 0xFFFFFFFF in _ISATAP
    )
    return low if carries else None
