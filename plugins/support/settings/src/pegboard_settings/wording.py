"""Words that several messages share: values at a glance, lists, and what was probably meant."""

from __future__ import annotations

# Imports happen inside functions: a listing with a warm index must not load what it does not use.

__all__ = ["counted", "did_you_mean", "listed", "nearest", "on_one_line", "shown"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


CLOSE = 0.75
LOOSE = 0.6
"""Enough for the arguments of a tool, of which there are few: `lines` finds `limit`."""
SIMILAR = 0.1
"""How much worse than the best a further guess may be."""


def shown(value: object) -> str:
    """A value as it was written, cut to a glance."""
    import json

    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def listed(words: Iterable[str]) -> str:
    """Words as a list in a sentence: `a, b and c`."""
    *first, last = [*words] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def nearest(word: str, choices: Iterable[str], limit: int = 1, close: float = CLOSE) -> list[str]:
    """The choices that look most like `word`, best first; none when nothing comes close."""
    from rapidfuzz import fuzz, utils  # 46 ms, and only a mistake needs it
    from rapidfuzz.distance import JaroWinkler

    def alike(choice: str) -> float:
        """Letters in common, or a common beginning: `limt` finds `limit`, and `file` finds `file_path`."""
        a, b = utils.default_process(word), utils.default_process(choice)
        return max(fuzz.WRatio(a, b) / 100, JaroWinkler.similarity(a, b))

    scored = sorted(
        ((alike(choice), choice) for choice in dict.fromkeys(choices)), key=lambda pair: (-pair[0], pair[1])
    )
    best = scored[0][0] if scored else 0.0
    return [choice for score, choice in scored[:limit] if score >= max(close, best - SIMILAR)]


def did_you_mean(word: str, choices: Iterable[str], close: float = CLOSE) -> str:
    """` Did you mean 'limit'?` with a leading space, or nothing."""
    found = nearest(word, choices, close=close)
    return f" Did you mean {found[0]!r}?" if found else ""


def slip(word: str, choices: Iterable[str]) -> str | None:
    """The choice that a slip of one or two keys makes into `word`: closer than what is merely worth a hint."""
    from rapidfuzz.distance import OSA

    most = min(2, max(1, len(word) // 4))
    return min((choice for choice in choices if OSA.distance(word, choice, score_cutoff=most) <= most), default=None)


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 line`, `2 lines`, `3 entries`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def on_one_line(name: str) -> str:
    """A name of a file or folder, which may contain anything, so that it cannot pass for more lines of a text."""
    return name if name.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)
