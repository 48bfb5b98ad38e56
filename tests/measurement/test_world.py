"""The generated site: same seed same bytes, truth that the log agrees with, habits that show."""

from __future__ import annotations

import time

import numpy as np
import polars as pl
import pytest

from rheostat.core.jobs import Moment
from rheostat.core.space import Knob, Space, powers_of_two
from rheostat.errors import DataError
from rheostat.measurement.synthetic import World


@pytest.fixture(scope="module")
def world():
    return World(seed=3)


@pytest.fixture(scope="module")
def jobs(world):
    return world.jobs(20_000, seed=1)


def test_the_same_seed_gives_the_same_rows_and_another_seed_others(jobs):
    assert World(seed=3).jobs(20_000, seed=1).frame.equals(jobs.frame)
    assert not World(seed=3).jobs(20_000, seed=2).frame.equals(jobs.frame)
    assert not World(seed=4).jobs(20_000, seed=1).frame.equals(jobs.frame)


def test_completed_runs_scatter_around_the_truth_without_bias(world, jobs):
    done = jobs.rows(~pl.col("censored"))
    for name in ("runtime_s", "power_w"):
        error = np.log(done.numpy(name) / world.truth(done).mean(name))
        assert abs(error.mean()) < 0.003
        assert 0.01 < error.std() < 0.07


def test_a_censored_run_never_lasts_longer_than_its_truth_would(world, jobs):
    cut = jobs.rows(pl.col("censored"))
    assert 0.03 < len(cut) / len(jobs) < 0.25
    assert (cut.numpy("runtime_s") <= world.truth(cut).mean("runtime_s") * 1.3 + 1).all()
    timeout = cut.rows(pl.col("state") == "TIMEOUT")
    assert (timeout.numpy("runtime_s") == timeout.numpy("time_limit_s")).all()


def test_power_is_affine_in_nodes_and_some_applications_are_super_linear(world, jobs):
    space = Space.of(Knob("nodes", powers_of_two(1, 64)))
    superlinear = 0
    for i in range(0, 2000, 40):
        turned = space.alternatives(jobs.rows([i]))
        truth, n = world.truth(turned), turned.numpy("nodes")
        slope = np.diff(truth.mean("power_w")) / np.diff(n)
        assert np.allclose(slope, slope[0])
        superlinear += bool((np.diff(truth.mean("runtime_s") * n) < 0).any())
    assert 5 < superlinear < 45


def test_runtime_follows_the_scalability_law_where_there_is_no_cache_effect(world):
    apps = world.apps
    n = np.array([1.0, 2.0, 8.0, 64.0, 256.0])
    for i in np.flatnonzero(apps.cache_gain == 0):
        app, size = np.full(5, i), np.full(5, 1.7)
        t = apps.runtime_s(app, n, size)
        s, k = apps.contention[i], apps.coherency[i]
        np.testing.assert_allclose(t * n / t[0], 1 + s * (n - 1) + k * n * (n - 1), rtol=1e-12)
        np.testing.assert_allclose(t[0], apps.work_s[i] * 1.7 ** apps.growth[i], rtol=1e-12)


def test_a_cap_saves_power_and_costs_time_and_no_cap_changes_nothing(world, jobs):
    few = jobs.rows(range(50))
    free, none = (
        world.truth(few),
        world.truth(few.with_columns([_cap()], cap_w=np.full(50, np.nan))),
    )
    capped = world.truth(few.with_columns([_cap()], cap_w=np.full(50, 250.0)))
    np.testing.assert_allclose(free.mean("power_w"), none.mean("power_w"), rtol=1e-12)
    np.testing.assert_allclose(free.mean("runtime_s"), none.mean("runtime_s"), rtol=1e-12)
    assert (capped.mean("power_w") < free.mean("power_w")).all()
    assert (capped.mean("runtime_s") > free.mean("runtime_s")).all()


def test_times_are_ordered_and_energy_is_power_times_runtime(jobs):
    f = jobs.frame
    assert f["submit_s"].is_sorted()
    assert ((f["submit_s"] <= f["start_s"]) & (f["start_s"] <= f["end_s"])).all()
    assert np.allclose(f["energy_j"], f["power_w"] * f["runtime_s"])
    assert "runtime_s" not in jobs.known_at(Moment.SUBMIT).columns


def test_people_repeat_themselves_and_like_powers_of_two(jobs):
    nodes = jobs.numpy("nodes").astype(int)
    assert 0.8 < np.mean(nodes & (nodes - 1) == 0) < 0.95
    again = jobs.frame.with_columns(
        same=(pl.col("nodes") == pl.col("nodes").shift(1).over("account"))
        & (pl.col("memory_b") == pl.col("memory_b").shift(1).over("account"))
    )["same"].mean()
    assert 0.55 < again < 0.85


def test_some_users_appear_only_late(jobs):
    past, recent = jobs.split_by_time(0.8)
    fresh = set(recent.frame["account"]) - set(past.frame["account"])
    assert fresh


def test_a_hundred_thousand_jobs_take_about_a_second(world):
    begun = time.process_time()
    world.jobs(100_000)
    assert time.process_time() - begun < 2.0


def test_senseless_worlds_and_foreign_rows_are_refused(world, jobs):
    with pytest.raises(DataError, match=r"n_apps is 0.*max_nodes is -1"):
        World(n_apps=0, max_nodes=-1)
    with pytest.raises(DataError, match="expected at least 1"):
        world.jobs(0)
    foreign = jobs.rows([0]).with_columns([jobs.schema["account"]], account="chemistry")
    with pytest.raises(DataError, match=r"not of this world: \['chemistry'\]"):
        world.truth(foreign)


def _cap():
    from rheostat.core.vocabulary import column

    return column("cap_w")
