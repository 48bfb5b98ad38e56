"""`train`: an agent learns to schedule from a trace, for an objective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.core.report import Grid, Report
from rheostat.core.vocabulary import VOCABULARY
from rheostat.errors import DataError
from rheostat.explanation.schedules.train import history_grid, learning_report, learning_text
from rheostat.measurement.read import read
from rheostat.questions import listener
from rheostat.questions.answer import Answer
from rheostat.questions.inputs import Jobs, Place, machine_of
from rheostat.questions.listener import question
from rheostat.questions.parse import parse_names, parse_value
from rheostat.questions.scheduling.agents import AGENTS, UPDATES, learn
from rheostat.questions.scheduling.learned_priority import PriorityAnswer, train_priority
from rheostat.questions.scheduling.simulate import predicted_power
from rheostat.simulation.workload import workload
from rheostat.training.rl.curriculum import Curriculum, TrainingResult
from rheostat.training.rl.held_out import UNJUDGED, held_out
from rheostat.training.rl.hyperparameter_search import search as search_settings

OURS = "ours"
MOST_ROUNDS = 10_000
"""Weeks, updates or trials: the file, written after each, has a line of every one before."""


@dataclass(frozen=True, kw_only=True, repr=False)
class TrainAnswer(Answer):
    """An agent, how it learned, and how it does on jobs held out.

    Parameters
    ----------
    learned : TrainingResult
        The agent.
    course : Curriculum
        What it learned from, and for how long.
    training : mapping
        The document.
    """

    schema: ClassVar[str] = "rheostat.train/1"
    learned: TrainingResult
    course: Curriculum
    training: Mapping[str, Any]

    def report(self) -> Report:
        """The last rounds, then the held-out jobs."""
        return learning_text(self.training)

    def page_report(self) -> Report:
        """Curves, the held-out jobs, the settings."""
        return learning_report(self.training)

    def facts(self) -> Mapping[str, Any]:
        """The training."""
        return self.training

    def grids(self) -> tuple[Grid, ...]:
        """A row a round."""
        return (history_grid(self.training["history"]),)

    def judged(self) -> TrainAnswer:
        """The same with how it does on the jobs that were held out, which may take long.

        Returns
        -------
        TrainAnswer
            Where no job was held out, as it was.
        """
        if (rest := self.course.unseen) is None:
            return self
        listener.line(
            f"trained; judging on {len(rest):,} jobs held out, the same call goes on here"
        )
        with listener.rounds("held-out job") as progress:
            seen = held_out(self.course, self.learned, self.training["trace"], progress=progress)
        return replace(self, training={**self.training, **seen})


@question
def train(
    trace: Jobs,
    out: Path | str,
    *,
    agent: str = "dras-pg",
    objective: str = "",
    jobsets: int | None = None,
    updates: int | None = None,
    phases: str | Sequence[int] = (),
    test_fraction: float = 0.2,
    faithful: bool = True,
    switches: Mapping[str, Any] | Sequence[str] = (),
    search: int | None = None,
    workers: int = 1,
    machine: Place = None,
    power_model: Path | str | None = None,
    estimates: str = "user",
    judge: bool = True,
    seed: int = 0,
    format: str = "",
) -> TrainAnswer | PriorityAnswer:
    """Train a scheduling agent on a trace for an objective.

    What is interrupted, by whatever means, loses the round it was in: the same call goes on from
    ``out``, to the same bytes.  The last part of the trace is held out: the agent is compared on it
    with FCFS and EASY.

    Parameters
    ----------
    trace : JobTable or path
        A job log.
    out : path
        The agent, written after each round.
    agent : str
        dras-pg, dras-dql, a2c, ppo or ours.
    objective : str
        wait, slowdown, utilisation, energy, cost or carbon; or weights of several, as
        slowdown=1,energy=0.2; dras_capability for DRAS by default, else slowdown.
    jobsets, updates : int, optional
        DRAS: learn from the first so many weeks; A2C, PPO: learn so many times; at most 10,000.
    phases : str or sequence of int
        Weeks drawn from the trace, weeks of it, and synthetic ones like it, as 9,9,82 (DRAS);
        together at most 10,000.
    test_fraction : float
        Share of the newest jobs that is not learned from and tested on.
    faithful : bool
        DRAS as released, or a small network on scaled inputs without hindsight.
    switches : mapping or sequence of str
        Any switch of the agent, also as ``"lr=0.001"``.
    search : int, optional
        First try so many settings, at most 10,000, by short trainings.
    workers : int
        A2C, PPO: processes that play, at most one a core; the agent is the same.
    machine : Machine, int, str or path, optional
        Processors, or a TOML file; the trace's header by default.
    power_model : path, optional
        A saved model that predicts power, for jobs without measured watts.
    estimates : str
        What planning believes of run times: user, or perfect (clairvoyant).
    judge : bool
        Whether to compare on the jobs held out; else ``answer.judged()`` does it later.
    seed : int
        Of everything that draws.
    format : str
        Of the trace; guessed by default.

    Returns
    -------
    TrainAnswer or PriorityAnswer
        The latter of agent "ours".

    Raises
    ------
    DataError
        The trace, the machine or the options cannot be learned with.
    """
    if agent not in (*AGENTS, OURS):
        raise DataError("--agent", [f"expected {', '.join(AGENTS)} or ours, got {agent!r}"])
    _check_rounds(jobsets=jobsets, updates=updates, search=search)
    read_jobs = trace if isinstance(trace, JobTable) else read(trace, format or None)
    jobs = _powered(read_jobs, power_model)
    place, file = machine_of(jobs, machine), Path(out)
    name = "trace" if isinstance(trace, JobTable) else str(trace)
    if agent == OURS:
        return train_priority(jobs, place, trace=name, out=file, objective=objective,
                              generations=updates, test_fraction=test_fraction,
                              seed=seed)  # fmt: skip
    rounds = jobsets if agent.startswith("dras") else updates
    course = Curriculum(jobs, place, agent, objective, _phases(phases), estimates, test_fraction,
                        rounds, faithful, workers, seed, _switches(switches))  # fmt: skip
    listener.notes(workload(jobs, place).notes)
    if search is not None:
        course = replace(course, switches=course.switches | _searched(course, search, file))
    with listener.rounds("jobset" if agent.startswith("dras") else "update") as progress:
        learned = learn(course, file, progress)
    answer = TrainAnswer(learned=learned, course=course, training=_facts(course, learned, name))
    if answer.training["clairvoyant"]:
        listener.note("clairvoyant, planned with true run times; --set plans=requested is not "
                      "(DRAS)")  # fmt: skip
    return answer.judged() if judge else answer


def _check_rounds(**counts: int | None) -> None:
    problems = [f"{name}: expected 1 to {MOST_ROUNDS:,}, got {count:,}"
                for name, count in counts.items()
                if count is not None and not 1 <= count <= MOST_ROUNDS]  # fmt: skip
    if problems:
        raise DataError("train", problems)


def _phases(given: str | Sequence[int]) -> Any:
    counts = parse_names(given) if isinstance(given, str) else tuple(map(str, given))
    if given and not (len(counts) == 3 and all(c.isdigit() for c in counts)):
        raise DataError("--phases", [f"expected three counts as 9,9,82, got {given!r}"])
    return tuple(map(int, counts)) if given else None


def _switches(given: Mapping[str, Any] | Sequence[str]) -> dict[str, Any]:
    """Values of ``--set``: numbers, words, yes and no, or widths as 64,32."""
    if isinstance(given, Mapping):
        return dict(given)
    words = {"true": True, "yes": True, "false": False, "no": False}
    made: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip().isidentifier():
            raise DataError("--set", [f"expected SWITCH=VALUE as lr=0.001, got {text!r}"])
        parts = [words.get(v.strip().lower(), parse_value(v)) for v in value.split(",")]
        made[name.strip()] = tuple(parts) if len(parts) > 1 else parts[0]
    return made


def _powered(jobs: JobTable, model: Path | str | None) -> JobTable:
    """Watts predicted at submission for jobs that have none."""
    if model is None:
        return jobs
    watts = predicted_power(Path(model), jobs).mean("power_w")
    if "power_w" in jobs.schema:
        had = jobs.numpy("power_w")
        watts = np.where(np.isfinite(had), had, watts)
    return jobs.with_columns([VOCABULARY["power_w"]], power_w=watts)


def _searched(course: Curriculum, trials: int, out: Path) -> dict[str, Any]:
    """The best settings of a search, a quarter as long as the training each."""
    rounds = course.rounds or (len(course.jobsets) if course.agent.startswith("dras") else UPDATES)
    with listener.rounds("trial") as progress:
        best = search_settings(
            course, learn, trials=trials, rounds=max(1, rounds // 4), progress=progress,
            journal=out.with_name(out.name + ".search"),
        )  # fmt: skip
    listener.line("best of the search: " + ", ".join(f"{k}={v}" for k, v in best.items()))
    return best


def _facts(course: Curriculum, learned: TrainingResult, trace: str) -> dict[str, Any]:
    """What is shown, and the JSON document, before the agent is judged."""
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
