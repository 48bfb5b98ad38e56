"""`train` with agent "ours": an order that fits any machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.core.report import Chart, Grid, Report, Section
from rheostat.errors import DataError
from rheostat.explanation.terminal.progress import Stages
from rheostat.questions import listener
from rheostat.questions.answer import Answer
from rheostat.questions.parse import parse_names, parse_value
from rheostat.simulation.comparison.sweep import later
from rheostat.simulation.learned_priority.priority import LearnedPriority
from rheostat.simulation.policies.learned_policy import LearnedPolicy
from rheostat.simulation.policies.overdue import under
from rheostat.simulation.policies.policy import as_policy
from rheostat.simulation.schedule_metrics import bounded_slowdown
from rheostat.simulation.simulate import simulate_run
from rheostat.training.priority.evolve import train_rank
from rheostat.training.priority.generated_sites import generated_site
from rheostat.training.priority.training_cases import SIMPLE, cases

SITES, SITE_JOBS, GENERATIONS = 2, 2000, 20
STRETCH, MOST = 10_000, 4
HEADS = ("policy", "jobs", "mean_bounded_slowdown", "mean_wait_s", "max_wait_s")


@dataclass(frozen=True, kw_only=True, repr=False)
class PriorityAnswer(Answer):
    """An order of the queue that was learned, beside simple ones on jobs held out.

    Parameters
    ----------
    ranker : LearnedPriority
        The order.
    training : mapping
        The document: ``cases``, ``history`` and ``held_out``.
    """

    schema: ClassVar[str] = "rheostat.train/1"
    ranker: LearnedPriority
    training: Mapping[str, Any]

    def report(self) -> Report:
        """How it learned, and a row a policy."""
        return Report("", [Section("held out", self._sentences(), self.grids()[0])])

    def page_report(self) -> Report:
        """The same with a curve."""
        history = self.training["history"]
        generations = [row["generation"] for row in history]
        curves = tuple(
            {"name": word, "x": generations, "y": [h[f"{word}_loss"] for h in history]}
            for word in ("mean", "best")
        )
        curve = Chart("line", curves, ("generation", "log ratio to the best simple order"))
        sections = [Section("learning", self._sentences(), None, curve),
                    Section("held out", (), self.grids()[0])]  # fmt: skip
        return Report(f"An order learned from {Path(self.training['trace']).name}", sections)

    def facts(self) -> Mapping[str, Any]:
        """The training."""
        return self.training

    def grids(self) -> tuple[Grid, ...]:
        """A row a policy."""
        rows = tuple(tuple(row[n] for n in HEADS) for row in self.training["held_out"])
        return (Grid(HEADS, rows),)

    def _sentences(self) -> tuple[str, ...]:
        history, last = self.training["history"], self.training["history"][-1]
        return (
            f"{len(history)} generations on {len(self.training['cases'])} cases: mean log ratio to "
            f"the best simple order {last['mean_loss']:.3f}, best of the last "
            f"{last['best_loss']:.3f}.",
        )


def train_priority(
    jobs: JobTable,
    place: Machine,
    *,
    trace: str,
    out: Path,
    objective: str = "",
    generations: int | None = None,
    test_fraction: float = 0.2,
    seed: int = 0,
) -> PriorityAnswer:
    """Learn from the jobs that are not held out; compare on the others."""
    given = cases(jobs, place, name=trace, length=STRETCH, most=MOST, until=1.0 - test_fraction)
    for number in range(SITES):
        log, size = generated_site(number, SITE_JOBS)
        given += cases(log, size, name=f"site {number}", length=SITE_JOBS, most=1)
    with listener.rounds("generation") as progress:
        ranker = train_rank(
            given, objective=_weights(objective), generations=generations or GENERATIONS,
            seed=seed, out=out, progress=progress,
        )  # fmt: skip
    with listener.stages() as judging:
        held = _judged(jobs, place, ranker, test_fraction, judging)
    training = {
        "trace": trace, "agent": "ours", "objective": objective or "slowdown", "seed": seed,
        "parameters": len(ranker.weights), "cases": [c.name for c in given],
        "history": [{"generation": k + 1, "best_loss": min(row), "mean_loss": sum(row) / len(row)}
                    for k, row in enumerate(ranker.trained["losses"])],
        "held_out": held,
    }  # fmt: skip
    return PriorityAnswer(ranker=ranker, training=training)


def _weights(objective: str) -> dict[str, float] | None:
    if not objective:
        return None
    weights = {}
    for part in parse_names(objective):
        name, equals, value = part.partition("=")
        number = parse_value(value) if equals else 1.0
        if not isinstance(number, int | float):
            raise DataError("--objective", [f"expected NAME or NAME=WEIGHT, got {part!r}"])
        weights[name.strip()] = float(number)
    return weights


def _judged(
    jobs: JobTable, place: Machine, ranker: LearnedPriority, share: float, progress: Stages
) -> list[dict[str, Any]]:
    """Mean bounded slowdown and longest wait on the last jobs, of this order and simple ones."""
    if share <= 0:
        return []
    rest = later(jobs, 1.0 - share)
    rows = []
    policies: list[LearnedPolicy | str] = [LearnedPolicy(ranker, "ours"), *SIMPLE]
    for done, policy in enumerate(policies):
        progress(f"judging on {len(rest):,} jobs held out, under each policy", done, len(policies))
        run = simulate_run(rest, under(as_policy(policy), "extend"), place)
        wait = run.jobs.numpy("wait_s")
        slow = bounded_slowdown(wait, run.jobs.numpy("runtime_s"))
        row = {"policy": run.policy.name, "jobs": len(wait)}
        row |= {"mean_bounded_slowdown": float(np.mean(slow))}
        rows.append(row | {"mean_wait_s": float(wait.mean()), "max_wait_s": float(wait.max())})
    return rows
