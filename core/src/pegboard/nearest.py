"""Find what somebody probably meant."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def nearest(word: str, choices: Iterable[str], limit: int = 1) -> list[str]:
    """The choices that look most like `word`, best first; none when nothing comes close."""
    from rapidfuzz import fuzz, process, utils  # 46 ms, and only a mistake needs it

    found = process.extract(
        word, list(choices), scorer=fuzz.WRatio, processor=utils.default_process, limit=limit, score_cutoff=60
    )
    return [choice for choice, _, _ in found]


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """` Did you mean 'limit'?` with a leading space, or nothing."""
    close = nearest(word, choices)
    return f" Did you mean {close[0]!r}?" if close else ""
