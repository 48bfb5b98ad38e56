"""A recorded run of a server, played again by a replica, and the step times that fit it best.

Notation
--------
x  logarithms of base_s, request_s, context_s, prefill_s and delay_s

The misfit is the mean absolute logarithm of latency over the recorded one, with that of first
tokens beside at less weight.  Who shares a batch with whom changes in jumps, so that it has many
hollows: differential evolution looks for the deepest, Nelder and Mead for its bottom.  Where the
log cannot tell two terms of a step apart, their ratio stays near that of a default replica.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import differential_evolution, minimize

from rheostat.core.jobs import JobTable
from rheostat.errors import DataError
from rheostat.simulation.serving.deployment import Admission, Asked, Deployment, through
from rheostat.simulation.serving.replica import TIMES, Array, Replica, too_long
from rheostat.simulation.serving.request_columns import (
    Flags,
    cached_tokens,
    held_tokens,
    shown_first,
    tool_calls,
)
from rheostat.simulation.serving.routing import PrefixBlocks, prefix_blocks

Rows = NDArray[np.int64]
NAMES = ("ttft", "tpot", "latency")
FIRST_TOKEN = 0.3  # weight of first tokens beside whole answers
WORST = 1.0  # a log error beyond this counts as this: one request shall not decide
USUAL_RATIO = 0.002  # weight of the squared log deviations from the ratios of a default replica
USUAL_DELAY_S = 0.01
LEAST_S = 1e-4
GENERATIONS, QUICK = 60, 25
AROUND = np.array([1.5, 2.3, 2.3, 2.3, 4.0])
"""Logarithms by which step times may be off the ratios of a default replica in the search."""

HARDLY_WAITED = 0.1
"""Share of requests whose first tokens came so soon that most of it was their prefill."""


@dataclass(frozen=True)
class Recording:
    """Requests as arrays, each (n,), and their measured ``ttft``, ``tpot`` and ``latency`` (s).

    ``known`` are tokens of each prompt that a prefix cache held, and ``calls`` answers that call
    tools, where the log says so; ``blocks`` are those of the prompts, where it has them.
    """

    submit: Array
    prompt: Array
    output: Array
    end: Array
    measured: dict[str, Array]
    known: Array | None = None
    blocks: PrefixBlocks | None = None
    calls: Flags | None = None

    @classmethod
    def of(cls, requests: JobTable) -> Recording:
        """Of a table with moments; times to first tokens are NaN where it has no ``start_s``."""
        requests.require("submit_s", "prompt_tokens", "output_tokens", "end_s")
        submit, prompt, output, end = (
            requests.numpy(c).astype(float)
            for c in ("submit_s", "prompt_tokens", "output_tokens", "end_s")
        )
        problems = too_long("prompt_tokens", prompt) + too_long("output_tokens", output)
        if problems:
            raise DataError("recorded requests", problems)
        known = "start_s" in requests.columns
        first = requests.numpy("start_s").astype(float) if known else np.full(len(submit), np.nan)
        blocks = prefix_blocks(requests) if "prefix_blocks" in requests.columns else None
        return cls(submit, prompt, output, end, _latencies(submit, first, end, output),
                   cached_tokens(requests), blocks, tool_calls(requests))  # fmt: skip

    def __len__(self) -> int:
        return len(self.submit)

    @property
    def blind(self) -> bool:
        """Whether some of the first tokens are not known."""
        return not bool(np.isfinite(self.measured["ttft"]).all())

    def until(self, rows: Rows) -> Recording:
        """Without the requests that came after the last of ``rows`` was answered."""
        keep = self.submit <= max(self.end[rows].max(), self.submit[rows].max())
        return self.first(int(keep.sum()))

    def first(self, count: int) -> Recording:
        """The first so many."""
        measured = {name: values[:count] for name, values in self.measured.items()}
        return Recording(self.submit[:count], self.prompt[:count], self.output[:count],
                         self.end[:count], measured,
                         None if self.known is None else self.known[:count],
                         None if self.blocks is None else self.blocks.first(count),
                         None if self.calls is None else self.calls[:count])  # fmt: skip

    def played(self, replica: Replica, deployment: Deployment) -> dict[str, Array]:
        """``ttft``, ``tpot`` and ``latency`` (s) as these replicas have them."""
        submit = self.submit + replica.delay_s
        usual = np.full(len(self), self.output.mean())
        expected_s = replica.cost_s(self.prompt, usual)
        asked = Asked(submit, self.prompt, self.output, expected_s, self.blocks, self.known)
        never = np.full(len(self), np.inf)
        order = Admission(submit, never, never)
        made = through(deployment, replica, asked, order)
        first = shown_first(made.first, made.end, self.calls, replica.tool_delay_s)
        return _latencies(self.submit, first, made.end, self.output)

    def with_hit_rate(self, rate: float) -> Recording:
        """A prefix cache held this share of every prompt."""
        return replace(self, known=held_tokens(self.prompt, rate))

    def texts(self, rows: Rows) -> Rows:
        """Those of the rows whose answers call no tool, or all where all do."""
        kept = rows if self.calls is None else rows[~self.calls[rows]]
        return kept if len(kept) else rows


def _latencies(submit: Array, first: Array, end: Array, output: Array) -> dict[str, Array]:
    more = np.where(output > 1, output - 1, np.nan)
    times = (first - submit, (end - first) / more, end - submit)
    return {n: np.where(t < LEAST_S, LEAST_S, t) if n != "tpot" else t
            for n, t in zip(NAMES, times, strict=True)}  # fmt: skip


def misfit(log: Recording, replica: Replica, deployment: Deployment, rows: Rows) -> float:
    """Mean absolute log error of latency, with first tokens at less weight where there are some."""
    made = log.played(replica, deployment)
    whole = np.log(made["latency"] / log.measured["latency"])[rows]
    first = np.log(made["ttft"] / log.measured["ttft"])[log.texts(rows)]
    late = np.minimum(np.abs(whole), WORST).mean()
    return float(
        late if log.blind else late + FIRST_TOKEN * np.minimum(np.abs(first), WORST).mean()
    )


def _most_prefill(log: Recording, rows: Rows) -> float:
    """Logarithm of what a prefilled token takes at most, by those who hardly waited."""
    todo = log.prompt if log.known is None else np.maximum(log.prompt - log.known, 1.0)
    each = (log.measured["ttft"] / todo)[rows]
    return -np.inf if log.blind else float(np.log(np.quantile(each, HARDLY_WAITED)))


def fitted(
    log: Recording, rows: Rows, replica: Replica, deployment: Deployment, *,
    generations: int = GENERATIONS, seed: int = 0,
) -> tuple[Replica, float]:  # fmt: skip
    """The replica with the step times that fit ``rows`` best, and their misfit.

    Parameters
    ----------
    log
        What is played.
    rows
        Requests whose answers are looked at.
    replica
        Its limits; its step times are not used.
    deployment
        How many of them.
    generations
        Of the search; each plays the log 40 times.
    seed
        Of the search.
    """
    usual = np.log([*(getattr(Replica, name) for name in TIMES), USUAL_DELAY_S])

    def of(x: Array) -> Replica:
        base, request, context, prefill, delay = (float(v) for v in np.exp(np.clip(x, -60.0, 20.0)))
        return replace(replica, base_s=base, request_s=request, context_s=context,
                       prefill_s=prefill, delay_s=delay)  # fmt: skip

    def loss(x: Array) -> float:
        away = x - usual
        away[:4] -= np.median(away[:4])
        away[4] /= 2
        return misfit(log, of(x), deployment, rows) + USUAL_RATIO * float((away**2).mean())

    seen = log.texts(rows)
    tpot, whole = log.measured["tpot"][seen], (log.measured["latency"] / log.output)[seen]
    slower = np.log(np.median(np.where(tpot > 0, tpot, whole)) / Replica.base_s) - 0.5
    middle = usual + np.append(np.full(4, slower), 0.0)
    box = np.column_stack([middle - AROUND, middle + AROUND])
    box[3, 1] = max(box[3, 1], _most_prefill(log, seen))
    x = differential_evolution(
        loss, box, popsize=8, maxiter=generations, seed=seed, polish=False, tol=1e-3, init="sobol",
        mutation=(0.4, 0.9), recombination=0.8,
    ).x  # fmt: skip
    corners = np.vstack([x, x + 0.2 * np.eye(len(x))])
    options = {"maxiter": 300, "xatol": 1e-3, "fatol": 1e-4, "initial_simplex": corners}
    x = minimize(loss, x, method="Nelder-Mead", options=options).x
    return of(x), loss(x)
