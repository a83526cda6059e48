"""For tool authors: run a tool through the real pipeline in a test, and hold it to what every tool promises.

The fixtures come with the pytest plugin. `assert_contract(tool)` checks one tool in a test of your own;
`pytest --pegboard-contract` checks all of a plugin.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from pegboard_testing.contract import Broken as Broken
    from pegboard_testing.contract import assert_contract as assert_contract
    from pegboard_testing.contract import broken_promises as broken_promises

__all__ = ["Broken", "assert_contract", "broken_promises"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"pegboard_testing has no {name!r}")
    # On first use, because this package is imported by every pytest run where the core is installed.
    from pegboard_testing import contract

    return getattr(contract, name)
