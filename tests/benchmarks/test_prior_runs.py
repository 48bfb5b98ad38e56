"""Prior runs with and without: machines become names, and all settings have all of the area."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from nodecount_lib.pools import make_pool

pytest.importorskip("gpytorch")

import prior_runs


def pool(machine: str, app: str, watts: float, nodes=(1.0, 2.0, 4.0)):
    n = np.array(nodes)
    y = np.stack([100 / n, watts * n, 100 * watts * n**0.2], axis=1)
    return make_pool(f"{machine}/{app}", machine, app, knobs=("nodes",), settings=n[:, None], y=y,
                     source="")  # fmt: skip


def test_an_application_of_two_machines_has_the_machine_as_a_knob():
    pools = [pool(m, a, w) for m, w in (("A", 90.0), ("B", 50.0)) for a in ("x", "y")]
    found = {c.name: c for c in prior_runs.named([*pools, pool("A", "alone", 10.0)])}
    assert set(found) == {"x", "y"}
    assert found["x"].rows.select("nodes", "machine").n_unique() == 6
    assert set(found["x"].others["app"]) == {"y"}


@pytest.mark.parametrize("budget", [1, 3])
def test_the_share_is_that_of_what_was_measured(budget):
    own = prior_runs.frame(pool("A", "x", 90.0))
    none = own.filter(pl.col("nodes") < 0)
    case = prior_runs.Case("x", own, none, ("nodes",), prior_runs.THREE)
    share = prior_runs.share(case, prior=False, budget=budget, seed=0)
    assert share == 1.0 if budget == 3 else 0 < share < 1


def test_generated_applications_have_their_kink_elsewhere():
    made = {c.name: c for c in prior_runs.elsewhere(3, prior_runs.NAMED)}
    assert len(made) == 12
    slowed = made["communication 4 14"]
    runtime = {n: t for n, t in slowed.rows.select("nodes", "runtime_s").rows()}
    assert runtime[8.0] < runtime[4.0] / 1.4  # the others are slower from 4 nodes on, this is not
    past = (
        slowed.others.filter(pl.col("nodes").is_in([4.0, 8.0]))
        .group_by("app")
        .agg(
            ratio=pl.col("runtime_s").sort_by("nodes").last()
            / pl.col("runtime_s").sort_by("nodes").first()
        )
    )
    assert past.height == 6
    assert (past["ratio"] > 0.75).all()
    again = next(prior_runs.elsewhere(3, prior_runs.NAMED))
    assert again.rows.equals(made[again.name].rows)
