"""``rheostat train``: an agent learns to schedule from a trace."""

from __future__ import annotations

from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o
from rheostat.cli.simulate import MachineSize, Trace

if TYPE_CHECKING:
    from rheostat.core.jobs import JobTable
    from rheostat.simulate.learn.setup import Setup


def train(
    trace: Trace,
    out: Annotated[
        Path, typer.Option(help="The agent, written after each jobset; the same call continues.")
    ],
    agent: Annotated[str, typer.Option(help="dras-pg or dras-dql.")] = "dras-pg",
    reward: Annotated[
        str,
        typer.Option(help="dras_capability, dras_capacity, wait, slowdown or utilisation."),
    ] = "dras_capability",
    jobsets: Annotated[
        int | None, typer.Option(min=1, help="Learn from the first so many.  [default: all]")
    ] = None,
    phases: Annotated[
        str,
        typer.Option(
            help="Weeks drawn from the trace, weeks of it, and synthetic ones like it, as 9,9,82 "
            "(DRAS); else the weeks of the trace alone."
        ),
    ] = "",
    faithful: Annotated[
        bool,
        typer.Option(
            "--faithful/--scaled", help="The settings of DRAS, or a small network on scaled inputs."
        ),
    ] = True,
    hidden: Annotated[
        str, typer.Option(help="Widths of both layers, as 4000,1000; else those of the settings.")
    ] = "",
    window: Annotated[int, typer.Option(min=1, help="Waiting jobs the agent sees.")] = 50,
    machine: MachineSize = "",
    estimates: Annotated[
        str,
        typer.Option(help="What planning believes of run times: user, or perfect (clairvoyant)."),
    ] = "user",
    seed: o.Seed = 0,
    form: o.Form = "",
    json: o.Json = False,
) -> None:
    """Train a scheduling agent on weeks of TRACE, each played from an empty machine.

    What is interrupted, by whatever means, loses the jobset it was in: the same call goes on from
    --out, to the same bytes.  With more --jobsets it learns on.  The faithful network is large, and
    has an input per processor of the machine; --scaled takes a small one.
    """
    from rheostat.measure.reading import read

    setup = _setup(agent, reward, hidden, window, faithful=faithful)
    jobs = read(trace, form or None)
    games = _games(jobs, machine, phases, estimates, seed)[:jobsets]
    learned = _train(games, setup, seed, out)
    _show(learned, str(trace), agent, estimates, json=json)


def _setup(agent: str, reward: str, hidden: str, window: int, *, faithful: bool) -> Setup:
    from rheostat.errors import DataError
    from rheostat.recipes.dras import dras

    changed: dict[str, Any] = {"reward": reward, "window": window}
    if hidden:
        widths = o.names(hidden)
        if len(widths) != 2 or not all(w.isdigit() for w in widths):
            raise DataError("--hidden", [f"expected two widths as 4000,1000, got {hidden!r}"])
        changed["hidden"] = tuple(int(w) for w in widths)
    return dras(agent, faithful=faithful, **changed)


def _games(jobs: JobTable, machine: str, phases: str, estimates: str, seed: int) -> list[Any]:
    from rheostat.cli.output import tell_notes
    from rheostat.errors import DataError
    from rheostat.simulate.header import machine_of
    from rheostat.simulate.learn.jobsets import three_phases, weeks
    from rheostat.simulate.workload import workload

    if estimates not in ("user", "perfect"):
        raise DataError("--estimates", [f"expected user or perfect, got {estimates!r}"])
    counts = o.names(phases)
    if phases and not (len(counts) == 3 and all(c.isdigit() for c in counts)):
        raise DataError("--phases", [f"expected three counts as 9,9,82, got {phases!r}"])
    place = machine_of(jobs, machine)
    tell_notes(workload(jobs, place).notes)
    if not phases:
        return weeks(jobs, place, estimates=estimates)
    drawn, real, made = map(int, counts)
    return three_phases(jobs, place, (drawn, real, made), seed=seed, estimates=estimates)


def _train(games: list[Any], setup: Setup, seed: int, out: Path) -> Any:
    from rheostat.cli.output import tell
    from rheostat.simulate.learn.train import train as learn

    spent = [process_time()]

    def progress(done: int, total: int, facts: dict[str, Any]) -> None:
        spent.append(process_time())
        tell(
            f"jobset {done} of {total}: {facts['jobs']:,} jobs, mean reward "
            f"{facts['mean_reward']:.4g}, mean wait {facts['mean_wait_s']:,.0f} s, "
            f"{spent[-1] - spent[-2]:.1f} CPU-seconds"
        )

    return learn(games, setup, seed=seed, out=out, progress=progress)


def _show(learned: Any, trace: str, agent: str, estimates: str, *, json: bool) -> None:
    from dataclasses import asdict

    from rheostat.cli.output import put_json, put_report
    from rheostat.core.report import Grid, Report, Section

    if json:
        weights = sum(p.numel() for p in learned.network.parameters())
        facts = {"trace": trace, "agent": agent, "estimates": estimates, "nodes": learned.nodes}
        facts |= {"parameters": weights, "setup": asdict(learned.setup), "seed": learned.seed}
        put_json("rheostat.train/1", facts | {"jobsets": learned.history})
        return
    names = ("jobset", "jobs", "updates", "mean_reward", "mean_wait_s", "mean_bounded_slowdown")
    rows = tuple(tuple(facts[name] for name in names) for facts in learned.history)
    grid = Grid(names, rows)
    put_report(Report("", [Section("train", (), grid)]), grid)
