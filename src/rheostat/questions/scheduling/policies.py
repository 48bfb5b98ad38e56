"""From the name of a policy to the policy: the one place where such names are read.

Name                                         Policy
fcfs, sjf, ...; easy; ORDER+easy; ...        an order of the queue, see `batch_policy`
multifactor:FILE, multifactor:FILE+easy      weights of a site's priority, TOML or slurm.conf
tree:FILE, tree:FILE+easy, ...               a tree as an order, or one of an agent's values
agent:FILE                                   a learned priority or an agent, from `train`
agent:ours                                   the learned priority that comes with rheostat
best-of-past                                 agent:ours or a simple order under EASY, each night
                                             what did best in replays of the days before
FILE                                         a tree, a learned priority or an agent
FILE.py:NAME, FILE.py:NAME+easy              a policy or an order of your own: a class without
                                             arguments, a policy, or a function of the queue
NAME+1.5x                                    one of these, its longest wait guarded, see `guarded`
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.core.outcome import Array, Outcome
from rheostat.decision.policies.batch_policy import BACKFILLING, batch_policy, split_guard
from rheostat.decision.policies.multifactor import Multifactor
from rheostat.decision.policies.priority_functions import PRIORITY_FUNCTIONS, priority_function
from rheostat.decision.policies.priority_tree import PriorityTree
from rheostat.errors import DataError
from rheostat.prediction.saved_models.persist import load
from rheostat.simulation.learned_priority.priority import SHIPPED, LearnedPriority
from rheostat.simulation.policies.best_of_past import BestOfPast
from rheostat.simulation.policies.event_policy import EventPolicy
from rheostat.simulation.policies.learned_policy import LearnedPolicy
from rheostat.simulation.policies.policy import Policy, as_policy, guarded, limit_of
from rheostat.simulation.simulate import simulate_run
from rheostat.simulation.workload import Estimates
from rheostat.training.distill.value_tree import Student, is_student
from rheostat.training.rl.agent_policy import AgentPolicy

if TYPE_CHECKING:
    from rheostat.simulation.site.sized_jobs import Advise

NAMES = (*PRIORITY_FUNCTIONS, *BACKFILLING[1:])
AGENTS, TREE = ("learned-priority", "dras-agent", "actor-critic-agent"), "priority-tree"


def open_policy(
    name: str,
    *,
    backfill: str | None = None,
    semantics: str = "textbook",
    ties: str = "event",
    overdue: str | None = None,
) -> Policy:
    """The policy of this name.

    Parameters
    ----------
    name : str
        As in the table above.
    backfill, semantics, ties, overdue : str
        Of `rheostat.decision.policies.batch_policy`; only orders of the queue have them.

    Returns
    -------
    Policy
        With its file read.

    Raises
    ------
    DataError
        No policy has this name, its file is not there or is of another kind, or it has not an
        option that was given.

    >>> [open_policy(name).name for name in ("EASY", "sjf+easy", "agent:ours")]
    ['easy', 'sjf+easy', 'agent:ours']
    """
    how: dict[str, Any] = {"semantics": semantics, "ties": ties, "overdue": overdue}
    name, limit = split_guard(name.strip())
    return guarded(_opened(name, backfill, how), limit_of(limit))


def _opened(name: str, backfill: str | None, how: dict[str, Any]) -> Policy:
    """The policy of a name without a guard."""
    kind, colon, file = name.partition(":")
    if colon and kind.endswith(".py"):
        return _own(name, Path(kind), file, backfill, how)
    if (colon and kind.lower() == "agent") or name.lower() == BestOfPast.name:
        return as_policy(_agent(name, Path(file)), backfill=backfill, **how)
    if colon and kind.lower() in ("tree", "multifactor"):
        file, far = _split(name, file, backfill)
        made: Any = PriorityTree.load(file) if kind.lower() == "tree" else Multifactor.load(file)
        named = f"{kind.lower()}:{Path(file).stem}"
    elif name.lower() not in NAMES and Path(name).is_file():
        made, named, far = load(name, (*AGENTS, TREE)), f"tree:{Path(name).stem}", backfill
        if not isinstance(made, PriorityTree):
            return as_policy(_as_agent(made, Path(name)), backfill=backfill, **how)
    else:
        _known(name)
        return batch_policy(name, backfill=backfill, **how)
    if isinstance(made, PriorityTree) and is_student(made):
        return as_policy(AgentPolicy(Student.of(made), named), backfill=far, **how)
    order = replace(priority_function(made), name=named)
    return batch_policy(order, backfill=far or "none", **how)


def open_policies(names: Iterable[str], option: str = "policies", **how: Any) -> list[Policy]:
    """The policies of these names; one `DataError` of ``option`` for all that cannot be had."""
    made, problems = [], []
    for name in names:
        try:
            made.append(open_policy(name, **how))
        except DataError as error:
            problems.append(str(error))
    if problems:
        raise DataError(option, problems)
    return made


def simulate(
    jobs: JobTable,
    policy: str | Policy | Callable[..., Any] = "easy",
    machine: Machine | int | None = None,
    *,
    backfill: str | None = None,
    estimates: Estimates = "user",
    semantics: str = "textbook",
    ties: str = "event",
    overdue: str | None = None,
    guard: float | str | None = None,
    alternatives: JobTable | None = None,
    sized_by: Advise | None = None,
    power_w: Array | Outcome | None = None,
    seed: int = 0,
) -> JobTable:
    """Run ``jobs`` through ``policy`` on ``machine``: the same jobs with the simulated times.

    Parameters
    ----------
    jobs : JobTable
        A trace with ``submit_s``, ``runtime_s``, a size and, if users gave one, ``time_limit_s``.
    policy : str, Policy or callable
        A name, as `open_policy` takes it: "sjf+easy", "agent:ours", ...; a `Policy`; or a callable
        ``score(now, s, r, n)``, the smallest score goes first.
    machine : Machine or int, optional
        A `Machine` or its number of processors; by default what the trace's header says.
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
    alternatives : JobTable, optional
        Other ways in which jobs may run (moldable jobs): ``job_id``, size and ``runtime_s``.
    sized_by : Advise, optional
        Chooses one of the alternatives at submission; see `rheostat.simulation.site.sized_jobs`.
    power_w : array or Outcome, optional
        Watts, one per row of ``jobs``, with which planning under a power cap works.
    seed : int
        Of policies that draw.

    Returns
    -------
    JobTable
        The rows that ran, in the order of the trace, with ``start_s``, ``end_s``, ``wait_s``,
        ``procs`` and ``estimate_s``; rows left out are in the notes.

    Raises
    ------
    DataError
        A column is missing, the machine is not known, or options do not go together.

    Examples
    --------
    >>> from rheostat.core.vocabulary import table
    >>> trace = table({"job_id": [1, 2, 3], "submit_s": [0.0, 1.0, 2.0], "cores": [3, 4, 1],
    ...                "runtime_s": [10.0, 5.0, 4.0], "time_limit_s": [10.0, 5.0, 4.0]})
    >>> simulate(trace, "fcfs", 4).frame["start_s"].to_list()   # the small job waits its turn
    [0.0, 10.0, 15.0]
    >>> simulate(trace, "easy", 4).frame["start_s"].to_list()   # or fills the hole
    [0.0, 10.0, 2.0]
    >>> def largest(now, submit_s, estimate_s, procs):   # the smallest score goes first
    ...     return -procs
    >>> simulate(trace, largest, 4, backfill="none").frame["start_s"].to_list()
    [0.0, 10.0, 15.0]
    """
    options: dict[str, Any] = {
        "backfill": backfill, "semantics": semantics, "ties": ties, "overdue": overdue
    }  # fmt: skip
    made = (
        open_policy(policy, **options) if isinstance(policy, str) else as_policy(policy, **options)
    )
    made = guarded(made, limit_of(guard))
    run = simulate_run(
        jobs, made, machine, estimates=estimates, alternatives=alternatives, sized_by=sized_by,
        power_w=power_w, seed=seed,
    )  # fmt: skip
    return run.jobs


FAMILIES = (
    "fcfs, easy, conservative",
    "ORDER, ORDER+easy or ORDER+conservative; ORDER is " + ", ".join(PRIORITY_FUNCTIONS),
    "multifactor:FILE (weights, TOML or slurm.conf) or tree:FILE, each with or without +easy",
    "agent:ours, or agent:FILE as rheostat train wrote it",
    "best-of-past, the order that did best in replays of the days before",
    "FILE.py:NAME, a policy or an order of your own",
    "an order under EASY or one of the last two with +1.5x, its longest wait guarded",
)


def _known(name: str) -> None:
    """A `DataError` that lists every family, where this is a name of none."""
    first = name.partition("+")[0].strip().lower()
    if first not in (*NAMES, *BACKFILLING) and not first.startswith(("tree:", "multifactor:")):
        raise DataError(f"policy {name}", [f"expected one of: {'; '.join(FAMILIES)}"])


def _own(name: str, path: Path, thing: str, backfill: str | None, how: dict[str, Any]) -> Policy:
    """The policy or the order called ``thing`` in a Python file, named as both."""
    thing, far = _split(name, thing, backfill)
    thing_there = getattr(_module(name, path), thing, None)
    if thing_there is None:
        raise DataError(name, [f"{path} has no {thing or 'name after the colon'}"])
    try:
        made = thing_there() if isinstance(thing_there, type) else thing_there
    except TypeError as error:
        raise DataError(name, [f"expected a class without arguments: {error}"]) from error
    if not isinstance(made, Policy) and not callable(made):
        problem = "a policy (rheostat.EventPolicy) or a function score(now, s, r, n)"
        raise DataError(name, [f"expected {problem}, got {type(made).__name__}"])
    called = f"{path.name}:{thing}"
    if isinstance(made, Policy):
        policy = as_policy(made, backfill=far, **how)
        return policy if policy.name != EventPolicy.name else _called(policy, called)
    order = replace(priority_function(made), name=called)
    return batch_policy(order, backfill=far or "easy", **how)


def _called(policy: Policy, name: str) -> Policy:
    """A policy that has not named itself, by its file."""
    named = copy(policy)
    named.name = name  # type: ignore[misc]
    return named


def _module(name: str, path: Path) -> Any:
    """What a Python file defines; whatever is wrong with it is told, not raised through."""
    import runpy

    if not path.is_file():
        raise DataError(name, [f"expected a Python file, found no {path}"])
    try:
        return SimpleNamespace(**runpy.run_path(str(path), run_name=path.stem))
    except Exception as error:
        raise DataError(name, [f"{path}: {type(error).__name__}: {error}"]) from error


def _split(name: str, file: str, backfill: str | None) -> tuple[str, str | None]:
    """The file and how far to backfill, of ``FILE+easy``."""
    path, plus, far = file.rpartition("+")
    if not plus:
        return file, backfill
    if far.lower() not in BACKFILLING:
        problem = f"after the + expected easy or conservative, got {far!r}"
        raise DataError(f"policy {name}", [problem])
    if backfill is not None:
        problem = f"it says itself how far it backfills: expected no backfill, got {backfill!r}"
        raise DataError(f"policy {name}", [problem])
    return path, far.lower()


def _agent(name: str, path: Path) -> Policy:
    """A learned priority, an agent, or the choice between the first and simple orders."""
    if name.lower() == BestOfPast.name:
        return BestOfPast(LearnedPriority.load(SHIPPED))
    if path == Path("ours") and not path.exists():
        path = SHIPPED
    if not path.is_file():
        problem = (
            "expected agent:ours, or agent:FILE as rheostat train wrote it; found no such file"
        )
        raise DataError(name, [problem])
    return _as_agent(load(path, AGENTS), path)


def _as_agent(loaded: Any, path: Path) -> LearnedPolicy | AgentPolicy:
    name = f"agent:{path.stem}"
    if isinstance(loaded, LearnedPriority):
        return LearnedPolicy(loaded, name)
    return AgentPolicy(loaded, name)
