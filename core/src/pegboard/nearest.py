"""Find what somebody probably meant."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


CLOSE = 0.6
SIMILAR = 0.1
"""How much worse than the best a further guess may be."""


def nearest(word: str, choices: Iterable[str], limit: int = 1) -> list[str]:
    """The choices that look most like `word`, best first; none when nothing comes close."""
    from rapidfuzz import fuzz, utils  # 46 ms, and only a mistake needs it
    from rapidfuzz.distance import JaroWinkler

    def alike(choice: str) -> float:
        """Letters in common, or a common beginning: `limt` and `lines` should both find `limit`."""
        a, b = utils.default_process(word), utils.default_process(choice)
        return max(fuzz.WRatio(a, b) / 100, JaroWinkler.similarity(a, b))

    scored = sorted(
        ((alike(choice), choice) for choice in dict.fromkeys(choices)), key=lambda pair: (-pair[0], pair[1])
    )
    best = scored[0][0] if scored else 0.0
    return [choice for score, choice in scored[:limit] if score >= max(CLOSE, best - SIMILAR)]


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """` Did you mean 'limit'?` with a leading space, or nothing."""
    close = nearest(word, choices)
    return f" Did you mean {close[0]!r}?" if close else ""
