"""A log that names no problems: the machine is another one since a date, for everybody at once."""

import numpy as np
import pytest

import rheostat as rh
from rheostat.core.vocabulary import table
from rheostat.prediction.effects import WithinApplication

FASTER = 1.7


def trial(since=0.6, until=2.0, everybody=True, memory=False, n=2400, seed=5):
    """Twelve users' applications, weak scaling; one job in fifteen ran at a quarter or four times.

    The machine is faster from one share of the runs to another, for all or for one user alone.
    """
    rng = np.random.default_rng(seed)
    user, size = rng.integers(0, 12, n), np.exp(0.6 * rng.standard_normal(n))
    asked = 2 ** np.clip(np.round(4 + np.log2(size) + 0.6 * rng.standard_normal(n)), 2, 8)
    ran = np.where(rng.random(n) < 0.07, asked * rng.choice([0.25, 4.0], n), asked)
    at = np.arange(n) / n
    fast = (at >= since) & (at < until) & (everybody | (user == 0))
    runtime = 9e4 * size * (1 / ran + 0.001) / np.where(fast, FASTER, 1.0)
    log = {
        "job_id": np.arange(n), "user": [f"u{u}" for u in user],
        "app": [("cfd", "md", "qcd")[u % 3] for u in user], "submit_s": 600.0 * np.arange(n),
        "nodes": ran.astype(int), "runtime_s": runtime * np.exp(0.05 * rng.standard_normal(n)),
        "power_w": 300.0 * ran,
    }  # fmt: skip
    if memory:
        return table({**log, "nodes": asked.astype(int), "memory_b": (2**36 * size).astype(int),
                      "runtime_s": log["runtime_s"] * (1 / asked + 0.001) / (1 / ran + 0.001),
                      "power_w": 300.0 * asked})  # fmt: skip
    return table({**log, "nodes_requested": asked.astype(int)})


def test_times_are_those_of_the_last_machine_and_earlier_jobs_those_of_theirs() -> None:
    """Levels were the mean of both machines: forecasts 30 % too long."""
    log = trial()
    model = WithinApplication(("nodes",)).fit(log)
    assert "since run 1,4" in model.identification_.doubts[0]
    assert model.identification_.answers
    plain = WithinApplication(("nodes",)).fit(trial(since=0.0))
    jobs = log.rows(np.arange(1500, 2400, 9)).select(["job_id", "user", "app", "submit_s", "nodes",
                                                     "nodes_requested"])  # fmt: skip
    now = np.log(model.predict(jobs)["runtime_s"].mean(axis=0))
    assert now == pytest.approx(np.log(plain.predict(jobs)["runtime_s"].mean(axis=0)), abs=0.1)
    then = jobs.with_columns((), submit_s=1.0)
    before = np.log(model.predict(then)["runtime_s"].mean(axis=0)) - now
    assert before == pytest.approx(np.log(FASTER), abs=0.05)
    watts = model.predict(then).mean("power_w") / model.predict(jobs).mean("power_w")
    assert watts == pytest.approx(1.0, abs=0.02)


def test_what_a_size_tells_is_told_on_each_machine() -> None:
    """With memory recorded no setting was advised: the date looked like a hidden cause."""
    found = WithinApplication(("nodes",)).fit(trial(memory=True)).identification_
    assert (found.by, found.answers) == ("size", True)
    assert abs(found.misled) < 0.1


@pytest.mark.parametrize(("since", "until", "everybody"), [
    (2.0, 2.0, True), (0.4, 0.6, True), (0.5, 2.0, False),
])  # fmt: skip
def test_nothing_a_week_that_passes_and_one_user_are_no_other_machine(since, until, everybody):
    model = WithinApplication(("nodes",)).fit(trial(since, until, everybody))
    assert not model.identification_.doubts
    assert all(f.grown is None for f in model.fitted_.values())


def test_a_saved_model_knows_the_date(tmp_path) -> None:
    model, asked = WithinApplication(("nodes",)).fit(trial()), trial().rows([5, 2000])
    rh.save(model, tmp_path / "model.zip")
    again = rh.load(tmp_path / "model.zip")
    told = again.predict(asked)["runtime_s"]
    assert told.tolist() == model.predict(asked)["runtime_s"].tolist()
