"""One generated site under one setting of the dials: a month's log, the next month's requests, and
the truth about every job at every setting.

Notation
--------
J  jobs of the next month      S  settings on the menu
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.stats import binom

from confounding_lib.confounded_site import ConfoundedSite, Month
from rheostat.core.jobs import Column, JobTable, Moment
from rheostat.core.space import Knob, powers_of_two
from rheostat.decision.decide import Advice
from rheostat.decision.trials.trial import plan_trial
from rheostat.prediction.features.requested_settings import DRAWN

LIMIT = 1.25
JOBS = 3000
MENU = Knob("nodes", powers_of_two(1, 256))
BY_CHANCE = Column(DRAWN, "", Moment.SUBMIT, "by chance")


@dataclass(frozen=True)
class Dials:
    """How confounded the site is, what its log records of sizes, and what share was randomised.

    Of a share of 1 chance draws every job's setting of the menu, whatever it asked for.
    """

    between: float
    within: float
    proxy: str
    trial: float
    law: str = "usl"
    n_apps: int = 60


@dataclass(frozen=True)
class Case:
    """A site: the ``log`` of one month and the next month, which is to be advised."""

    dials: Dials
    seed: int
    log: JobTable
    month: Month

    @classmethod
    def of(cls, dials: Dials, seed: int) -> Case:
        """The same seed gives the same applications and users at all dials."""
        site = ConfoundedSite(
            seed, dials.between, dials.within, dials.proxy, dials.n_apps, law=dials.law
        )
        past, month = site.month(JOBS, seed=0), site.month(JOBS, seed=1)
        if not dials.trial:
            return cls(dials, seed, past.run(), month)
        if dials.trial == 1:
            drawn = np.random.default_rng([seed, 6]).choice(MENU.values, JOBS)
            log = past.run(drawn).select(past.run().columns)
            return cls(dials, seed, log.with_columns([BY_CHANCE], **{DRAWN: True}), month)
        trial = plan_trial(past.requests, dials.trial, "nodes", seed=seed)
        return cls(dials, seed, past.run(trial.table.frame["nodes"].to_numpy()), month)

    def cost(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """True runtime (J,) and energy (J,) of the next month's jobs at ``nodes`` (J,)."""
        jobs = self.month.requests.with_columns((), nodes=nodes)
        truth = self.month.truth(jobs)
        return truth["runtime_s"][0], truth["energy_j"][0]

    @cached_property
    def asked(self) -> tuple[np.ndarray, np.ndarray]:
        """True runtime and energy as requested."""
        return self.cost(self.month.requests.frame["nodes"].to_numpy())

    @cached_property
    def oracle_saved_j(self) -> float:
        """Energy that the best settings within the limit would save."""
        runtime, energy = self.asked
        best = energy
        for n in MENU.values:
            t, e = self.cost(np.full(len(runtime), n))
            best = np.where(t <= LIMIT * runtime, np.minimum(best, e), best)
        return float((energy - best).sum())


def scored(case: Case, advice: Advice | None) -> dict[str, object]:
    """The row of one method: shares of the month's energy; no advice claims nothing."""
    runtime, energy = case.asked
    total = float(energy.sum())
    row: dict[str, object] = {**vars(case.dials), "seed": case.seed}
    oracle = case.oracle_saved_j / total
    if advice is None:
        return {**row, "claimed_saving": None, "true_saving": 0.0, "oracle_saving": oracle,
                "covered": None, "claimed_share": 0.0, "broken_limits": None, "kept_saving": 0.0,
                "broken_slower": None, "covered_jobs": None, "over_limit": None,
                "held": None, "more_energy": None}  # fmt: skip
    frame = advice.table.frame
    moved = (frame["status"] == "advised").to_numpy()
    nodes = np.where(moved, frame["nodes"].to_numpy(), frame["nodes_requested"].to_numpy())
    t, e = case.cost(nodes)
    more = moved & (e > energy * (1 + 1e-9))
    broken = moved & (t > LIMIT * runtime * (1 + 1e-9))
    slower = moved & (frame["runtime_s_change"].fill_null(0.0).to_numpy() > 0)
    judged = frame["status"].is_in(["advised", "kept"]).to_numpy()
    true = e[judged].sum() / max(energy[judged].sum(), 1e-9) - 1
    low, high = advice.totals["energy_j"].change[1:]
    inside = _inside(frame, "energy_j_change", e / energy - 1)
    return {
        **row,
        "claimed_saving": -advice.totals["energy_j"].change[0] if moved.any() else None,
        "true_saving": float((energy - e).sum() / total),
        "oracle_saving": oracle,
        "covered": bool(low <= true <= high) if moved.any() else None,
        "claimed_share": float(moved.mean()),
        "broken_limits": float(broken.sum() / moved.sum()) if moved.any() else None,
        "kept_saving": float((energy - e)[moved & ~broken].sum() / total),
        "broken_slower": float(broken[slower].mean()) if slower.any() else None,
        "covered_jobs": float(inside[moved].mean()) if moved.any() else None,
        "over_limit": advice.over_limit,
        "more_energy": float(more.mean()),
        "held": all(
            _held(bad, moved, stated[2])
            for bad, stated in ((broken, advice.over_limit), (more, advice.more_energy))
            if stated is not None
        )
        if moved.any()
        else None,
    }


def _held(broken: np.ndarray, moved: np.ndarray, most: float) -> bool:
    """Whether no more jobs broke their limit than the stated share, or chance, explains."""
    n = int(moved.sum())
    return bool(broken.sum() <= binom.ppf(0.95, n, most))


def _inside(frame, name: str, true: np.ndarray) -> np.ndarray:  # type: ignore[no-untyped-def]
    low, high = (frame[f"{name}_{b}"].fill_null(np.nan).to_numpy() for b in ("low", "high"))
    return (low <= true) & (true <= high)
