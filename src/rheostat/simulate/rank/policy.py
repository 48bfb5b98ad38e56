"""A learned order as a policy: a file of a few kB that runs any trace on any machine."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.decide.queue.orders import order
from rheostat.decide.queue.policy import Policy
from rheostat.errors import DataError
from rheostat.simulate.rank.features import NAMES
from rheostat.simulate.rank.net import length
from rheostat.simulate.run import Run, account_of, run_table
from rheostat.simulate.schedule import Plan, users
from rheostat.simulate.workload import Workload, workload

KIND = "rheostat.rank/1"
LIMIT = 1.0


@dataclass(frozen=True)
class Ranker:
    """Weights of `rheostat.simulate.rank.net`, and the guard's limit; ``math.inf`` is no guard.

    With ``history`` False it plans as if no job had ended, an ablation.  ``trained``: on what, how.
    """

    weights: tuple[float, ...]
    limit: float = LIMIT
    history: bool = True
    trained: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sizes = [length(h) for h in range(65)]
        problems = []
        if len(self.weights) not in sizes:
            problems.append(
                f"weights: expected {sizes[0]}, {sizes[1]}, ..., got {len(self.weights)}"
            )
        if not np.isfinite(self.weights).all():
            problems.append("weights: expected finite numbers")
        if not self.limit > 0:
            problems.append(f"limit: expected a number above 0, got {self.limit!r}")
        if problems:
            raise DataError("learned order", problems)

    def starts(
        self, load: Workload, user: np.ndarray, size: int, *, clairvoyant: bool = False,
        batch: bool = False,
    ) -> tuple[np.ndarray, int]:  # fmt: skip
        """(start of each job, s, (n,); scheduling passes), from an empty machine under EASY.

        ``clairvoyant`` plans waiting jobs with true run times, as CQSim does; the order never does.
        """
        from rheostat.simulate.rank.features import table
        from rheostat.simulate.rank.net import network
        from rheostat.simulate.rank.play import play

        known = table(load.submit_s, load.run_s, load.procs, load.ask_s, user)
        planned = load.run_s if clairvoyant else load.ask_s
        jobs = (load.submit_s, load.run_s, load.procs, planned, load.ask_s)
        how = (size, True, self.limit, batch, self.history)
        start, passes, _, _ = play(known, jobs, network(), np.array(self.weights), how)
        return start, int(passes)

    def save(self, path: Path) -> None:
        """Write the file: the old one or the new, never half."""
        facts = {"kind": KIND, "features": list(NAMES), **asdict(self)}
        facts["limit"] = None if np.isinf(self.limit) else self.limit
        part = path.with_name(path.name + ".part")
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        os.replace(part, path)

    @classmethod
    def load(cls, path: Path | str) -> Ranker:
        """A file written by `save`."""
        file = Path(path)
        try:
            facts = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DataError(str(path), [f"expected a learned order: {error}"]) from error
        if not isinstance(facts, dict) or facts.get("kind") != KIND:
            raise DataError(str(path), [f"expected a file of kind {KIND}"])
        if facts["features"] != list(NAMES):
            raise DataError(str(path), ["it was trained on other features: train it anew"])
        limit = np.inf if facts["limit"] is None else facts["limit"]
        return cls(tuple(facts["weights"]), limit, facts["history"], facts["trained"])


def together(rankers: Sequence[Ranker]) -> Ranker:
    """The order that several trainings agree on: the mean of their weights, each of length one.

    Only of weighted sums: hidden units of two trainings are not the same units.
    """
    if not rankers or any(len(r.weights) != length(0) for r in rankers):
        raise DataError("learned orders", ["expected some without hidden units"])
    weights = np.array([r.weights for r in rankers])
    lengths = np.linalg.norm(weights, axis=1, keepdims=True)
    return replace(rankers[0], weights=tuple(map(float, (weights / lengths).mean(axis=0))))


def saved_here(path: Path) -> bool:
    """Is this the file of a learned order, rather than of a network that plays?"""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(1) == b"{"


def simulate_saved(
    jobs: JobTable, spec: str, machine: Machine | int, *, estimates: str = "user", seed: int = 0
) -> Run:
    """The policy ``agent:FILE`` of a learned order; called agent: and its stem, draws nothing."""
    if estimates != "user":
        told = f"a learned order plans with requested run times: expected user, got {estimates!r}"
        raise DataError(spec, [told])
    path = Path(spec.removeprefix("agent:"))
    return simulate_ranked(jobs, Ranker.load(path), machine, name=f"agent:{path.stem}")


def simulate_ranked(
    jobs: JobTable,
    ranker: Ranker,
    machine: Machine | int,
    *,
    name: str = "learned",
    semantics: str = "textbook",
    ties: str = "event",
) -> Run:
    """``jobs`` in a learned order under EASY, on an empty machine of any size, like any policy."""
    place = machine if isinstance(machine, Machine) else Machine(machine)
    if not place.plain:
        raise DataError(name, ["a learned order runs a plain machine: expected processors alone"])
    rule = Policy(order("fcfs"), "easy", semantics, ties, name)
    load = workload(jobs, place)
    begin = time.process_time()
    start, passes = ranker.starts(
        load, users(jobs, load), place.procs,
        clairvoyant=semantics == "cqsim", batch=ties == "batch",
    )  # fmt: skip
    spent = time.process_time() - begin
    seen = semantics == "cqsim" or load.unasked > 0
    plan = Plan(start, load.ask_s, passes, spent, seen)
    told = run_table(jobs, load, plan)
    return Run(told, rule, place, passes, spent, seen, account_of(place, told))
