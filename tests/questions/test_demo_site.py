"""The generated site of `rheostat serve --demo`: its advice against the truth behind its log."""

from __future__ import annotations

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.measurement.synthetic.world import World
from rheostat.questions.advice.lookup import advice_lookup
from rheostat.questions.demonstration.demo_site import DemoWorld, generated

JOBS = 4000
SLOWER = 0.1
"""What the advice allows, for 80 % of the jobs."""


def test_jobs_that_are_advised_save_and_energy_and_hold_their_limit():
    log, _ = generated(0, JOBS)
    rows = advice_lookup(log, knobs="nodes=1..64").rows
    world = DemoWorld.of(0, JOBS)
    order = dict(zip(log.frame["job_id"], range(len(log)), strict=True))
    asked = log.rows(np.array([order[j] for j in rows["job_id"]]))
    moved = JobTable(asked.frame.with_columns(nodes=rows["nodes"]), asked.schema)
    before, after = world.truth(asked), world.truth(moved)
    slower, saved = (after.mean(q) / before.mean(q) - 1 for q in ("runtime_s", "energy_j"))
    advised = (rows["status"] == "advised").to_numpy()
    assert 5 <= advised.sum() < 0.2 * len(rows)
    assert (slower[advised] <= SLOWER).mean() >= 0.8
    assert (saved[advised] < 0).mean() >= 0.9
    assert np.median(saved[advised]) < -0.02
    left = rows.filter(pl.col("status") != "advised")
    assert (left["nodes"] == left["nodes_requested"]).all()


def test_half_of_the_projects_ask_for_four_times_as_many_nodes_as_their_like():
    site, usual = DemoWorld.of(0, JOBS), World(0, max_nodes=64)
    raised = site.projects.level - usual.projects.level
    assert set(np.round(raised, 9)) == {0.0, 2.0}
    assert 0.35 < (raised > 0).mean() < 0.65
    poor = site.apps.contention >= 0.1
    assert poor.sum() == site.n_apps / 3
    assert (site.apps.contention == usual.apps.contention)[~poor].all()
