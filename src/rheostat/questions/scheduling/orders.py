"""`orders`: what the orders of the queue mean that `simulate` knows by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rheostat.core.report import Grid, Report, Section
from rheostat.decision.policies.priority_functions import PRIORITY_FUNCTIONS
from rheostat.questions.answer import Answer


@dataclass(frozen=True, kw_only=True, repr=False)
class OrdersAnswer(Answer):
    """The orders of the queue that have names."""

    schema: ClassVar[str] = "rheostat.orders/1"

    def report(self) -> Report:
        """A row per order."""
        return Report("", (Section("orders", (), self.grids()[0]),))

    def facts(self) -> dict[str, Any]:
        """What each order means."""
        return {"orders": {o.name: o.meaning for o in PRIORITY_FUNCTIONS.values()}}

    def grids(self) -> tuple[Grid, ...]:
        """A row per order."""
        rows = tuple((o.name, o.meaning) for o in PRIORITY_FUNCTIONS.values())
        return (Grid(("order", "meaning"), rows),)


def orders() -> OrdersAnswer:
    """What the orders of the queue mean that `simulate` knows by name.

    Returns
    -------
    OrdersAnswer
        A row per order.
    """
    return OrdersAnswer()
