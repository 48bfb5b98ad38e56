"""What the compiled engines allocate they give back: a long sweep or training keeps its memory."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

import rheostat as rh
from rheostat.core.machine import Machine
from rheostat.core.series import Series

PLAIN = ("easy", "conservative", "sjf+easy", "lxf", "wfp3+easy", "wfp3+conservative",
         "sjf+easy+1.5x", "wfp3+easy+1.5x", "agent:ours", "best-of-past")  # fmt: skip


def trace(jobs: int = 400) -> rh.JobTable:
    rng = np.random.default_rng(0)
    runtime = rng.lognormal(6.0, 1.5, jobs).round() + 1
    return rh.table({
        "job_id": np.arange(jobs), "user": rng.integers(0, 9, jobs).astype(str),
        "submit_s": np.sort(rng.uniform(0, 40_000, jobs)).round(), "runtime_s": runtime,
        "cores": rng.integers(1, 40, jobs), "time_limit_s": runtime * rng.uniform(1, 5, jobs),
        "power_w": rng.uniform(100, 900, jobs),
    })  # fmt: skip


@pytest.fixture
def counted():
    _nrt_python.memsys_enable_stats()
    yield
    _nrt_python.memsys_disable_stats()


def held() -> int:
    gc.collect()
    stats = rtsys.get_allocation_stats()
    return stats.mi_alloc - stats.mi_free


def kept_by(run) -> int:
    """Arrays that a run leaves behind, what it makes once in a process left out."""
    run()
    run()
    before = held()
    run()
    return held() - before


@pytest.mark.parametrize("policy", PLAIN)
def test_a_run_gives_back_its_arrays(counted, policy: str) -> None:
    jobs = trace()
    assert kept_by(lambda: rh.simulate(jobs, policy, 64) and None) == 0


def test_a_site_gives_back_its_arrays(counted) -> None:
    jobs = trace()
    site = Machine(64, idle_w=2.0, busy_w=20.0, cap_w=Series.of(5000.0))
    assert kept_by(lambda: rh.simulate(jobs, "easy", site) and None) == 0


def test_what_is_not_given_back_is_counted(counted) -> None:
    """The measure itself: an array that stays is seen."""
    import numba

    @numba.njit
    def made(n: int) -> np.ndarray:
        array = np.zeros(n)
        return array

    kept: list[np.ndarray] = []
    assert kept_by(lambda: kept.append(made(3))) == 1
