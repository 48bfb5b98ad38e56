"""How good is a way of predicting speed under caps - in accuracy, and in the caps it then keeps?

A published evaluation may look at what nobody has online.  Three such leaks are switches here, all
off by default: speeds and counters divided by their highest in the whole sweep; errors counted at
the settings that were tried, too; and a selection that passes over settings whose *actual* loss is
too large before it takes the best predicted one.  Without the first, speed is relative to the
application's own run at the default setting, and that run counts as one of the n measurements.

Notation
--------
A  applications      p  settings      n  measurements, the default's run among them
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheostat.core.outcome import Array
from rheostat.decision.caps import LOSS, RISK
from rheostat.prediction.completion.cap_choice import keep, next_try
from rheostat.prediction.completion.model import CapModel
from rheostat.prediction.completion.table import CapTable


@dataclass(frozen=True)
class CapProtocol:
    """How a method is judged; the three leaks are off."""

    sweep_normalised: bool = False
    judged_on_tried: bool = False
    answer_key: bool = False
    loss: float = LOSS
    risk: float = RISK

    def table(self, table: CapTable) -> CapTable:
        """The table in the units of this protocol."""
        return table.fastest() if self.sweep_normalised else table.counters_by_default()


@dataclass(frozen=True)
class CapCase:
    """One application under one method: accuracy, R2, and what its choice of caps gained.

    ``accuracy`` is 100 less the mean absolute percentage error; ``shortfall`` how far below the
    bound the kept setting ran; ``regret_w`` the watts of caps that a choice with full knowledge
    would have saved beyond it (0 where the bound was broken to save more).
    """

    app: str
    accuracy: float
    r2: float
    violated: bool
    shortfall: float
    saved_w: float
    regret_w: float


def judge(
    app: str,
    truth: Array,
    guess: Array,
    tried: list[int],
    kept: int,
    saved_w: Array,
    how: CapProtocol,
) -> CapCase:
    """Score one completed row and the setting kept."""
    there = np.isfinite(truth)
    held = there.copy()
    if not how.judged_on_tried:
        held[tried] = False
    error = np.abs(guess[held] / truth[held] - 1.0)
    left = ((guess - truth)[held] ** 2).sum()
    total = ((truth[held] - truth[held].mean()) ** 2).sum()
    enough = 1.0 - how.loss
    best = saved_w[there & (truth >= enough - 1e-9)].max(initial=0.0)
    short = max(0.0, enough - float(truth[kept]))
    return CapCase(
        app,
        100.0 * (1.0 - float(error.mean())),
        float(1.0 - left / total),
        short > 1e-9,
        short,
        float(saved_w[kept]),
        max(0.0, float(best - saved_w[kept])),
    )


def pick(
    guess: Array, truth: Array, table: CapTable, how: CapProtocol, lower: Array | None = None
) -> int:
    """OPEN's selection: least caps per predicted speed among settings predicted within the loss.

    Where there is a ``lower`` bound on the speed, that must be within the loss.
    """
    allowed = (guess if lower is None else lower) >= 1.0 - how.loss - 1e-9
    if how.answer_key:
        allowed = allowed & (truth >= 1.0 - how.loss)
    allowed[~np.isfinite(truth)] = False
    if not allowed.any():
        return table.default
    cost = table.total_w / guess
    return int(np.where(allowed, cost, np.inf).argmin())


def drawn(
    table: CapTable, truth: Array, n: int, how: CapProtocol, rng: np.random.Generator
) -> list[int]:
    """N settings at random; without the first leak, one of them is the default."""
    there = np.flatnonzero(np.isfinite(truth))
    if how.sweep_normalised:
        return [int(i) for i in rng.choice(there, n, replace=False)]
    others = there[there != table.default]
    return [table.default, *(int(i) for i in rng.choice(others, n - 1, replace=False))]


def spaced(table: CapTable, truth: Array, n: int) -> list[int]:
    """N settings spread evenly over the watts, both ends among them; for one cap alone."""
    free = [int(i) for i in np.flatnonzero(np.isfinite(truth))]
    watts = table.total_w
    chosen: list[int] = []
    for goal in np.linspace(watts[free].max(), watts[free].min(), n):
        chosen.append(min(free, key=lambda i: abs(watts[i] - goal)))
        free.remove(chosen[-1])
    return chosen


@dataclass(frozen=True)
class Fill:
    """One application's row as a method filled it after the measurements."""

    app: str
    truth: Array
    guess: Array
    tried: list[int]
    lower: Array | None = None


def fills(
    make: Callable[[], Any],
    known: CapTable,
    new: CapTable,
    n: int,
    *,
    how: CapProtocol,
    seed: int = 0,
    heard: Any = None,
    choose: Callable[[CapTable, Array, int], list[int]] | None = None,
) -> list[Fill]:
    """A baseline's rows for all of ``new`` after n measurements, random without ``choose``.

    ``heard`` is a fitted `CounterSpeed`: speeds measured are then its estimates from counters,
    as OPEN has them, and not measured.
    """
    method, filled = make().fit(known), []
    for i, app in enumerate(new.apps):
        truth = new.speed[i]
        rng = np.random.default_rng([seed, i, n])
        tried = choose(new, truth, n) if choose else drawn(new, truth, n, how, rng)
        speed = truth[tried]
        if heard is not None and new.counters is not None:
            speed = heard.predict(new.values[tried], new.counters[i, tried])
        lower = method.bound(tried, speed, how.risk) if hasattr(method, "bound") else None
        filled.append(Fill(app, truth, method.fill(tried, speed), tried, lower))
    return filled


def marked(filled: list[Fill], new: CapTable, how: CapProtocol) -> list[CapCase]:
    """Score rows and the settings picked from them; the same rows may be scored in several ways."""
    return [
        judge(f.app, f.truth, f.guess, f.tried, pick(f.guess, f.truth, new, how, f.lower),
              new.saved_w, how)
        for f in filled
    ]  # fmt: skip


def run_baseline(
    make: Callable[[], Any], known: CapTable, new: CapTable, n: int, **how: Any
) -> list[CapCase]:
    """`fills`, then `marked`; ``how`` and the other arguments as there."""
    return marked(fills(make, known, new, n, **how), new, how["how"])


def run_ours(
    model: CapModel,
    new: CapTable,
    n: int,
    *,
    how: CapProtocol,
    choose: Callable[[CapTable, Array, int], list[int]] | None = None,
    active: bool = True,
    seed: int = 0,
    noise: float = 0.0,
) -> list[CapCase]:
    """Ours on every application of ``new``, n measurements in all; ``noise`` disturbs each.

    Measurements are those that ours asks for, else random ones or those of ``choose``.
    """
    cases = []
    for i, app in enumerate(new.apps):
        rng = np.random.default_rng([seed, i, n])
        truth = new.speed[i]
        saved_w = np.where(np.isfinite(truth), new.saved_w, -1.0)
        seen = np.where(np.isfinite(truth), truth, 1e-3)
        seen = seen * np.exp(noise * rng.standard_normal(len(seen)))
        tried = [] if how.sweep_normalised else [new.default]
        if choose or not active:
            tried = choose(new, truth, n) if choose else drawn(new, truth, n, how, rng)
        while len(tried) < n:
            completion = model.complete(tried, seen[tried], noise=noise)
            tried.append(next_try(model, completion, saved_w, how.loss))
        completion = model.complete(tried, seen[tried], noise=noise)
        needed = model.needed(tried, seen[tried], how.loss, how.risk, noise=noise)
        kept = keep(completion, saved_w, how.loss, needed, new.default)
        cases.append(judge(app, truth, completion.speed(), tried, kept.setting, new.saved_w, how))
    return cases


def summary(cases: list[CapCase], resamples: int = 1000) -> Mapping[str, Any]:
    """Means over applications, with 5 and 95 % over applications drawn with replacement."""
    apps = list(dict.fromkeys(c.app for c in cases))
    names = ("accuracy", "r2", "violated", "shortfall", "saved_w", "regret_w")
    by = np.array(
        [[np.mean([getattr(c, m) for c in cases if c.app == a]) for m in names] for a in apps]
    )
    rng = np.random.default_rng(0)
    means = by[rng.integers(0, len(apps), (resamples, len(apps)))].mean(axis=1)
    low, high = np.quantile(means, [0.05, 0.95], axis=0)
    return {m: (float(by[:, j].mean()), float(low[j]), float(high[j])) for j, m in enumerate(names)}
