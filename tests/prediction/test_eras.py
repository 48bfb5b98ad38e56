"""A machine that is another one since a date: equal runs of one script take otherwise."""

import numpy as np
import pytest

from rheostat.core.vocabulary import table
from rheostat.prediction.effects import WithinApplication

FASTER = 1.7


def scripts(since=0.5, growth=0.0, n=1600, seed=2):
    """Forty scripts at several settings; the machine is faster since a share of the runs.

    Returns the log, and the time of script s00 on 8 nodes of the last machine.
    """
    rng = np.random.default_rng(seed)
    size = np.exp(0.7 * rng.standard_normal(40))
    script = rng.integers(0, 40, n)
    time = np.arange(n) / n
    nodes = 2 ** np.clip(np.round(3 + rng.standard_normal(n)), 0, 6).astype(int)
    work = 8000 * size[script] * np.exp(growth * time) / np.where(time >= since, FASTER, 1.0)
    runtime = work * (1 / nodes + 0.01) * np.exp(0.03 * rng.standard_normal(n))
    log = table(
        {"job_id": np.arange(n), "user": [f"u{s % 7}" for s in script],
         "app": [("cfd", "md")[s % 2] for s in script], "submit_s": 600.0 * np.arange(n),
         "nodes": nodes, "runtime_s": runtime, "power_w": 300.0 * nodes,
         "script": [f"s{s:02d}" for s in script]}
    )  # fmt: skip
    return log, 8000 * size[0] / FASTER * (1 / 8 + 0.01)


def asked(script="s00", nodes=8):
    return table({"job_id": [1], "user": ["u0"], "app": ["cfd"], "submit_s": [1e7],
                  "nodes": [nodes], "nodes_requested": [8], "script": [script]})  # fmt: skip


def test_scripts_tell_the_effect_within_each_machine_and_their_times_on_the_last() -> None:
    """Before, no script was believed: equal runs differed by what the machine did."""
    log, true = scripts()
    model = WithinApplication(("nodes",)).fit(log)
    said = model.identification_
    assert (said.by, said.answers) == ("repeats", True)
    assert "took otherwise before run 800 of 1,600" in " ".join(said.doubts)
    here = model.predict(asked())["runtime_s"][:, 0]
    assert here.mean() == pytest.approx(true, rel=0.03)
    change = model.predict(asked(nodes=4))["runtime_s"][:, 0].mean() / here.mean()
    assert change == pytest.approx((1 / 4 + 0.01) / (1 / 8 + 0.01), rel=0.1)


def test_a_script_that_did_not_run_since_is_one_that_never_ran() -> None:
    log, _ = scripts()
    gone = (log.frame["script"] == "s00").to_numpy() & (np.arange(len(log)) >= 800)
    out = WithinApplication(("nodes",)).fit(log.rows(~gone)).predict(asked())
    assert np.isfinite(out["runtime_s"]).all()
    assert np.log(out["runtime_s"]).std() > 0.3  # as unlike as the user's problems


@pytest.mark.parametrize(("since", "growth", "answers"), [(2.0, 1.0, False), (2.0, 0.0, True)])
def test_problems_that_grow_all_along_are_no_other_machine(since, growth, answers) -> None:
    model = WithinApplication(("nodes",)).fit(scripts(since, growth)[0])
    assert model.identification_.answers == answers
    assert "took otherwise" not in " ".join(model.identification_.doubts)
