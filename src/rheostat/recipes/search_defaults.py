"""Which proposer for which space: the defaults of ``rheostat search``."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from rheostat.core.jobs import JobTable
from rheostat.core.space import Space
from rheostat.errors import DataError
from rheostat.tradeoff.propose import PROPOSERS
from rheostat.tradeoff.propose.law_guided import limitable

LAWS = frozenset({"runtime_s", "power_w", "energy_j"})


def proposer(
    method: str,
    space: Space,
    objectives: Sequence[str],
    *,
    limits: Sequence[Any] = (),
    prior: JobTable | None = None,
    budget: int | None = None,
    seed: int = 0,
) -> Any:
    """The proposer of this name; "auto" is the best one for the space and what is installed."""
    name = automatic(space, objectives, limits) if method == "auto" else method
    if name == "law":
        from rheostat.tradeoff.propose.law_guided import LawGuided

        return LawGuided(space, objectives, limits=limits, prior=prior, budget=budget, seed=seed)
    if name not in PROPOSERS:
        raise DataError(
            "--method", [f"expected auto, law or one of {', '.join(PROPOSERS)}; got {method!r}"]
        )
    return PROPOSERS[name](space, objectives, limits=limits, seed=seed)


def automatic(space: Space, objectives: Sequence[str], limits: Sequence[Any] = ()) -> str:
    """Laws where they apply, else expected hypervolume, else (without torch) Sobol points.

    >>> from rheostat.core.space import Knob
    >>> named = Space.of(Knob("compiler", ["gcc", "icx"]))
    >>> automatic(named, ("runtime_s", "energy_j")) in ("hypervolume", "sobol")
    True
    """
    if find_spec("botorch") is None:
        return "sobol"
    lists = space.finite and all(k.numeric for k in space.knobs)
    steered = {x.quantity for x in limits} <= set(limitable(space.names))
    if lists and steered and len(objectives) == 2 and set(objectives) <= LAWS:
        return "law"
    return {1: "improvement", 2: "hypervolume"}.get(len(objectives), "nehvi")


def others(jobs: JobTable, own: JobTable, space: Space) -> JobTable | None:
    """Rows of the same table that are of other applications; None where none can be told apart."""
    needed = {"app", "runtime_s", "power_w", *space.names}
    if not needed <= set(jobs.columns) or len(own) == len(jobs):
        return None
    apps = own.frame["app"].unique().implode()
    rest = jobs.rows((~jobs.frame["app"].is_in(apps)).to_numpy())
    return rest if len(rest) else None


def distinct(jobs: JobTable, space: Space) -> int:
    """How many settings of the knobs a table of runs holds."""
    jobs.require(*space.names)
    return int(jobs.frame.select(space.names).drop_nulls().n_unique())
