"""`coschedule`: which jobs share a node's GPUs, on how many each, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

from rheostat.core.jobs import JobTable
from rheostat.core.report import Grid, Report
from rheostat.core.units import parse_quantity
from rheostat.decision.coschedule.constraint_programme import Optimum, optimum
from rheostat.decision.coschedule.expected_schedule import NodeSite
from rheostat.decision.coschedule.gpu_profiles import Profiles, has_signals
from rheostat.decision.coschedule.queue_files import read_profiles, read_queue
from rheostat.decision.coschedule.shared_node import Node, Waiting
from rheostat.errors import Infeasible, QuestionError
from rheostat.explanation.schedules.coschedule import (
    AIMS,
    coschedule_report,
    jobs_grid,
    policies_grid,
)
from rheostat.questions import listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.parse import Names, parse_names, parse_pairs
from rheostat.questions.written import write_csv
from rheostat.recipes import ecosched
from rheostat.recipes.ecosched import POLICIES, coschedule_facts
from rheostat.simulation.coschedule.node_simulation import NodeRun

NO_SIGNALS = (
    "no dram_active, fp_active or sm_clock for every mode: ecosched is given the profiled runtimes"
)
BEST_TRIED = "The plan is the best of the policies tried, not proven least: a better one may exist."
PROVEN = "No plan takes less: proven."
ROUNDING = 1e-6
NEIGHBOURS = "a job is taken to run longer by {:g} of its time for each neighbour: --interference"


@dataclass(frozen=True, kw_only=True, repr=False)
class CoscheduleAnswer(Answer):
    """A queue under several policies for shared nodes.

    Parameters
    ----------
    runs : tuple of NodeRun
        One per policy, the best in the objective first.
    node : Node
        What the jobs ran on.
    nodes : int
        How many of them there are.
    objective : str
        "edp", "makespan" or "energy".
    interference : float
        Slowdown of a job per neighbour.
    exact : Optimum or None
        The schedule that was searched, with its bound.
    """

    schema: ClassVar[str] = "rheostat.coschedule/1"
    runs: tuple[NodeRun, ...]
    node: Node
    nodes: int
    objective: str
    interference: float
    exact: Optimum | None = None

    @property
    def schedule(self) -> JobTable:
        """The best schedule, a row per job."""
        return self.runs[0].jobs

    def report(self) -> Report:
        """Policies compared, and the best schedule."""
        return coschedule_report(self._facts)

    def facts(self) -> dict[str, Any]:
        """Seconds and joules by policy, and the best schedule."""
        return self._facts

    def grids(self) -> tuple[Grid, ...]:
        """A row per policy; a row per job of the best."""
        return policies_grid(self._facts), jobs_grid(self._facts)

    def beside(self) -> tuple[str, ...]:
        """Whether a better plan may exist."""
        return (self._facts["certainty"],)

    @property
    def _proven(self) -> bool:
        """Whether the bound of the search, without cost of neighbours, is reached."""
        if self.exact is None or self.interference or self.objective == "edp":
            return False
        reached = getattr(self.runs[0], AIMS[self.objective][0])
        return self.exact.proven and reached <= self.exact.bound * (1 + ROUNDING)

    @cached_property
    def _facts(self) -> dict[str, Any]:
        how = {"idle_w": self.node.idle_w, "crowd": self.interference, "objective": self.objective}
        facts = coschedule_facts(self.runs, self.node.gpus, self.nodes, how)
        facts["certainty"] = PROVEN if self._proven else BEST_TRIED
        if best := self.exact:
            facts["exact"] = {"makespan_s": best.makespan_s, "energy_j": best.energy_j,
                              "edp_js": best.makespan_s * best.energy_j, "bound": best.bound,
                              "proven": best.proven}  # fmt: skip
        return facts


@question
def coschedule(
    profiles: Profiles | Path | str,
    queue: str | Sequence[Waiting] = "",
    *,
    where: Mapping[str, str] | Sequence[str] = (),
    policies: Names = (),
    objective: str = "edp",
    node: Node | None = None,
    nodes: int = 1,
    tenants: int = 4,
    interference: float = 0.05,
    exact: bool = False,
    seed: int = 0,
    renamed: Mapping[str, str] | Sequence[str] = (),
    out: Path | None = None,
) -> CoscheduleAnswer:
    """Pack jobs on the GPUs of a node and say what it takes in time and energy.

    Several policies plan the queue and the best plan in the objective is first; it is no worse than
    any plain list schedule, which are among them.  Runtimes are those profiled, slowed by
    neighbours; energy is that of the GPUs, idle ones included.  Nothing is started: the schedule is
    a plan.

    Parameters
    ----------
    profiles : mapping or path
        Applications on 1, 2, ... GPUs: ``app``, ``gpus``, ``runtime_s``, ``power_w``.
    queue : str or sequence of Waiting
        Jobs: ``lbm,resnet50*3``, or a file with ``app``; by default every application once.
    where : mapping of str to str, or texts
        Rows of a file of profiles to take, as ``column=value``.
    policies : sequence of str
        Candidates; all that are known by default.
    objective : str
        What the best is: edp (energy times makespan), makespan or energy.
    node : Node, optional
        GPUs by domain and the watts of an idle one; four in two domains with 60 W by default.
    nodes : int
        With several, packed matches jobs to nodes.
    tenants : int
        Most jobs on a node at once, for packed and list schedules.
    interference : float
        Slowdown of a job per neighbour, 0.05 is 5 %.
    exact : bool
        Also a schedule searched by OR-tools, for one node.
    seed : int
        Of what draws.
    renamed : mapping of str to str, or texts
        Columns of a file of profiles by other names, as ``gpus=num_gpus``.
    out : path, optional
        Also write the best plan here, a CSV file.

    Returns
    -------
    CoscheduleAnswer
        With ``runs`` and ``schedule``.

    Raises
    ------
    DataError
        Applications without a profile, or no such policy.
    QuestionError
        Arguments that do not go together.
    Infeasible
        An application needs more GPUs than a node has.

    Examples
    --------
    >>> from rheostat.decision.coschedule.gpu_profiles import Mode
    >>> known = {"a": (Mode("a", 1, 100.0, 300.0),), "b": (Mode("b", 1, 50.0, 200.0),)}
    >>> answer = coschedule(known, "a,b", policies="packed", interference=0.0)
    >>> answer.runs[0].makespan_s
    100.0
    """
    if exact and nodes > 1:
        raise QuestionError("--exact", [f"plans one node, got --nodes {nodes}"])
    if not interference <= 100:
        raise QuestionError(
            "--interference", [f"expected a share such as 0.05, got {interference}"]
        )
    known = (
        read_profiles(profiles, parse_pairs(where, "--where"), parse_pairs(renamed, "--column"))
        if isinstance(profiles, (str, Path))
        else profiles
    )
    jobs = read_queue(queue, known) if isinstance(queue, str) else list(queue)
    node = node or Node()
    tenants = min(tenants, node.gpus)
    _must_fit(jobs, known, node.gpus)
    candidates = parse_names(policies) or POLICIES
    signals = has_signals({j.app: known[j.app] for j in jobs})
    if any(c.startswith("ecosched") for c in candidates) and not signals:
        listener.note(NO_SIGNALS)
    if interference > 0 and tenants > 1:
        listener.note(NEIGHBOURS.format(interference))
    with listener.working(f"{len(jobs)} jobs"):
        best = _exact(jobs, known, node, tenants, objective, seed) if exact else None
        runs = ecosched.coschedule(
            jobs, known, node, candidates=candidates, objective=objective, nodes=nodes,
            plans=[best.plan(tenants)] if best else (), tenants=tenants, crowd=interference,
            seed=seed,
        )  # fmt: skip
    answer = CoscheduleAnswer(runs=tuple(runs), node=node, nodes=nodes, objective=objective,
                              interference=interference, exact=best)  # fmt: skip
    if out is not None:
        write_csv(answer.schedule.frame, out)
    return answer


def node_of(gpus: int, domains: int, idle: str) -> Node:
    """A node of so many GPUs in so many domains, with the power of an idle GPU as a text.

    >>> node_of(4, 2, "60W")
    Node(domains=((0, 1), (2, 3)), idle_w=60.0)
    """
    idle_w = parse_quantity(idle, "W")
    if domains > gpus:
        raise QuestionError("--domains", [f"at most one domain per GPU, got {domains} for {gpus}"])
    if not idle_w <= 1e5:
        raise QuestionError("--idle", [f"expected watts of one GPU, got {idle_w:g} W"])
    edges = [round(k * gpus / domains) for k in range(domains + 1)]
    return Node(tuple(tuple(range(a, b)) for a, b in pairwise(edges)), idle_w)


def _must_fit(jobs: Sequence[Waiting], known: Profiles, gpus: int) -> None:
    large = sorted({j.app for j in jobs if all(m.gpus > gpus for m in known[j.app])})
    if large:
        raise Infeasible(f"{', '.join(large)}: no mode fits on {gpus} GPUs", -1)


def _exact(
    jobs: Sequence[Waiting], known: Profiles, node: Node, tenants: int, objective: str, seed: int
) -> Optimum:
    least = "makespan" if objective == "makespan" else "energy"
    site = NodeSite(node.gpus, tenants, node.idle_w)
    return optimum(jobs, known, site, minimise=least, seed=seed)
