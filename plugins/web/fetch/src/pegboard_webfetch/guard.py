"""May this URL be fetched, and at which address? A function of the URL, the answers of DNS and the rules.

Names are looked up once; every address in the answer is checked; whoever connects uses the addresses returned here
and no others.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from pegboard_webfetch.addresses import BY_ADDRESS, BY_NAME_TOO, kind_of
from pegboard_webfetch.urls import DEFAULT_PORTS, Refused, Url

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
Rules = frozenset[str]
"""Hosts that an allow rule names in full, such as `localhost` for `WebFetch(domain:localhost)`."""

LOCAL_NAMES = frozenset({"localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback", "broadcasthost"})
LOCAL_ENDS = (
    *(".localhost", ".localdomain", ".local", ".internal", ".intranet", ".private", ".corp", ".home", ".lan"),
    *(".home.arpa", ".in-addr.arpa", ".ip6.arpa"),
)
UNSAFE_PORTS = frozenset(
    (
        *(1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104),
        *(109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515),
        *(526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049),
        *(3306, 3389, 3659, 4045, 4190, 5060, 5061, 5432, 5900, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669),
        *(6679, 6697, 10080, 11211, 27017),
    )
)
"""Ports of services that are not HTTP but may act on what looks like a request. No rule opens them."""


@dataclass(frozen=True, slots=True)
class Target:
    """A URL that may be fetched, and the only addresses at which."""

    url: Url
    addresses: tuple[str, ...]
    is_private: bool
    """Whether a rule had to open it; such a host is never upgraded to https behind the user's back."""


def refuse_by_sight(url: Url, rules: Rules) -> None:
    """Raise `Refused` for what can be told from the URL alone; needs no network, so it can run before permission."""
    named = url.host in rules
    if url.port in UNSAFE_PORTS:
        raise Refused(f"Port {url.port} belongs to a service other than HTTP and is never used.")
    if url.port not in DEFAULT_PORTS.values() and not named:
        raise Refused(f"Port {url.port} is not 80 or 443. {_how_to_open(url)}")
    if url.address is not None:
        _refuse_address(url, str(url.address), named=named)
    elif not named and is_local_name(url.host):
        raise Refused(
            f"{url.host} is a name on this machine or its network, not on the public internet. {_how_to_open(url)}"
        )


async def checked(url: Url, resolve: Resolver, rules: Rules) -> Target:
    """The target of a URL with its addresses, or raise `Refused`."""
    refuse_by_sight(url, rules)
    if url.address is not None:
        return Target(url, (str(url.address),), kind_of(url.address) != "public")
    answers = tuple(dict.fromkeys(await resolve(url.host, url.port)))
    if not answers:
        raise Refused(f"{url.host} has no IP address. Check the spelling of the host.")
    kinds = {_refuse_address(url, answer, named=url.host in rules) for answer in answers}
    if "public" in kinds and len(kinds) > 1:
        raise Refused(f"{url.host} resolves to both public and private addresses, as in a DNS rebinding attack.")
    return Target(url, answers, kinds != {"public"} or is_local_name(url.host))


def is_local_name(host: str) -> bool:
    """Whether a name belongs to this machine or network by its looks; a name without a dot does too."""
    return host in LOCAL_NAMES or host.endswith(LOCAL_ENDS) or "." not in host


def _refuse_address(url: Url, text: str, *, named: bool) -> str:
    """The kind of an address that may be used."""
    try:
        kind = kind_of(ip_address(text))
    except ValueError:
        raise Refused(f"{url.host} resolves to {text!r}, which is not an IP address.") from None
    opens = BY_ADDRESS if url.address is not None else BY_NAME_TOO
    if kind == "public" or (named and kind in opens):
        return kind
    where = "is" if url.address is not None else f"resolves to {text},"
    article = "an" if kind[0] in "aeiou" else "a"
    help_ = "No rule can allow it." if kind not in opens else _how_to_open(url)
    raise Refused(f"{url.host} {where} {article} {kind} address, not a public one. {help_}")


def _how_to_open(url: Url) -> str:
    return f"To allow it, the user can add the allow rule WebFetch(domain:{url.host}) to the settings."
