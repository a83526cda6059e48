"""What a session uses, what that costs, and when its budget is reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from pegboard import ProviderError, Settings
from pegboard_session.model_table import ModelTable
from pegboard_session.prices import KINDS, Price
from pegboard_session.usage import SessionUsage


@dataclass(frozen=True, slots=True)
class Budget:
    """What a session may use, including its agents; None for no limit."""

    tokens: int | None = None
    cost: Decimal | None = None

    @classmethod
    def of(cls, settings: Settings, group: str = "") -> Budget:
        """The budget that settings give: to the person's session, or with `agents.` to each agent."""
        cost = settings.get(f"{group}costBudget", None)
        return cls(settings.get(f"{group}tokenBudget", None), None if cost is None else Decimal(str(cost)))


class Account:
    """The usage of one session against its budget. Parent sessions count it too."""

    def __init__(self, models: ModelTable, usage: SessionUsage, budget: Budget, above: Account | None = None) -> None:
        self.usage, self._models, self._budget, self._above = usage, models, budget, above

    def price(self, model: str) -> Price | None:
        """What a model costs. Raises `ProviderError` where that is not known and a budget depends on it."""
        price = self._models.profile(model).price
        if price is None and self._keeps_costs:
            raise ProviderError(no_price(model), kind="price")
        return price

    @property
    def _keeps_costs(self) -> bool:
        return self._budget.cost is not None or (self._above is not None and self._above._keeps_costs)

    def count(self, model: str, usage: Mapping[str, int]) -> None:
        """Count an answer of a model."""
        self.usage.add(usage, self.price(model))

    @property
    def spent(self) -> str:
        """The name of the limit that is reached, or empty."""
        budget, usage = self._budget, self.usage
        if budget.tokens is not None and usage.total_tokens >= budget.tokens:
            return "token_budget"
        return "cost_budget" if budget.cost is not None and usage.cost >= budget.cost else ""


def no_price(model: str) -> str:
    """The error for a cost budget that cannot be enforced because the price is unknown."""
    fields = ", ".join(f'"{name}": …' for name in KINDS)
    return (
        f"A cost budget is set, but the model {model!r} has no price. "
        f'Set "prices": {{"{model}": {{{fields}}}}}, each per million tokens, or remove the budget.'
    )
