"""A power cap as a share of the machine."""

from __future__ import annotations

import numpy as np
import pytest
from learned_lib.dominant_share import under_cap

from rheostat.errors import DataError
from rheostat.simulation.policies.learned_policy import LearnedPolicy
from rheostat.simulation.simulate import simulate_run
from rheostat.training.priority.evolve import begun
from tests.simulation.test_learned_priority import log


def test_under_a_cap_neither_watts_nor_processors_are_overdrawn():
    jobs, size = log(7)
    procs = jobs.frame["cores"].to_numpy()
    watts = np.random.default_rng(0).uniform(50, 300, len(jobs)) * procs
    cap = 0.6 * 300 * size
    watts = np.minimum(watts, cap)
    sized, units = under_cap(jobs, size, watts, cap)
    done = simulate_run(sized, LearnedPolicy(begun()), units).jobs
    start, end = done.numpy("start_s"), done.numpy("end_s")
    drawn = [watts[(start <= t) & (t < end)].sum() for t in start]
    assert max(drawn) <= cap * (1 + 1e-9)
    assert max(drawn) > 0.7 * cap
    assert max(procs[(start <= t) & (t < end)].sum() for t in start) <= size
    with pytest.raises(DataError, match="draw more than"):
        under_cap(jobs, size, watts, watts.max() / 2)
