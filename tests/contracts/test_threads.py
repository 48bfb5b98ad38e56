"""Same seed, same bytes, however many threads the machine offers."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

pytest.importorskip("torch")

import torch

from rheostat._threads import one_thread
from rheostat.core.outcome import Outcome
from rheostat.core.space import Knob, Space


@pytest.fixture
def threads():
    """Sets how many threads BLAS, OpenMP and torch may use; puts that back."""
    before = torch.get_num_threads()

    def offered(count):
        threadpool_limits(count)
        torch.set_num_threads(count)

    with threadpool_limits(None):
        yield offered
    torch.set_num_threads(before)


def test_one_thread_inside_and_as_many_as_before_outside(threads):
    threads(2)
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
    with pytest.raises(KeyError), one_thread():
        raise KeyError
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("agent", ["dras-pg", "dras-dql"])
def test_an_agent_is_the_same_file_with_one_thread_and_with_two(agent, threads, tmp_path):
    pytest.importorskip("safetensors")
    from rheostat.recipes.dras import dras
    from rheostat.training.env.episode_trace import trace as prepare
    from rheostat.training.rl.dras import train
    from tests.training.test_dras import SMALL, loaded

    setup = dras(agent, hidden=(1000, 500))  # wide enough for torch to share the work
    for count in (1, 2):
        threads(count)
        train([prepare(loaded(), SMALL)], setup, seed=1, out=tmp_path / str(count))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_a_search_asks_for_the_same_setting_with_one_thread_and_with_two(threads):
    pytest.importorskip("botorch")
    from rheostat.tradeoff.propose import NoisyHypervolume

    space = Space((Knob("cap_w", low=100, high=300), Knob("freq_ghz", low=1, high=3)))
    runs = space.alternatives(None, space.sample(np.random.default_rng(5).random((30, 2))))
    cap, freq = runs.numpy("cap_w")[None], runs.numpy("freq_ghz")[None]
    runtime_s = 1 + ((cap - 180) / 100) ** 2 + (freq - 2.2) ** 2
    power_w = 50 + ((cap - 230) / 50) ** 2 + (freq - 1.7) ** 2

    def asked(count):
        threads(count)
        search = NoisyHypervolume(space, seed=0)
        search.tell(runs, Outcome({"runtime_s": runtime_s, "power_w": power_w}))
        return search.ask(1).frame

    assert asked(1).equals(asked(2))


@pytest.mark.slow
def test_a_model_of_training_steps_is_the_same_file_with_one_thread_and_with_four(
    threads, tmp_path
):
    from rheostat.prediction.saved_models.persist import save
    from rheostat.prediction.step_cost import StepCost
    from tests.prediction.test_step_cost import many_runs

    for count in (1, 4):
        threads(count)
        save(StepCost().fit(many_runs()), tmp_path / str(count))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "4").read_bytes()
