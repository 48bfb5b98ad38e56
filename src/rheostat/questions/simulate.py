"""`simulate`: what the jobs of a trace would have waited under other policies."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.machine import Machine
from rheostat.core.outcome import Array, Outcome
from rheostat.core.report import Grid, Report, Section
from rheostat.core.storage.files import replacing
from rheostat.decision.policies.priority_functions import PRIORITY_FUNCTIONS
from rheostat.errors import DataError, QuestionError
from rheostat.explanation.schedules.schedule import flat_grid, schedule_report, schedule_text
from rheostat.measurement.read import read
from rheostat.prediction.saved_models.persist import PREDICTORS, load
from rheostat.questions import inputs, listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.policies import open_policies
from rheostat.recipes.nodecount import prepared
from rheostat.simulation.comparison import jittered_replays
from rheostat.simulation.comparison.as_logged import logged_facts
from rheostat.simulation.comparison.replay import Replay, replay
from rheostat.simulation.log_machine import placed, roomy_words
from rheostat.simulation.note_numbers import noted
from rheostat.simulation.policies.overdue import agreed, under
from rheostat.simulation.policies.policy import Policy, as_policy, cannot, guarded, limit_of
from rheostat.simulation.report_facts import facts as facts_of
from rheostat.simulation.report_series import picture
from rheostat.simulation.result import Simulation
from rheostat.simulation.simulate import simulate_run
from rheostat.simulation.site.moldable import read_alternatives
from rheostat.simulation.workload import Estimates, schedule_columns

if TYPE_CHECKING:
    from rheostat.simulation.site.sized_jobs import Advise

OnePolicy = str | Policy | Callable[..., Any]
WHOLE = ("submit_s", "start_s", "end_s")


@dataclass(frozen=True, kw_only=True, repr=False)
class SimulateAnswer(Answer):
    """Schedules of one trace under several policies, side by side.

    Parameters
    ----------
    jobs : JobTable
        The trace that was run.
    runs : tuple of Simulation
        One per policy; the first is what the others are compared with.
    trace : str
        Its name.
    planning : mapping
        How the runs were made: estimates, semantics, ties, overdue.
    seed : int
        Of the intervals.
    replays : mapping or None
        What other submissions, a little later, would have changed.
    """

    schema: ClassVar[str] = "rheostat.simulate/1"
    jobs: JobTable
    runs: tuple[Simulation, ...]
    trace: str = "trace"
    planning: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    replays: dict[str, Any] | None = None

    @property
    def schedule(self) -> JobTable:
        """The jobs that ran, in the order of the trace, with the times of the first policy."""
        return self.runs[0].jobs

    @property
    def schedules(self) -> dict[str, JobTable]:
        """The same of every policy, by its name."""
        return {run.policy.name: run.jobs for run in self.runs}

    def report(self) -> Report:
        """Metrics of each policy, then paired differences from the first."""
        return schedule_text(self._shown, self._near)

    def page_report(self) -> Report:
        """With pictures, and waits by size, length and user."""
        return schedule_report(self._facts, picture(self.runs), self._near)

    def facts(self) -> dict[str, Any]:
        """Every metric of every policy, who gains and who loses."""
        return self._facts

    def grids(self) -> tuple[Grid, ...]:
        """A row per policy."""
        return (flat_grid(self._shown),)

    def beside(self) -> tuple[str, ...]:
        """Whether anybody waits at all, and what the replays say."""
        roomy = (self._roomy,) if self._roomy else ()
        return roomy if self.replays is None else (*roomy, *jittered_replays.words(self.replays))

    def write(self, path: Path) -> tuple[Path, ...]:
        """Write starts and ends as CSV, whole seconds as whole numbers; a file per policy."""
        return tuple(_written(run, path, alone=len(self.runs) == 1) for run in self.runs)

    @property
    def _near(self) -> tuple[str, ...]:
        """How near this is to what was logged."""
        replayed = _replay_words(self._replay, self.runs[0])
        return (*self.beside(), *filter(None, (replayed,)))

    @cached_property
    def _roomy(self) -> str:
        return roomy_words(self.jobs, self.runs)

    @cached_property
    def _replay(self) -> Replay | None:
        return replay(self.jobs, self.schedule)

    @cached_property
    def _shown(self) -> dict[str, Any]:
        """The facts that a terminal shows; the others take longer than the rest together."""
        return self._made(deep=False)

    @cached_property
    def _facts(self) -> dict[str, Any]:
        return self._made(deep=True)

    def _made(self, *, deep: bool) -> dict[str, Any]:
        facts = facts_of(
            self.trace, self.runs, self.planning, read=self.jobs, seed=self.seed, deep=deep
        )
        near = self._replay
        facts["nobody_waits"] = self._roomy or None
        facts["logged"] = logged_facts(self.jobs, self.runs)
        name = self.runs[0].policy.name
        facts["replay"] = None if near is None else {"policy": name, **near.facts()}
        return facts if self.replays is None else facts | {"replays": self.replays}


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


@question
def simulate(
    jobs: inputs.Jobs,
    policy: OnePolicy | Sequence[OnePolicy] = "easy",
    machine: Machine | int | str | Path | None = None,
    *,
    backfill: str | None = None,
    estimates: Estimates = "user",
    semantics: str = "textbook",
    ties: str = "event",
    overdue: str | None = None,
    guard: float | str | None = None,
    replays: int = 0,
    alternatives: inputs.Jobs | None = None,
    sized_by: Advise | None = None,
    power_model: inputs.Model | None = None,
    power_w: Array | Outcome | None = None,
    seed: int = 0,
    format: str = "",
) -> SimulateAnswer:
    """Run a trace through batch policies and compare how long jobs wait.

    Sizes are processors asked for, else used.  Rows that no machine could run are noted and left
    out; nothing else is changed.  Differences from the first policy are paired, job by job.

    Parameters
    ----------
    jobs : JobTable or path
        A trace with ``submit_s``, ``runtime_s``, a size and, if users gave one, ``time_limit_s``.
    policy : str, Policy, callable, or several of them
        Names as `open_policy` takes them: "sjf+easy", "agent:ours", "mine.py:NarrowFirst", ...; a
        policy of one's own; or a callable ``score(now, s, r, n)``, the smallest score goes first.
    machine : Machine, int or path, optional
        A `Machine`, its number of processors, or a TOML file; by default what the trace says.
    backfill : str, optional
        With a callable or an order: "none", "easy" or "conservative"; None leaves it to ``policy``.
    estimates : str, Predictor or array
        Run times that planning uses: "user", "perfect" (clairvoyant), "last2", "boost", the kind of
        a `Surrogate`, a predictor of ``runtime_s``, the file of a saved one, or seconds, one per
        row of ``jobs``.
    semantics, ties : str
        "textbook" or "cqsim"; decisions at each "event", or once per "batch" of events at a moment.
    overdue : str, optional
        What planning expects of jobs that outlive their estimate: "past", "now" or "extend".
    guard : float or str, optional
        1.5 or "1.5x": jobs go first before they would wait so many times as long as the longest
        wait under first come, first served with EASY.  Of an order under EASY.
    replays : int
        Also so many times with submissions moved by up to 120 s; 0, or at least 2.
    alternatives : JobTable or path, optional
        Other ways in which jobs may run (moldable jobs): ``job_id``, size and ``runtime_s``.
    sized_by : Advise, optional
        Chooses one of the alternatives at submission; see `rheostat.simulation.site.sized_jobs`.
    power_model : Predictor or path, optional
        Predicts watts, with which planning under a power cap works.
    power_w : array or Outcome, optional
        These watts themselves, one per row of ``jobs``.
    seed : int
        Of policies and intervals that draw.
    format : str
        The file's format; guessed by default.

    Returns
    -------
    SimulateAnswer
        With ``schedule`` (of the first policy), ``schedules`` and ``runs``.

    Raises
    ------
    DataError
        A column is missing, or the machine is not known.
    QuestionError
        Options do not go together.

    Examples
    --------
    >>> from rheostat.core.vocabulary import table
    >>> trace = table({"job_id": [1, 2, 3], "submit_s": [0.0, 1.0, 2.0], "cores": [3, 4, 1],
    ...                "runtime_s": [10.0, 5.0, 4.0], "time_limit_s": [10.0, 5.0, 4.0]})
    >>> def largest(now, submit_s, estimate_s, procs):   # the smallest score goes first
    ...     return -procs
    >>> answer = simulate(trace, ["fcfs", "easy", largest], 4)
    >>> [t.frame["start_s"].to_list() for t in answer.schedules.values()]
    [[0.0, 10.0, 15.0], [0.0, 10.0, 2.0], [0.0, 10.0, 2.0]]
    """
    how = {"semantics": semantics, "ties": ties}
    policies = [guarded(one, limit_of(guard)) for one in _opened(policy, backfill, how)]
    _tell_apart(policies)
    convention = agreed(policies, overdue, estimates)
    policies = [under(one, convention) for one in policies]
    if replays == 1:
        raise QuestionError("--replays", ["expected 0, or at least 2 for an interval, got 1"])
    trace = jobs if isinstance(jobs, JobTable) else read(Path(jobs), format=format or None)
    site = _site(trace, alternatives, sized_by, power_model, power_w)
    trace, place = _placed(trace, machine)
    _check(policies, place, estimates, site)
    given = {"seed": seed, "estimates": estimates, **site}
    runs = _run_all(trace, policies, place, given)
    for note in noted(trace, runs):
        if note["text"]:
            listener.note(note["text"])
    moved = None
    if replays:
        moved = jittered_replays.replays(
            trace, lambda other: _run_all(other, policies, place, given), replays, seed
        )
    return SimulateAnswer(
        jobs=trace,
        runs=runs,
        trace="trace" if isinstance(jobs, JobTable) else str(jobs),
        planning={"estimates": _name(estimates), **how, "overdue": convention},
        seed=seed,
        replays=moved,
    )


def _opened(
    given: OnePolicy | Sequence[OnePolicy], backfill: str | None, how: Mapping[str, str]
) -> list[Policy]:
    """Policies as they are, names once each; all names that are none in one error."""
    alone = isinstance(given, (str, Policy)) or callable(given)
    every: list[Any] = [given] if alone else list(given)  # type: ignore[arg-type]
    names = list(dict.fromkeys(one for one in every if isinstance(one, str)))
    made = open_policies(names, "--policy", backfill=backfill, **how)
    opened: dict[Any, Policy] = dict(zip(names, made, strict=True))
    for one in every:
        if not isinstance(one, str):
            opened[id(one)] = as_policy(one, backfill=backfill, **how)
    return list(opened.values())


def _placed(
    trace: JobTable, machine: Machine | int | str | Path | None
) -> tuple[JobTable, Machine]:
    if isinstance(machine, Machine):
        return trace, machine
    return placed(trace, "" if machine is None else str(machine))


def _site(
    trace: JobTable,
    alternatives: inputs.Jobs | None,
    sized_by: Advise | None,
    power_model: inputs.Model | None,
    power_w: Array | Outcome | None,
) -> dict[str, Any]:
    """What only a site has, where it is given."""
    site: dict[str, Any] = {}
    if alternatives is not None:
        site["alternatives"] = (
            alternatives
            if isinstance(alternatives, JobTable)
            else read_alternatives(Path(alternatives))
        )
    if sized_by is not None:
        site["sized_by"] = sized_by
    if power_model is not None:
        site["power_w"] = predicted_power(power_model, trace)
    elif power_w is not None:
        site["power_w"] = power_w
    return site


def predicted_power(model: inputs.Model, jobs: JobTable) -> Outcome:
    """What a model says at submission; a `DataError` where it does not predict power."""
    saved = isinstance(model, (str, Path))
    learner = load(Path(model), PREDICTORS) if isinstance(model, (str, Path)) else model
    outcome: Outcome = learner.predict(prepared(jobs).known_at(Moment.SUBMIT))
    if "power_w" not in outcome.names:
        problem = f"expected a model of power_w, got one of {', '.join(outcome.names)}"
        raise DataError(str(model) if saved else "power_model", [problem])
    return outcome


def _run_all(
    jobs: JobTable, policies: Sequence[Policy], machine: Machine, how: Mapping[str, Any]
) -> tuple[Simulation, ...]:
    """One run per policy on the same machine."""
    runs = []
    for policy in policies:
        with listener.working(f"{policy.name}: {len(jobs):,} jobs"):
            runs.append(simulate_run(jobs, policy, machine, **how))
    return tuple(runs)


def _tell_apart(policies: Sequence[Policy]) -> None:
    """A `DataError` where two policies have one name."""
    names = [policy.name for policy in policies]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        problem = (
            "two policies are called so; a policy of a file has the name of the file: rename one"
        )
        raise DataError("--policy", [f"{name}: {problem}" for name in twice])


def _check(
    policies: Sequence[Policy], machine: Machine, estimates: Estimates, site: Mapping[str, Any]
) -> None:
    """Every reason why one of the policies cannot run so, before the first runs."""
    problems = [
        f"{policy.name}: --{problem}"
        for policy in policies
        for problem in cannot(policy, machine, estimates, (name.split("_")[0] for name in site))
    ]
    if problems:
        raise DataError("simulate", problems)


def _name(estimates: Estimates) -> str:
    return estimates if isinstance(estimates, str) else type(estimates).__name__


def _replay_words(near: Replay | None, base: Simulation) -> str:
    if near is None:
        return ""
    depth = near.queue_correlation
    queue = "" if math.isnan(depth) else f", queue correlation {depth:.2f}"
    name = base.policy.name
    return f"Against the waits logged, {name} is {near.words} KS {near.ks:.2f}{queue}."


def _written(run: Simulation, path: Path, *, alone: bool) -> Path:
    into = path if alone else path.with_stem(f"{path.stem}.{run.policy.name}")
    frame = schedule_columns(run.jobs.frame)
    whole = [c for c in WHOLE if (frame[c] == frame[c].round()).all()]
    with replacing(into) as draft:
        frame.with_columns(pl.col(c).cast(pl.Int64) for c in whole).write_csv(draft)
    return into
