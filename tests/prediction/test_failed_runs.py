"""A forecast knows only runs that ended: where a trial's jobs died, and where a size is missing."""

import numpy as np
import pytest

from rheostat import table
from rheostat.core.vocabulary import table as vocabulary_table
from rheostat.decision.trials.trial_size import trial_result
from rheostat.prediction.effects import plausible
from rheostat.prediction.effects.predictor import WithinApplication


def tried(state="OUT_OF_MEMORY", share=0.5):
    """Two applications of which chance turned a tenth; a quarter of the nodes is too few for cfd.

    Time is exactly 6400 / nodes^0.8, and what died was gone after 45 s.
    """
    rng = np.random.default_rng(3)
    n = 1200
    app = np.where(rng.random(n) < 0.5, "cfd", "md")
    asked = 2 ** rng.integers(4, 7, n)
    nodes = np.where(rng.random(n) < 0.1, asked * rng.choice([0.25, 4.0], n), asked).astype(int)
    died = (app == "cfd") & (nodes < asked) & (rng.random(n) < share)
    runtime = np.where(died, 45.0, 6400 / nodes**0.8 * np.exp(0.02 * rng.standard_normal(n)))
    return vocabulary_table(
        {"job_id": np.arange(n), "user": [f"u{i % 5}" for i in range(n)], "app": app.tolist(),
         "submit_s": 1000.0 * np.arange(n), "nodes": nodes, "nodes_requested": asked,
         "runtime_s": runtime, "power_w": 300.0 * nodes,
         "state": np.where(died, state, "COMPLETED").tolist(), "censored": died}
    )  # fmt: skip


def asked_at(factor):
    """A job of each application that asked for 32 nodes, at others."""
    return table({"job_id": [1, 2], "user": ["u1", "u1"], "app": ["cfd", "md"],
                  "submit_s": [2e6, 2e6], "nodes": [int(32 * factor)] * 2,
                  "nodes_requested": [32, 32]})  # fmt: skip


def test_nobody_is_sent_where_the_jobs_of_a_trial_died():
    model = WithinApplication(("nodes",)).fit(tried())
    fewer = model.predict(asked_at(0.5))
    assert np.isnan(fewer.mean("runtime_s")).tolist() == [True, False]
    assert plausible.FAILED in {note.message for note in fewer.notes}
    for factor in (1, 2):
        assert np.isfinite(model.predict(asked_at(factor)).mean("runtime_s")).all()
    (said,) = model.identification_.doubts
    assert "jobs that the trial ran at fewer nodes failed, and 0 of" in said
    assert said.endswith("no advice for fewer nodes in cfd")
    assert model.identification_.answers


@pytest.mark.parametrize(("state", "share"), [("TIMEOUT", 0.5), ("OUT_OF_MEMORY", 0.0)])
def test_what_the_clock_stopped_did_not_die_of_its_setting(state, share):
    model = WithinApplication(("nodes",)).fit(tried(state, share))
    assert model.identification_.doubts == ()
    assert np.isfinite(model.predict(asked_at(0.5)).mean("runtime_s")).all()


def test_a_trial_is_read_by_the_runs_that_ended():
    log = tried()
    model = WithinApplication(("nodes",)).fit(log)
    found = trial_result(log, "nodes", model)
    assert found.turned == (log.frame["nodes"] != log.frame["nodes_requested"]).sum() - (
        log.cut_off.sum()
    )
    assert found.by_trial[0] == pytest.approx(-0.8, abs=0.02)
    assert 0 < found.forecast < found.turned  # cfd at fewer nodes has none
    assert found.beside[0] == pytest.approx(-0.8, abs=0.02)
    assert found.agrees


def sized(blank):
    """Weak scaling; exact memory, missing for some of the jobs."""
    rng = np.random.default_rng(7)
    n = 900
    size = np.exp(0.8 * rng.standard_normal(n))
    nodes = (2 ** np.clip(np.round(4 + np.log2(size) + rng.standard_normal(n)), 0, 8)).astype(int)
    memory = np.where(rng.random(n) < blank, np.nan, np.round(64 * size * 2**20) * 1024)
    runtime = 9000 * size / nodes**0.9 * np.exp(0.02 * rng.standard_normal(n))
    return vocabulary_table(
        {"job_id": np.arange(n), "user": [f"u{i % 5}" for i in range(n)],
         "app": [("cfd", "md", "fem")[i % 3] for i in range(n)],
         "submit_s": 1000.0 * np.arange(n), "nodes": nodes, "runtime_s": runtime,
         "power_w": 300.0 * nodes, "memory_b": [None if np.isnan(m) else int(m) for m in memory]}
    )  # fmt: skip


def test_jobs_without_a_recorded_size_are_neither_learnt_from_nor_forecast():
    """Filled in with the typical size they made the record "too rough" for everybody."""
    log = sized(0.6)
    model = WithinApplication(("nodes",)).fit(log)
    said = model.identification_
    assert (said.by, said.answers) == ("size", True)
    assert said.reliability > 0.9
    missing = log.frame["memory_b"].is_null().to_numpy()
    assert model.n_learnt_ == (~missing).sum()
    assert f"{missing.sum()} of 900 runs have no memory_b" in said.doubts[-1]
    out = model.predict(log)
    assert np.isnan(out.mean("runtime_s")).tolist() == missing.tolist()
    assert plausible.UNSIZED in {note.message for note in out.notes}


def test_sizes_of_all_jobs_leave_nothing_out():
    model = WithinApplication(("nodes",)).fit(sized(0.0))
    assert model.identification_.doubts == ()
    assert np.isfinite(model.predict(sized(0.0)).mean("runtime_s")).all()
