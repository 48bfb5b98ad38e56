"""A log that records energy answers as the same log with power does."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.confounding_lib.confounded_site import ConfoundedSite
from rheostat.decision.trials.trial import plan_trial
from rheostat.prediction.effects import WithinApplication


def change_widths(log, targets):
    """Mean width of 90 % intervals of the log change of energy at half the nodes, and the means."""
    model = WithinApplication(("nodes",), targets=targets).fit(log)
    asked = log.rows(log.numpy("nodes_requested") >= 4).rows(np.arange(200))
    home = asked.with_columns((), nodes=asked.frame["nodes_requested"])
    half = asked.with_columns((), nodes=asked.frame["nodes_requested"] // 2)
    energy = []
    for jobs in (half, home):
        out = model.predict(jobs)
        told = out["energy_j"] if "energy_j" in out else out["runtime_s"] * out["power_w"]
        energy.append(np.log(told))
    change = energy[0] - energy[1]
    known = np.isfinite(change).all(axis=0)
    low, high = np.quantile(change[:, known], [0.05, 0.95], axis=0)
    return float(np.mean(high - low)), float(change[:, known].mean())


def test_energy_is_as_uncertain_as_runtime_times_power():
    """What makes one job's run time unlike another's makes its energy unlike, too."""
    month = ConfoundedSite(7, 0.5, 1.0, "none", n_apps=8, law="communication").month(3000)
    nodes = plan_trial(month.requests, 0.08, "nodes", seed=7).table.frame["nodes"]
    log = month.run(nodes.to_numpy())
    by_power, mean = change_widths(log, ("runtime_s", "power_w"))
    by_energy, same = change_widths(log, ("runtime_s", "energy_j"))
    assert by_energy == pytest.approx(by_power, rel=0.1)
    assert same == pytest.approx(mean, abs=0.1)
