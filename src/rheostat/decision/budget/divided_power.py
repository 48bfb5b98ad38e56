"""Batch jobs and served language models under one limit of power: who gets which watts.

A served model is a row of the budget like a node: its options are the configurations that hold its
limits, each with the watts that it may draw at most.  Batch jobs are one row more: from idle to all
processors at work, capped ones on the way where a cap is worth it.  A share of speed that is lost
counts by the watts which that row takes at full speed.

Notation
--------
k  configurations      cap_w, draw_w, rate : (k,), ascending; watts at most, in the mean, tokens/s
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Array
from rheostat.decision.budget.allocate import Allocation, allocate
from rheostat.errors import DataError, Infeasible

STEPS = 400
"""Options of the batch jobs, from idle to all at work."""


@dataclass(frozen=True)
class ServedModel:
    """A language model at the configurations that hold its limits, the fastest last."""

    app: str
    cap_w: Array
    draw_w: Array
    rate: Array
    setting: tuple[str, ...]

    @property
    def speed(self) -> Array:
        """Tokens per second as parts of the most, (k,)."""
        return np.asarray(self.rate / self.rate[-1])


def served_models(runs: JobTable) -> tuple[ServedModel, ...]:
    """Models of a table of runs under caps, as ``llm plan`` writes it.

    Of runs at the same watts the mean counts; configurations that are no faster than one of fewer
    watts are left out.

    >>> import rheostat as rh
    >>> runs = rh.table({"app": ["chat"] * 3, "cap_w": [300.0, 500.0, 700.0],
    ...                  "runtime_s": [2.0, 1.0, 1.5]})
    >>> (chat,) = served_models(runs)
    >>> chat.cap_w.tolist(), chat.speed.tolist()
    ([300.0, 500.0], [0.5, 1.0])
    """
    runs.require("app", "cap_w", "runtime_s")
    power = pl.col("power_w") if "power_w" in runs.columns else pl.col("cap_w")
    label = pl.col("setting") if "setting" in runs.columns else pl.lit("")
    frame = runs.frame.select(
        "app", pl.col("cap_w", "runtime_s").cast(pl.Float64),
        draw_w=pl.coalesce(power, "cap_w"), setting=label,
    )  # fmt: skip
    bad = frame.filter(~((pl.col("cap_w") > 0) & (pl.col("runtime_s") > 0)).fill_null(False))
    if frame.is_empty() or len(bad):
        problem = (
            f"cap_w and runtime_s: expected watts and seconds above 0, {len(bad)} rows lack them"
        )
        raise DataError("served model", [problem])
    at = frame.group_by("app", "cap_w", maintain_order=True).agg(
        pl.col("draw_w").mean(), rate=1.0 / pl.col("runtime_s").mean(), setting=pl.first("setting")
    )
    faster = pl.col("rate") > pl.col("rate").cum_max().shift(1, fill_value=0.0).over("app")
    kept = at.sort("cap_w").filter(faster)
    return tuple(
        _model(str(name), own) for (name,), own in kept.group_by("app", maintain_order=True)
    )


def _model(app: str, own: pl.DataFrame) -> ServedModel:
    cap, draw, rate = (own[c].to_numpy() for c in ("cap_w", "draw_w", "rate"))
    return ServedModel(app, cap, draw, rate, tuple(own["setting"].fill_null("")))


@dataclass(frozen=True)
class BatchPower:
    """Watts of a site's nodes when idle and with all at work; a cap's share of power and speed."""

    idle_w: float
    full_w: float
    capped: tuple[float, float] = (1.0, 1.0)

    def options(self) -> tuple[Array, Array]:
        """Watts and share of the full speed, (STEPS + 1,): the best mixture of capped and not."""
        watts = np.linspace(self.idle_w, self.full_w, STEPS + 1)
        power, speed = self.capped
        between = np.clip(power * self.full_w, self.idle_w, self.full_w)
        ends = [self.idle_w, self.full_w]
        plain = np.interp(watts, ends, [0.0, 1.0])
        if not self.idle_w < between < self.full_w:
            return watts, plain
        mixed = np.interp(watts, [ends[0], between, ends[1]], [0.0, speed, 1.0])
        return watts, np.maximum(plain, mixed)


@dataclass(frozen=True)
class Division:
    """A limit divided: the configuration of each model, what is left to batch jobs, how sure.

    ``certificate`` is None where the least of all does not fit: each then has its least.
    """

    limit_w: float
    batch_w: float
    choice: tuple[int, ...]
    certificate: Allocation | None


def divide(limit_w: float, batch: BatchPower, models: Sequence[ServedModel]) -> Division:
    """The division of ``limit_w`` that loses least speed, each counted by its watts.

    >>> chat = ServedModel("chat", np.array([300.0, 500.0]), np.array([250.0, 450.0]),
    ...                    np.array([9.0, 10.0]), ("a", "b"))
    >>> cut = divide(1000.0, BatchPower(100.0, 700.0), [chat])
    >>> cut.choice, cut.batch_w, cut.certificate.exact
    ((0,), 700.0, True)
    """
    rows = [batch.options(), *((m.cap_w, m.speed) for m in models)]
    most = max(len(w) for w, _ in rows)
    watts = np.full((len(rows), most), np.inf)
    value = np.full((len(rows), most), -np.inf)
    for i, (w, speed) in enumerate(rows):
        watts[i, : len(w)], value[i, : len(w)] = w, speed * w[-1]
    try:
        best = allocate(watts, value, limit_w)
    except Infeasible:
        least = sum(float(m.cap_w[0]) for m in models)
        return Division(limit_w, limit_w - least, (0,) * len(models), None)
    choice = tuple(int(c) for c in best.choice[1:])
    served = sum(float(m.cap_w[c]) for m, c in zip(models, choice, strict=True))
    return Division(limit_w, limit_w - served, choice, best)
