"""``rheostat train --agent ours``: an order that fits any machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rheostat.core.jobs import JobTable
    from rheostat.core.machine import Machine
    from rheostat.questions.listener import Stages
    from rheostat.simulation.learned_priority.priority import LearnedPriority

SITES, SITE_JOBS, GENERATIONS = 2, 2000, 20
STRETCH, MOST = 10_000, 4


def train_ours(
    jobs: JobTable,
    place: Machine,
    *,
    trace: str,
    out: Path,
    objective: str = "",
    generations: int | None = None,
    test_fraction: float = 0.2,
    seed: int = 0,
    json: bool = False,
    html: Path | None = None,
    figure: Path | None = None,
) -> None:
    """Learn from the jobs that are not held out; compare on the others; show."""
    from rheostat.cli.progress import stages, watched
    from rheostat.training.priority.evolve import train_rank
    from rheostat.training.priority.generated_sites import generated_site
    from rheostat.training.priority.training_cases import cases

    given = cases(jobs, place, name=trace, length=STRETCH, most=MOST, until=1.0 - test_fraction)
    for number in range(SITES):
        log, size = generated_site(number, SITE_JOBS)
        given += cases(log, size, name=f"site {number}", length=SITE_JOBS, most=1)
    with watched("generation") as progress:
        ranker = train_rank(
            given, objective=_weights(objective), generations=generations or GENERATIONS,
            seed=seed, out=out, progress=progress,
        )  # fmt: skip
    with stages() as judging:
        held = _judged(jobs, place, ranker, test_fraction, judging)
    facts = {
        "trace": trace, "agent": "ours", "objective": objective or "slowdown", "seed": seed,
        "parameters": len(ranker.weights), "cases": [c.name for c in given],
        "history": [{"generation": k + 1, "best_loss": min(row), "mean_loss": sum(row) / len(row)}
                    for k, row in enumerate(ranker.trained["losses"])],
        "held_out": held,
    }  # fmt: skip
    _show(facts, json=json, html=html, figure=figure)


def _weights(objective: str) -> dict[str, float] | None:
    from rheostat.errors import DataError
    from rheostat.questions.parse import parse_names, parse_value

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
    import numpy as np

    from rheostat.simulation.comparison.sweep import later
    from rheostat.simulation.policies.learned_policy import LearnedPolicy
    from rheostat.simulation.policies.overdue import under
    from rheostat.simulation.policies.policy import as_policy
    from rheostat.simulation.schedule_metrics import bounded_slowdown
    from rheostat.simulation.simulate import simulate_run
    from rheostat.training.priority.training_cases import SIMPLE

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


def _show(facts: dict[str, Any], *, json: bool, html: Path | None, figure: Path | None) -> None:
    from rheostat.cli.output import put_json, put_report, write_files
    from rheostat.core.report import Chart, Grid, Report, Section

    names = ("policy", "jobs", "mean_bounded_slowdown", "mean_wait_s", "max_wait_s")
    grid = Grid(names, tuple(tuple(row[n] for n in names) for row in facts["held_out"]))
    history = facts["history"]
    last = history[-1]
    sentences = (
        f"{len(history)} generations on {len(facts['cases'])} cases: mean log ratio to "
        f"the best simple order {last['mean_loss']:.3f}, best of the last {last['best_loss']:.3f}.",
    )
    generations = [row["generation"] for row in history]
    curves = tuple(
        {"name": word, "x": generations, "y": [h[f"{word}_loss"] for h in history]}
        for word in ("mean", "best")
    )
    curve = Chart("line", curves, ("generation", "log ratio to the best simple order"))
    held_out = Section("held out", sentences, grid)
    sections = [Section("learning", sentences, None, curve), Section("held out", (), grid)]
    write_files(
        Report(f"An order learned from {Path(facts['trace']).name}", sections), html, figure
    )
    if json:
        put_json("rheostat.train/1", facts)
        return
    put_report(Report("", [held_out]), grid)
