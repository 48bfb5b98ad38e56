"""Turn the knob, see the price: what does this setting cost, and which one should I take?

measure -> predict -> trade off -> decide -> explain, and simulate: time passes.  Names load when
first used, so importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_WHERE = {
    "Column": "core.jobs",
    "JobTable": "core.jobs",
    "Machine": "core.machine",
    "Moment": "core.jobs",
    "Series": "core.series",
    "Knob": "core.space",
    "Space": "core.space",
    "powers_of_two": "core.space",
    "Outcome": "core.outcome",
    "Front": "core.front",
    "Objective": "core.front",
    "table": "core.vocabulary",
    "read": "measurement.read",
    "Surrogate": "prediction.surrogate",
    "LawGP": "prediction.scaling_law",
    "front": "tradeoff.all_settings",
    "search": "tradeoff.search",
    "Knee": "tradeoff.rules",
    "Deadline": "tradeoff.rules",
    "PowerCap": "tradeoff.rules",
    "EnergyBudget": "tradeoff.rules",
    "NodeHours": "tradeoff.rules",
    "MaxSlowdown": "tradeoff.rules",
    "Weighted": "tradeoff.rules",
    "decide": "decision.decide",
    "explain": "explanation.narrate",
    "simulate": "simulation.simulate",
}

__all__ = ["__version__", *_WHERE]  # noqa: PLE0604

if TYPE_CHECKING:
    from rheostat.core.front import Front as Front
    from rheostat.core.front import Objective as Objective
    from rheostat.core.jobs import Column as Column
    from rheostat.core.jobs import JobTable as JobTable
    from rheostat.core.jobs import Moment as Moment
    from rheostat.core.machine import Machine as Machine
    from rheostat.core.outcome import Outcome as Outcome
    from rheostat.core.series import Series as Series
    from rheostat.core.space import Knob as Knob
    from rheostat.core.space import Space as Space
    from rheostat.core.space import powers_of_two as powers_of_two
    from rheostat.core.vocabulary import table as table


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"rheostat.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'rheostat' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
