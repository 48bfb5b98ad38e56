"""Where chance drew every setting, runs of a setting tell what the next one takes there."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat import table
from rheostat.core.jobs import Column, Moment
from rheostat.prediction.effects import WithinApplication
from rheostat.prediction.features.requested_settings import DRAWN

NODES = (1, 2, 4, 8, 16)
SECONDS = np.array([11500.0, 6000.0, 3300.0, 1950.0, 1300.0])
HOUR = 3600.0


def log(n=400, noise=0.05, at=4, seed=1, drawn=True):
    """Jobs at nodes that chance drew; at one of them time is 1.3 times what curves say."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, len(NODES), n)
    bump = np.where(np.array(NODES) == at, 1.3, 1.0)
    seconds = (SECONDS * bump)[place] * np.exp(noise * rng.standard_normal(n))
    nodes, submit = np.array(NODES)[place], HOUR * np.arange(n)
    jobs = table({"job_id": np.arange(n), "app": ["cfd"] * n, "user": ["u"] * n, "nodes": nodes,
                  "submit_s": submit, "runtime_s": seconds, "power_w": 350.0 * nodes})  # fmt: skip
    if not drawn:
        return jobs
    return jobs.with_columns([Column(DRAWN, "", Moment.SUBMIT, "")], **{DRAWN: [True] * n})


def asked(nodes):
    """One job that had asked for one node, at each of ``nodes``."""
    n = len(nodes)
    return table({"job_id": [9] * n, "app": ["cfd"] * n, "user": ["u"] * n, "nodes": list(nodes),
                  "nodes_requested": [1] * n, "submit_s": [2e6] * n})  # fmt: skip


def test_a_setting_takes_what_its_runs_took_not_what_a_curve_through_all_says():
    forecast = WithinApplication(("nodes",)).fit(log()).predict(asked(NODES))
    truth = SECONDS * [1, 1, 1.3, 1, 1]
    assert forecast.mean("runtime_s") == pytest.approx(truth, rel=0.03)
    low, high = forecast.interval("runtime_s")
    assert np.log(high / low) == pytest.approx(np.full(5, 2 * 1.645 * 0.05), rel=0.35)
    assert forecast.support.sum() == 400


def test_a_setting_that_never_ran_is_as_unsure_as_unlike_jobs_are():
    forecast = WithinApplication(("nodes",)).fit(log(at=0)).predict(asked((8, 12)))
    low, high = forecast.interval("runtime_s")
    ran, between = np.log(high / low)
    assert between > 2 * ran


def test_a_job_at_another_setting_is_another_run_or_nearer_to_itself():
    """Runs that differ by 60 % hide problems of other sizes: a job stays what it is."""
    change = {}
    for noise in (0.05, 0.6):
        drawn = WithinApplication(("nodes",)).fit(log(n=2000, noise=noise, at=0))
        seconds = drawn.predict(asked((1, 16)))["runtime_s"]
        change[noise] = np.log(seconds[:, 1] / seconds[:, 0]).std()
    assert change[0.05] == pytest.approx(0.05 * np.sqrt(2), rel=0.3)
    assert 0.1 < change[0.6] < 0.3
