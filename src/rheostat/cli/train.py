"""``rheostat train``: an agent learns to schedule from a trace, for an objective."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import options as o
from rheostat.cli.batch_options import MachineSize, Trace

if TYPE_CHECKING:
    from rheostat.core.jobs import JobTable
    from rheostat.training.rl.curriculum import Curriculum, TrainingResult


def train(
    trace: Trace,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="The agent, written after each round; the same call continues."
        ),
    ],
    agent: Annotated[str, typer.Option(help="dras-pg, dras-dql, a2c, ppo or ours.")] = "dras-pg",
    objective: Annotated[
        str,
        typer.Option(
            help="wait, slowdown, utilisation, energy, cost or carbon; or weights of several, as "
            "slowdown=1,energy=0.2, in units of what FCFS with EASY makes; or dras_capability, "
            "dras_capacity.  [default: dras_capability for DRAS, else slowdown]"
        ),
    ] = "",
    jobsets: Annotated[
        int | None,
        typer.Option(
            min=1, max=10_000, help="DRAS: learn from the first so many weeks.  [default: all]"
        ),
    ] = None,
    updates: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=10**6,
            help="A2C, PPO: learn so many times.  [default: 100; ours: 24 generations]",
        ),
    ] = None,
    phases: Annotated[
        str,
        typer.Option(
            help="Weeks drawn from the trace, weeks of it, and synthetic ones like it, as 9,9,82 "
            "(DRAS); else those of the trace alone."
        ),
    ] = "",
    test_fraction: o.TestFraction = 0.2,
    faithful: Annotated[
        bool,
        typer.Option(
            "--faithful/--scaled",
            help="DRAS: as released, or a small network on scaled inputs without hindsight.",
        ),
    ] = True,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="SWITCH=VALUE",
            help="Any switch of the agent, as lr=0.001 or plans=requested.  Repeatable.",
        ),
    ] = None,
    search: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=10_000,
            help="First try so many settings by short trainings; journal: OUT.search.",
        ),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(min=1, max=1024, help="A2C, PPO: processes that play; the agent is the same."),
    ] = 1,
    machine: MachineSize = "",
    power_model: o.PowerModel = None,
    estimates: Annotated[
        str,
        typer.Option(help="What planning believes of run times: user, or perfect (clairvoyant)."),
    ] = "user",
    html: o.Html = None,
    figure: o.Figure = None,
    seed: o.Seed = 0,
    form: o.Form = "",
    json: o.Json = False,
) -> None:
    """Train a scheduling agent on TRACE for an objective; `simulate --policy agent:OUT` runs it.

    What is interrupted, by whatever means, loses the round it was in: the same call goes on from
    --out, to the same bytes.  With more --jobsets or --updates it learns on.  The last part of the
    trace is held out: the agent is compared on it with FCFS and EASY.
    """
    from dataclasses import replace

    from rheostat.cli.output import placed, tell_notes
    from rheostat.errors import DataError
    from rheostat.measurement.read import read
    from rheostat.questions.agents import AGENTS
    from rheostat.simulation.workload import workload
    from rheostat.training.rl.curriculum import Curriculum

    if agent not in (*AGENTS, "ours"):
        raise DataError("--agent", [f"expected {', '.join(AGENTS)} or ours, got {agent!r}"])
    jobs = _powered(read(trace, form or None), power_model)
    place = placed(jobs, machine)
    if agent == "ours":
        from rheostat.cli.learned_priority import train_ours

        output: dict[str, Any] = {"objective": objective, "generations": updates, "json": json}
        output |= {"html": html, "figure": figure}
        train_ours(
            jobs, place, trace=str(trace), out=out, test_fraction=test_fraction, seed=seed, **output
        )
        return
    course = Curriculum(
        jobs, place, agent, objective, _phases(phases), estimates, test_fraction,
        jobsets if agent.startswith("dras") else updates,
        faithful, workers, seed, _switches(set_),
    )  # fmt: skip
    tell_notes(workload(jobs, place).notes)
    if search is not None:
        course = replace(course, switches=course.switches | _searched(course, search, out))
    learned = _learn(course, out)
    facts = _facts(course, learned, str(trace))
    if course.unseen is not None:
        _draw(facts, html, figure)  # what follows may be cut off
    _show(facts | _judged(course, learned, str(trace)), json=json, html=html, figure=figure)


def _phases(text: str) -> Any:
    from rheostat.errors import DataError
    from rheostat.questions.parse import parse_names

    counts = parse_names(text)
    if text and not (len(counts) == 3 and all(c.isdigit() for c in counts)):
        raise DataError("--phases", [f"expected three counts as 9,9,82, got {text!r}"])
    return tuple(map(int, counts)) if text else None


def _switches(given: list[str] | None) -> dict[str, Any]:
    """Values of ``--set``: numbers, words, yes and no, or widths as 64,32."""
    from rheostat.errors import DataError
    from rheostat.questions.parse import parse_value

    words = {"true": True, "yes": True, "false": False, "no": False}
    made: dict[str, Any] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip().isidentifier():
            raise DataError("--set", [f"expected SWITCH=VALUE as lr=0.001, got {text!r}"])
        parts = [words.get(v.strip().lower(), parse_value(v)) for v in value.split(",")]
        made[name.strip()] = tuple(parts) if len(parts) > 1 else parts[0]
    return made


def _powered(jobs: JobTable, model: Path | None) -> JobTable:
    """Watts predicted at submission for jobs that have none."""
    if model is None:
        return jobs
    import numpy as np

    from rheostat.core.vocabulary import VOCABULARY
    from rheostat.questions.simulate import predicted_power

    watts = predicted_power(model, jobs).mean("power_w")
    if "power_w" in jobs.schema:
        had = jobs.numpy("power_w")
        watts = np.where(np.isfinite(had), had, watts)
    return jobs.with_columns([VOCABULARY["power_w"]], power_w=watts)


def _searched(course: Curriculum, trials: int, out: Path) -> dict[str, Any]:
    """The best settings of a search, a quarter as long as the training each."""
    from rheostat.cli.output import tell
    from rheostat.cli.progress import watched
    from rheostat.questions.agents import UPDATES, learn
    from rheostat.training.rl.hyperparameter_search import search

    rounds = course.rounds or (len(course.jobsets) if course.agent.startswith("dras") else UPDATES)
    with watched("trial") as progress:
        best = search(
            course, learn, trials=trials, rounds=max(1, rounds // 4), progress=progress,
            journal=out.with_name(out.name + ".search"),
        )  # fmt: skip
    tell("best of the search: " + ", ".join(f"{k}={v}" for k, v in best.items()))
    return best


def _learn(course: Curriculum, out: Path) -> TrainingResult:
    from rheostat.cli.progress import watched
    from rheostat.questions.agents import learn

    with watched("jobset" if course.agent.startswith("dras") else "update") as progress:
        return learn(course, out, progress)


def _facts(course: Curriculum, learned: TrainingResult, trace: str) -> dict[str, Any]:
    """What is shown, and the JSON document, before the agent is judged."""
    from rheostat.training.rl.held_out import UNJUDGED

    clairvoyant = course.estimates == "perfect" or learned.setup.get("plans") == "true"
    return UNJUDGED | {
        "trace": trace,
        "agent": course.agent,
        "objective": course.objective or learned.setup["reward"],
        "estimates": course.estimates,
        "clairvoyant": clairvoyant,
        "processors": course.machine.procs,
        "jobs": len(course.past),
        "parameters": learned.parameters,
        "setup": learned.setup,
        "seed": course.seed,
        "rounds": learned.rounds,
        "history": learned.history,
    }


def _judged(course: Curriculum, learned: TrainingResult, trace: str) -> dict[str, Any]:
    from rheostat.cli.output import tell
    from rheostat.cli.progress import watched
    from rheostat.training.rl.held_out import held_out

    if course.unseen is not None:
        tell(
            f"trained; judging on {len(course.unseen):,} jobs held out, the same call goes on here"
        )
    with watched("held-out job") as progress:
        return held_out(course, learned, trace, progress=progress)


def _show(facts: dict[str, Any], *, json: bool, html: Path | None, figure: Path | None) -> None:
    from rheostat.cli.output import put_json, put_report, tell
    from rheostat.explanation.schedules.train import history_grid, learning_text

    if facts["clairvoyant"]:
        tell("note: clairvoyant, planned with true run times; --set plans=requested is not (DRAS)")
    _draw(facts, html, figure)
    if json:
        put_json("rheostat.train/1", facts)
        return
    put_report(learning_text(facts), history_grid(facts["history"]))


def _draw(facts: dict[str, Any], html: Path | None, figure: Path | None) -> None:
    from rheostat.cli.output import write_files
    from rheostat.explanation.schedules.train import learning_report

    if html or figure:
        write_files(learning_report(facts), html, figure)
