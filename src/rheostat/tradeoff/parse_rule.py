"""`parse_rule`: a rule or a limit from what people type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from rheostat.core.units import parse_quantity
from rheostat.errors import DataError
from rheostat.tradeoff.limits import Deadline, EnergyBudget, Limit, MaxSlowdown, NodeHours, PowerCap
from rheostat.tradeoff.rules import Knee, Weighted

NAMES = {
    "knee": "knee",
    "deadline": "deadline=2h",
    "power": "power=15kW",
    "energy": "energy=2MJ",
    "node-hours": "node-hours=40",
    "memory": "memory=15GB",
    "slowdown": "slowdown=1.2",
    "weighted": "weighted=runtime_s:1,energy_j:1",
}
Choice = Knee | Limit | MaxSlowdown | Weighted


def parse_rule(
    text: str, against: Mapping[str, Any] | Literal["requested"] | None = None
) -> Choice:
    """A rule from what people type: ``knee``, ``deadline=2h``, ``memory=15GB``, ``slowdown=1.2``.

    A limit may end in ``@0.9``, its confidence.  ``against`` is the setting a slowdown refers to.

    >>> [str(parse_rule(t)) for t in ("knee", "deadline=2h@0.9", "node-hours=40")]
    ['knee of the front', 'runtime at most 2h 0m 0s with 90 % confidence', 'node-hours at most 40']
    >>> parse_rule("weighted=runtime_s:2,energy_j:1").weights
    {'runtime_s': 2.0, 'energy_j': 1.0}
    >>> parse_rule("fast")
    Traceback (most recent call last):
    ...
    rheostat.errors.DataError: rule: expected one of knee, deadline=2h, ... got 'fast'
    """
    name, _, value = text.strip().partition("=")
    value, _, confidence = value.partition("@")
    limits = {
        "deadline": Deadline,
        "power": PowerCap,
        "energy": EnergyBudget,
        "node-hours": NodeHours,
    }
    wrong = DataError("rule", [f"expected one of {', '.join(NAMES.values())}; got {text!r}"])
    try:
        sure = float(confidence or 0.5)
        if name == "knee" and not value:
            return Knee()
        if name in limits and value:
            return limits[name](value, sure)
        if name == "memory" and value:
            return Limit("memory_peak_b", parse_quantity(value, "B"), "B", sure)
        if name == "slowdown" and value:
            return MaxSlowdown(float(value), against, sure)
        if name == "weighted" and value:
            pairs = (part.partition(":") for part in value.split(","))
            return Weighted({k.strip(): float(w or 1) for k, _, w in pairs})
    except ValueError as error:
        raise wrong from error
    raise wrong
