"""`compare_policies`: batch policies on many traces, and what may be claimed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rheostat.core.report import Grid, Report
from rheostat.errors import QuestionError
from rheostat.explanation.schedules.schedule_protocol import claims, protocol_report, sweep_grid
from rheostat.prediction.out_of_core.dask_cluster import Workers
from rheostat.questions import listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question
from rheostat.questions.parse import Names, parse_names
from rheostat.questions.scheduling.policies import open_policies, open_policy
from rheostat.questions.workers import cores
from rheostat.simulation.comparison.protocol import (
    HEURISTICS,
    ComparisonProtocol,
    check_fitted,
    fitted_of,
    judge,
)
from rheostat.simulation.comparison.sweep import (
    policy_name,
    sweep,
    tasks_of,
    trace_files,
    trace_name,
)
from rheostat.simulation.policies.overdue import agreed


@dataclass(frozen=True, kw_only=True, repr=False)
class PoliciesAnswer(Answer):
    """Policies held against the best simple order, trace by trace.

    Parameters
    ----------
    verdict : mapping
        Ratios with intervals, gates and claims, as `rheostat.simulation.comparison.protocol.judge`
        gives them.
    """

    schema: ClassVar[str] = "rheostat.compare-policies/1"
    verdict: Mapping[str, Any]

    def report(self) -> Report:
        """What may be claimed, and why not more."""
        return protocol_report(self.verdict)

    def page_report(self) -> Report:
        """The same with every trace."""
        return protocol_report(self.verdict, full=True)

    def facts(self) -> Mapping[str, Any]:
        """Every ratio, gate and claim."""
        return self.verdict

    def grids(self) -> tuple[Grid, ...]:
        """A row per policy and trace."""
        return (sweep_grid(self.verdict),)

    def beside(self) -> tuple[str, ...]:
        """What may be claimed of each policy."""
        return claims(self.verdict)


@question
def compare_policies(
    policies: Names,
    traces: Sequence[Path | str],
    *,
    heuristics: Names = (),
    fitted: Sequence[str] = (),
    max_wait: float = 1.5,
    test_fraction: float = 0.5,
    machine: str = "",
    estimates: str = "user",
    semantics: str = "textbook",
    ties: str = "event",
    overdue: str = "",
    processes: int = 0,
    workers: Workers | None = None,
    results: Path | None = None,
    replays: int = 0,
    seed: int = 0,
) -> PoliciesAnswer:
    """Run batch policies over whole traces and hold each against the best simple order.

    Over all jobs, over the newest ``test_fraction`` of them, and on the machines that a policy was
    not fitted on.  A claim is made only where no gate fails.

    Parameters
    ----------
    policies, heuristics : sequence of str
        Names as `open_policy` takes them, and what the best is taken from; by default ten orders
        under EASY.
    traces : sequence of path
        Traces, or folders of them.
    fitted : sequence of str
        ``POLICY=TRACE,TRACE`` or ``POLICY=all``: what a policy was fitted or tuned on.
    max_wait : float
        Limit of the longest wait, times first come, first served with EASY.
    test_fraction : float
        Share of the newest jobs that is judged by itself.
    machine : str
        Processors, or a TOML file; by default what each trace says.
    estimates, semantics, ties, overdue
        As those of `rheostat.simulate`.
    processes : int
        0: one per core.
    workers : Workers, optional
        Dask workers instead, as `rheostat.questions.workers.workers_of` gives them.
    results : path, optional
        Finished runs, kept here; done ones are not done again.
    replays : int
        Runs of each trace once more with submissions moved by up to 120 s: schedules are chaotic,
        and what is less than they differ by is no difference.
    seed : int
        Of intervals.

    Returns
    -------
    PoliciesAnswer
        With ``verdict``.

    Raises
    ------
    DataError
        No such policy or trace, or two traces of one name.
    QuestionError
        No trace is given.
    """
    if not traces:
        raise QuestionError("--traces", ["expected a trace or a folder of traces, got none"])
    rules = ComparisonProtocol(
        tuple(dict.fromkeys(map(policy_name, parse_names(policies)))),
        tuple(map(policy_name, parse_names(heuristics))) or HEURISTICS,
        fitted_of(fitted),
        max_wait,
        seed,
    )
    made = open_policies(rules.everything, "--policies", semantics=semantics, ties=ties)
    files = trace_files(traces)
    check_fitted(rules, sorted(map(trace_name, files)))
    how = {
        "estimates": estimates, "semantics": semantics, "ties": ties, "machine": machine,
        "split": 1.0 - test_fraction,
        "overdue": agreed(made, overdue, estimates, default="extend"),
    }  # fmt: skip
    with listener.stages() as progress:
        done = sweep(
            tasks_of(files, rules.everything, replays=replays, **how),  # type: ignore[arg-type]
            open_policy=open_policy,
            processes=processes or cores(),
            workers=workers,
            results=results,
            progress=progress,
        )
    seen = dict.fromkeys(f"{trace_name(t.trace)}: {n}" for t in done if not t.replay
                         for n in done[t]["notes"])  # fmt: skip
    for note in seen:
        listener.note(note)
    return PoliciesAnswer(verdict=judge(done, rules))
