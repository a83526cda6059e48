"""What a session uses: tokens by kind, money where prices are known, what each tool adds, and its budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any

from pegboard import ProviderError, Result, Settings
from pegboard.hosting import text_size
from pegboard_session.model_table import ModelTable
from pegboard_session.prices import KINDS, Price

COUNTED = frozenset({"input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"})
"""The kinds of tokens that add up to what a conversation costs; others are parts of these."""


@dataclass(slots=True)
class ToolUse:
    """How often a tool was called and how much it said, in tokens of about four characters."""

    calls: int = 0
    errors: int = 0
    result_tokens: int = 0


@dataclass(slots=True)
class SessionUsage:
    """The totals of all requests of a session."""

    requests: int = 0
    tokens: dict[str, int] = field(default_factory=dict)
    tools: dict[str, ToolUse] = field(default_factory=dict)
    cost: Decimal = Decimal(0)
    """What the requests with a known price have cost. Decimal, so that the sums of agents agree to the last digit."""
    priced: int = 0
    """How many requests had a known price."""
    parent: SessionUsage | None = field(default=None, repr=False, compare=False)
    """The usage of the session that started this one: whatever is counted here is counted there at the same moment."""
    on_add: Callable[[], None] | None = field(default=None, repr=False, compare=False)
    """Called after each answer, so that a budget can stop the session."""

    def add(self, usage: Mapping[str, int], price: Price | None = None) -> None:
        """Count one answer."""
        self._count(usage, price.cost(usage) if price else None)

    def _count(self, usage: Mapping[str, int], cost: Decimal | None) -> None:
        self.requests += 1
        for name, number in usage.items():
            self.tokens[name] = self.tokens.get(name, 0) + number
        if cost is not None:
            self.cost, self.priced = self.cost + cost, self.priced + 1
        if self.parent:
            self.parent._count(usage, cost)
        if self.on_add:
            self.on_add()

    def add_result(self, result: Result) -> None:
        """Count one result."""
        mine = self.tools.setdefault(result.name, ToolUse())
        mine.calls += 1
        mine.errors += result.is_error
        mine.result_tokens += -(-text_size(result.content) // 4)
        if self.parent:
            self.parent.add_result(result)

    @property
    def total_tokens(self) -> int:
        """All tokens that went in or came out, whatever their kind."""
        return sum(number for name, number in self.tokens.items() if name in COUNTED)

    def as_data(self) -> dict[str, Any]:
        """The totals as plain data; `cost` only where a price was known, with the requests that had none."""
        tools = {name: asdict(use) for name, use in sorted(self.tools.items())}
        costs: dict[str, Any] = {"cost": float(self.cost)} if self.priced else {}
        if self.priced and self.priced < self.requests:
            costs["unpriced_requests"] = self.requests - self.priced
        return {"requests": self.requests, **self.tokens, **costs, "tools": tools}

    def as_record(self) -> dict[str, Any]:
        """The totals for a transcript; `from_record` reads them."""
        tools = {name: asdict(use) for name, use in self.tools.items()}
        cost = str(self.cost)
        return {
            "requests": self.requests,
            "tokens": dict(self.tokens),
            "tools": tools,
            "cost": cost,
            "priced": self.priced,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> SessionUsage:
        """The totals of an earlier process. The parent session has already counted them."""
        tokens = {str(name): int(number) for name, number in record["tokens"].items()}
        tools = {str(name): ToolUse(**use) for name, use in record["tools"].items()}
        return cls(int(record["requests"]), tokens, tools, Decimal(record["cost"]), int(record["priced"]))

    def go_on_from(self, earlier: SessionUsage) -> None:
        """Begin with the totals of an earlier process."""
        self.requests, self.tokens, self.tools = earlier.requests, earlier.tokens, earlier.tools
        self.cost, self.priced = earlier.cost, earlier.priced


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
        self._prices: dict[str, Price | None] = {}

    def price(self, model: str) -> Price | None:
        """What a model costs. Raises `ProviderError` where that is not known and a budget depends on it."""
        if model not in self._prices:  # A refusal is not kept: it is raised each time.
            price = self._models.profile(model).price
            if price is None and self._keeps_costs:
                raise ProviderError(no_price(model), kind="price")
            self._prices[model] = price
        return self._prices[model]

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
