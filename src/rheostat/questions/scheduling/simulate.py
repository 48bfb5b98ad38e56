"""`simulate`: what the jobs of a trace would have waited under other policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rheostat.core.jobs import JobTable, Moment
from rheostat.core.machine import Machine
from rheostat.core.outcome import Array, Outcome
from rheostat.errors import DataError, QuestionError
from rheostat.measurement.read import read
from rheostat.prediction.saved_models.persist import PREDICTORS, load
from rheostat.questions import inputs, listener
from rheostat.questions.listener import question
from rheostat.questions.scheduling.policies import open_policies
from rheostat.questions.scheduling.simulate_answer import SimulateAnswer
from rheostat.recipes.nodecount import prepared
from rheostat.simulation.comparison import jittered_replays
from rheostat.simulation.log_machine import placed
from rheostat.simulation.note_numbers import noted
from rheostat.simulation.policies.overdue import agreed, under
from rheostat.simulation.policies.policy import Policy, as_policy, cannot, guarded, limit_of
from rheostat.simulation.result import Simulation
from rheostat.simulation.simulate import simulate_run
from rheostat.simulation.site.moldable import read_alternatives
from rheostat.simulation.workload import Estimates

if TYPE_CHECKING:
    from rheostat.simulation.site.sized_jobs import Advise

OnePolicy = str | Policy | Callable[..., Any]


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
    options: Mapping[str, Any] | None = None,
    schedule: Path | None = None,
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
    options : mapping, optional
        Of the reader, as ``{"columns": {"submit_s": "queued_at"}}``.
    schedule : path, optional
        Where starts and ends go as CSV, a file for each policy.

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
    trace = _trace(jobs, format, options)
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
    answer = SimulateAnswer(
        jobs=trace,
        runs=runs,
        trace="trace" if isinstance(jobs, JobTable) else str(jobs),
        planning={"estimates": _name(estimates), **how, "overdue": convention},
        seed=seed,
        replays=moved,
    )
    for path in answer.write(schedule) if schedule else ():
        listener.line(f"wrote {path}")
    return answer


def _trace(jobs: inputs.Jobs, form: str, options: Mapping[str, Any] | None) -> JobTable:
    """The jobs, with when they came and how long they ran; else a `DataError` with what to type."""
    if isinstance(jobs, JobTable):
        return jobs
    trace = read(Path(jobs), format=form or None, options=options or None)
    if missing := [c for c in ("submit_s", "runtime_s") if c not in trace.columns]:
        problems = [f"column {c} is missing: name it, --column {c}=THEIRS" for c in missing]
        theirs = [trace.schema[c].meaning.removeprefix("from ") or c for c in trace.columns]
        raise DataError(str(jobs), [*problems, f"present: {', '.join(theirs)}"])
    return trace


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
