"""`llm.plan` for a trace of requests: configuration, replicas and order, by serving it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheostat.core.front import Front
from rheostat.core.jobs import JobTable
from rheostat.core.report import Grid, Report, Section
from rheostat.core.space import Setting
from rheostat.core.units import parse_quantity
from rheostat.decision.serving.engine_line import engine_line
from rheostat.explanation.choices.choice import bought
from rheostat.explanation.formats.long_tables import MOST
from rheostat.explanation.interval_words import interval_words
from rheostat.explanation.serving_report import candidates_grid, candidates_section
from rheostat.measurement.serving.traffic import read_traffic
from rheostat.prediction.serving_law import ServingLaw
from rheostat.questions import inputs, listener
from rheostat.questions.llm.plan_answer import PlanAnswer
from rheostat.questions.llm.serving_model import CacheSize
from rheostat.tradeoff.limits import Limit

FIRST_TOKEN = "10s"


@dataclass(frozen=True, kw_only=True, repr=False)
class TraceAnswer(PlanAnswer):
    """Candidates that served a trace.

    Parameters
    ----------
    requests : int
        Of the trace.
    candidates : tuple of mapping
        ``setting``, ``replicas``, ``order`` and figures, the best first.
    rules : mapping
        What simple rules would take of them, with ``energy_ratio``.
    """

    requests: int
    candidates: tuple[Mapping[str, Any], ...]
    rules: Mapping[str, Mapping[str, Any]]

    @property
    def setting(self) -> Setting:
        """That of the best candidate."""
        best: Setting = self.candidates[0]["setting"]
        return best

    @property
    def engine_line(self) -> str:
        """The command that starts each of the replicas."""
        return engine_line(self.app, self.started, self.engine)

    def report(self) -> Report:
        """The choice, what simple rules take, how to start it, and the best candidates."""
        said = (self._answered(), self._price(), *interval_words(self.law))
        answer = Section("answer", said)
        rules = Section("What simple rules would take", self._regrets())
        start = Section("to start each replica", listing=self.engine_line)
        table = candidates_section(self.candidates, MOST)
        return Report("", [answer, rules, start, table], self.facts())

    def page_report(self) -> Report:
        """The same with all candidates."""
        report = self.report()
        if len(self.candidates) <= MOST:
            return report
        every = Section("All candidates", grid=candidates_grid(self.candidates), folded=True)
        return replace(report, sections=[*report.sections, every])

    def facts(self) -> dict[str, Any]:
        """The candidates, the choice, and what simple rules would take."""
        return {"requests": self.requests, "candidates": list(self.candidates),
                "choice": self.candidates[0], "feasible": True, "engine_line": self.engine_line,
                "simple_rules": self.rules}  # fmt: skip

    def text(self) -> str:
        """A line a candidate."""
        best = self.candidates[0]
        keys = [k for k in best if k not in ("setting", "excess")]
        lines = [[*best["setting"], *keys]]
        for row in self.candidates:
            cells = (f"{c:.4g}" if isinstance(c, float) else str(c) for c in (row[k] for k in keys))
            lines.append([*map(str, row["setting"].values()), *cells])
        return "".join("\t".join(line) + "\n" for line in lines)

    def grids(self) -> tuple[Grid, ...]:
        """A row a candidate."""
        return (candidates_grid(self.candidates),)

    def beside(self) -> tuple[str, ...]:
        """The choice, what the simple rules take and cost more, and how to start it."""
        return (self._answered(), *self._regrets(), *interval_words(self.law),
                f"to start each replica: {self.engine_line}")  # fmt: skip

    def _answered(self) -> str:
        """What to take, and what it makes of the trace."""
        best = self.candidates[0]
        return (f"least energy: {_replicas(best)}: {best['energy_per_token_j']:.3g} J a token, "
                f"first tokens of 99 % within {best['ttft_p99_s']:.3g} s, answers within "
                f"{best['p99_s']:.3g} s")  # fmt: skip

    def _price(self) -> str:
        """How much sooner answers come with another candidate that holds the limits."""
        best = self.candidates[0]
        holds = [c for c in self.candidates if c["excess"] <= best["excess"]]
        soonest = min(holds, key=lambda c: float(c["p99_s"]))
        if soonest["p99_s"] >= best["p99_s"]:
            return "Its price: no other candidate answers sooner."
        ratio = soonest["energy_per_token_j"] / best["energy_per_token_j"]
        return (f"Its price: {_replicas(soonest)} answers within {soonest['p99_s']:.3g} s, for "
                f"{bought(ratio - 1, 'energy')} a token.")  # fmt: skip

    def _regrets(self) -> tuple[str, ...]:
        """What each simple rule takes, and how much more energy."""
        late = {n: "" if r["excess"] == 0 else ", misses the limit" for n, r in self.rules.items()}
        return tuple(f"{name}: {_replicas(row)}: {100 * (row['energy_ratio'] - 1):+.1f} % energy "
                     f"per token{late[name]}" for name, row in self.rules.items())  # fmt: skip


def for_trace(
    app: str, law: ServingLaw, runs: JobTable, front: Front, allowed: NDArray[np.bool_],
    trace: inputs.Jobs, *, ttft: str | Limit, most: int, cache: CacheSize, engine: str,
) -> TraceAnswer:  # fmt: skip
    """Candidates on the trace: the best first, with what it is beside first come, first served."""
    from rheostat.questions.llm import (
        serving_trace as served,  # loads numba, which no plan without needs
    )

    requests = trace if isinstance(trace, JobTable) else read_traffic(Path(trace))
    listener.notes(requests.notes)
    counts = [n for n in (2**k for k in range(12)) if n <= most]
    longest_s = ttft.most if isinstance(ttft, Limit) else parse_quantity(ttft or FIRST_TOKEN, "s")
    with listener.working(f"serving {len(requests):,} requests with every candidate"):
        rows = served.plan_for_trace(law, front, requests, served.TraceLimits(longest_s), counts,
                                     allowed, cache)  # fmt: skip
    length = requests.numpy("prompt_tokens") + requests.numpy("output_tokens")
    listener.notes([*front.outcome.notes, cache.words(float(length.mean()))])
    best = served.best_for_trace(rows)
    rules = {
        name: {**row, "energy_ratio": row["energy_per_token_j"] / best["energy_per_token_j"]}
        for name, row in served.simple_rules_on_trace(front, rows).items()
    }
    return TraceAnswer(app=app, engine=engine, law=law, front=front, runs=runs,
                       requests=len(requests), candidates=tuple(rows), rules=rules)  # fmt: skip


def _replicas(row: Mapping[str, Any]) -> str:
    setting = ", ".join(f"{k}={v}" for k, v in row["setting"].items())
    return f"{row['replicas']} x {setting}, {row['order']}"
