"""Path rules as a tree of names: matching a path walks it once, however many rules there are."""

from __future__ import annotations

from pegboard_rules.grammar import Rule
from pegboard_rules.patterns import Test, literal, name_test
from pegboard_rules.volumes import Volume

DEEP = "**"
MANY = 8


class PathNode:
    """A node of the tree. The lists hold the rules that match a path here."""

    __slots__ = (
        *("below", "by_ending", "by_first", "covers", "deep", "exact"),
        *("globs", "itself", "literal", "loops", "others"),
    )

    def __init__(self, *, loops: bool = False) -> None:
        self.literal: dict[str, PathNode] = {}
        self.globs: dict[str, PathNode] = {}
        self.by_ending: dict[str, list[tuple[Test, PathNode]]] = {}
        self.by_first: dict[str, list[tuple[Test, PathNode]]] = {}
        self.others: list[tuple[Test, PathNode]] = []
        self.deep: PathNode | None = None
        self.loops = loops
        self.covers: list[Rule] = []
        """Rules that end here and cover everything below as well."""
        self.exact: list[Rule] = []
        """Rules that end here and cover this depth only."""
        self.below: list[Rule] = []
        """Rules that cover everything below."""
        self.itself: list[Rule] = []
        """Rules on what is below that guard the folder as well."""

    def child(self, name: str) -> PathNode:
        """The node behind a name or pattern, made if need be."""
        if name == DEEP:
            self.deep = self.deep or PathNode(loops=True)
            return self.deep
        text = literal(name)
        if text is None:
            return self._glob(name)
        found = self.literal.get(text)
        if found is None:
            found = self.literal[text] = PathNode()
        return found

    def _glob(self, pattern: str) -> PathNode:
        if pattern not in self.globs:
            self.globs[pattern] = PathNode()
            self._hang(pattern, self.globs[pattern])
        return self.globs[pattern]

    def _hang(self, pattern: str, node: PathNode) -> None:
        """Sort a pattern by what it tells about a name, so that most names never meet most patterns."""
        pair = (name_test(pattern), node)
        tail = pattern[pattern.rfind("*") + 1 :]
        if "*" in pattern and "." in tail and literal(tail) == tail:
            self.by_ending.setdefault(tail[tail.rfind(".") :], []).append(pair)
        elif pattern[0] not in "*?[\\":
            self.by_first.setdefault(pattern[0], []).append(pair)
        else:
            self.others.append(pair)


class PathIndex:
    """A set of path rules, asked with the names of a path."""

    __slots__ = ("empty", "root", "volume")

    def __init__(self, volume: Volume) -> None:
        self.root, self.volume, self.empty = PathNode(), volume, True

    def add(self, rule: Rule, names: list[str], *, guards: bool) -> None:
        """Add a rule. Deny and ask rules guard more: folders themselves, and all below a wildcard."""
        self.empty = False
        node = self.root
        ends_deep = names[-1:] == [DEEP]
        for name in names[:-1] if ends_deep else names:
            node = node.child(self.volume.fold(name) if guards and name != DEEP else name)
        if ends_deep:
            node.below.append(rule)
            if guards:
                node.itself.append(rule)
        elif guards or not names or literal(names[-1]) is not None:
            node.covers.append(rule)
        else:
            node.exact.append(rule)

    def find(self, names: list[str], found: list[Rule]) -> None:
        """Add every rule that covers this path."""
        root = self.root
        active = [root] if root.deep is None else [root, root.deep]
        found += root.covers
        left = len(names)
        for name in names:
            left -= 1
            following: list[PathNode] = []
            for node in active:
                if node.below:
                    found += node.below
                if node.loops:
                    following.append(node)
                child = node.literal.get(name)
                if child is not None:
                    _enter(child, left, following, found)
                if node.globs or node.others:
                    _enter_globs(node, name, left, following, found)
            if not following:
                return
            # `**` reaches one node in many ways; without this check their number doubles with each `**`.
            active = following if len(following) < MANY else list(dict.fromkeys(following))
        for node in active:
            if node.itself:
                found += node.itself


def _enter(node: PathNode, left: int, following: list[PathNode], found: list[Rule]) -> None:
    following.append(node)
    if node.deep is not None:
        following.append(node.deep)
    if node.covers:
        found += node.covers
    if node.exact and not left:
        found += node.exact


def _enter_globs(node: PathNode, name: str, left: int, following: list[PathNode], found: list[Rule]) -> None:
    dot = name.rfind(".")
    if dot >= 0 and node.by_ending:
        for test, child in node.by_ending.get(name[dot:], ()):
            if test(name):
                _enter(child, left, following, found)
    if node.by_first:
        for test, child in node.by_first.get(name[0], ()):
            if test(name):
                _enter(child, left, following, found)
    for test, child in node.others:
        if test(name):
            _enter(child, left, following, found)


def start_of(rule: Rule, cwd: str, home: str) -> tuple[str | None, list[str]]:
    """Where a path rule starts (None: the working directory of the call) and its names from there."""
    text = rule.specifier or ""
    cwd = rule.began or cwd
    base: str | None = rule.began or None
    bare = False
    if text.startswith("//"):
        base, text = "/", text[2:]
    elif text == "~" or text.startswith("~/"):
        base, text = home, text[2:]
    elif text.startswith("/"):
        base, text = rule.anchor, text[1:]
    else:
        bare = not text.startswith("./") and text not in (".", "..")
    names = [name for name in text.split("/") if name and name != "."]
    if text.endswith("/") and names and names[-1] != DEEP:
        names.append(DEEP)
    if ".." in names:
        base, names = _upwards(base or cwd, names)
    elif bare and names:
        one_folder = len(names) == 2 and names[1] == DEEP and names[0] != DEEP
        if len(names) == 1 or (one_folder and rule.kind != "allow"):
            names.insert(0, DEEP)
    return base, [name for at, name in enumerate(names) if name != DEEP or names[at - 1 : at] != [DEEP]]


def _upwards(base: str, names: list[str]) -> tuple[str, list[str]]:
    whole = [name for name in base.split("/") if name]
    for name in names:
        if name == "..":
            del whole[-1:]
        else:
            whole.append(name)
    return "/", whole


def names_of(path: str) -> list[str]:
    """The names of an absolute path; the root has none."""
    return path.split("/")[1:] if len(path) > 1 else []
