"""Where a run failed, the search does not go on asking its neighbours."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat import Knob, Outcome
from rheostat.tradeoff.propose.failures import failing
from rheostat.tradeoff.propose.law_guided import LawGuided

BATCHES = [2**k for k in range(12)]


def out_of_memory(jobs):
    """Larger batches are faster and take less energy, up to 64; beyond, there is no result."""
    batch = jobs.numpy("batch_size").astype(float)[None, :]
    ended = np.where(batch <= 64, 1.0, np.nan)
    return Outcome({"runtime_s": ended * 900 / batch**0.8, "power_w": ended * 300 * batch**0.1})


@pytest.mark.parametrize("told", [(4, 64, 256, 2048), (4, 32, 512), (2, 64, 512, 1024)])
def test_nothing_behind_failed_runs_is_asked_while_others_are_left(told):
    asker = LawGuided(Knob("batch_size", BATCHES), ("runtime_s", "energy_j"), seed=0)
    settings = asker.space.alternatives(None, [{"batch_size": b} for b in told])
    asker.tell(settings, out_of_memory(settings))
    asked = asker.ask(1).frame["batch_size"][0]
    assert asked < min(b for b in told if b > 64)


def test_runs_vote_by_nearness_and_no_failure_says_nothing():
    x = np.linspace(0, 1, 5)[:, None]
    failed = failing(x, x[[1, 4]], np.array([False, True]))
    assert failed[[1, 4]].tolist() == [0.0, 1.0]
    assert np.all(np.diff(failed[1:]) > 0)
    assert not failing(x, x[:2], np.array([False, False])).any()
