"""A machine that is another one since a date: equal runs of one script take otherwise."""

import numpy as np
import pytest

from rheostat.core.vocabulary import table
from rheostat.prediction.effects import WithinApplication
from rheostat.prediction.effects.growth import Growth

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


def test_problems_that_grow_all_along_are_compared_as_of_the_end_of_the_log() -> None:
    """They were believed where users raised nodes along, or refused; forecasts lagged behind."""
    log, _ = scripts(2.0, 0.5)
    asked_for = log.frame["nodes"].to_numpy() * np.exp(0.5 * np.arange(1600) / 1600)
    time = log.numpy("runtime_s") * (1 / np.rint(asked_for) + 0.01)
    time /= 1 / log.numpy("nodes") + 0.01
    log = log.with_columns((), nodes=np.rint(asked_for).astype(int), runtime_s=time)
    model = WithinApplication(("nodes",)).fit(log)
    said = model.identification_
    assert (said.by, said.answers) == ("repeats", True)
    assert said.misled < 0.15
    assert "times as long at the end of the log as at its start" in said.doubts[0]
    true = 8000 * size_of_first() * (1 / 8 + 0.01)
    for when, grown in ((0.0, 1.0), (960_000.0, np.exp(0.5)), (1_200_000.0, np.exp(0.625))):
        then = table({**asked().frame.to_dict(), "submit_s": [when]})
        assert model.predict(then)["runtime_s"].mean() == pytest.approx(true * grown, rel=0.08)
    change = model.predict(asked(nodes=4))["runtime_s"].mean()
    change /= model.predict(asked())["runtime_s"].mean()
    assert change == pytest.approx((1 / 4 + 0.01) / (1 / 8 + 0.01), rel=0.1)


def test_each_application_has_a_date_of_its_own() -> None:
    """A faster release of one code made no script of any believed."""
    log, _ = scripts(2.0)
    md = (log.frame["app"] == "md").to_numpy()
    late = np.arange(1600) >= np.where(md, 400, 1100)
    log = log.with_columns((), runtime_s=log.numpy("runtime_s") / np.where(late, FASTER, 1.0))
    model = WithinApplication(("nodes",)).fit(log)
    said = model.identification_
    assert (said.by, said.answers) == ("repeats", True)
    assert "before a date of its own than since, in 2 of 2 applications" in said.doubts[0]
    true = 8000 * size_of_first() / FASTER * (1 / 8 + 0.01)
    assert model.predict(asked())["runtime_s"].mean() == pytest.approx(true, rel=0.05)


def size_of_first() -> float:
    return float(np.exp(0.7 * np.random.default_rng(2).standard_normal(40))[0])


def test_scripts_that_are_run_again_at_once_tell_no_growth_of_the_whole_log() -> None:
    """Of forty scripts, one after the other, each ran within a fortieth of the log."""
    rng, problem = np.random.default_rng(0), np.arange(1200) // 30
    y = problem + 1e-3 * np.arange(1200) + 0.01 * rng.standard_normal(1200)
    assert Growth.of(np.arange(1200.0), problem, np.zeros(1200)).slopes(y) is None
    through = np.arange(1200) % 40
    found = Growth.of(np.arange(1200.0), through, np.zeros(1200)).slopes(y - problem + through)
    assert found.there
    assert found.mean == pytest.approx(1.2, abs=0.01)


def test_the_growth_of_a_quantity_is_asked_once(monkeypatch):
    calls, slopes = [], Growth.slopes
    monkeypatch.setattr(Growth, "slopes", lambda self, y: calls.append(len(y)) or slopes(self, y))
    model = WithinApplication(("nodes",)).fit(scripts(since=2.0, growth=0.7)[0])
    assert "times as long at the end of the log" in " ".join(model.identification_.doubts)
    assert len(calls) == 1 + len(model.targets)  # that it is there, then of each quantity
