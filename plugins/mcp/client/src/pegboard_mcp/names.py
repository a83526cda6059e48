"""Names that models and providers take, and names that only look like others."""

from __future__ import annotations

import re
import unicodedata

from pegboard.hosting import RESERVED

MOST = 64
ILLEGAL = re.compile(r"[^A-Za-z0-9_-]+")
LOOKS_LIKE = str.maketrans(
    "аеорсухіјѕԁһкмтвнԍԛԝɡοαρτυνκιεηχγΑΒΕΖΗΙΚΜΝΟΡΤΥΧАВЕКМНОРСТХУІЈЅıℓ∣|",  # noqa: RUF001 - that is the point
    "aeopcyxijsdhkmtbhgqwgoaptuvkienxyABEZHIKMNOPTYXABEKMHOPCTXYIJSilll",
)
"""Letters of other scripts that look like Latin ones."""
SAME = str.maketrans({"0": "o", "1": "l", "i": "l", "-": "_", " ": "_", ".": "_", "5": "s"})


def server_part(name: str) -> str:
    """The name of a server as a part of tool names: two underscores separate the parts, so none are left inside."""
    return re.sub(r"_{2,}", "_", ILLEGAL.sub("_", name)).strip("_")


def tool_name(server: str, tool: str) -> str:
    """The name of a server's tool for the model: letters, digits, `_` and `-`, at most 64.

    A name that is too long keeps its beginning and gets a short hash, so that two long names stay apart.
    """
    name = f"mcp__{server_part(server)}__{ILLEGAL.sub('_', tool)}"
    if len(name) <= MOST:
        return name
    import hashlib  # Few names are this long.

    return f"{name[: MOST - 9]}_{hashlib.sha256(f'{server} {tool}'.encode()).hexdigest()[:8]}"


def skeleton(name: str) -> str:
    """What a name looks like at a glance: two names with one skeleton are too easily mistaken for each other."""
    plain = unicodedata.normalize("NFKC", name).translate(LOOKS_LIKE)
    folded = plain.casefold().translate(SAME).replace("rn", "m").replace("vv", "w")
    return re.sub(r"_+", "_", folded)


def poses(name: str) -> bool:
    """Whether a name is spelled with letters of another script that look like Latin ones, or with hidden characters."""
    if name.isascii():
        return not name.isprintable()
    hidden = any(unicodedata.category(letter) in ("Cf", "Cc", "Cn", "Co", "Cs", "Zl", "Zp") for letter in name)
    return hidden or unicodedata.normalize("NFKC", name).translate(LOOKS_LIKE).isascii()


class SeenNames:
    """The names of a server's tools so far, and what each looks like."""

    def __init__(self) -> None:
        self._looks: dict[str, str] = {}

    def add(self, tool: str) -> None:
        """Take a name."""
        self._looks[skeleton(tool)] = tool

    def refusal(self, tool: str) -> str:
        """Why a tool's name is refused, as a sentence; empty for a name that is fine."""
        if not ILLEGAL.sub("", tool).strip("_-"):
            return "The name contains no letter or digit, so a model cannot call it."
        if poses(tool):
            return f"The name {tool!a} is spelled with characters that look like others."
        if tool in RESERVED:
            return f"The name {tool!r} is that of a built-in tool, which it would shadow."
        alike = self._looks.get(skeleton(tool))
        if alike is None:
            return ""
        if alike == tool:
            return "The server lists two tools with this name; the first is kept."
        return f"The name {tool!r} looks like {alike!r}, which the server lists earlier."
