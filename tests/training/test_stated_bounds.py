"""What agents may be set to, exactly at the bounds that are stated, and what jobs are shown as."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from rheostat.errors import DataError
from rheostat.simulation.engine.env_layout import ASK, NEED, NOW, SUBMIT, URGENT
from rheostat.training.rl.actor_critic_config import ActorCriticConfig
from rheostat.training.rl.dras_config import DrasConfig, known
from rheostat.training.rl.dras_state import encode_jobs
from rheostat.training.rl.jobsets import _check_amounts

MONTH_S = 30 * 86_400.0


@pytest.mark.parametrize("setup", [
    {"window": 10_000, "episodes": 1, "decisions": 1}, {"hidden": (10_000, 1)},
    {"epochs": 1_000_000}, {"gamma": 0.0, "trace_decay": 1.0}, {"lr": 1000.0}, {"lr": 1e-12},
    {"entropy": 0.0, "clip": 1e6}, {"episodes": 20, "decisions": 1000, "window": 1000},
])  # fmt: skip
def test_a_bound_itself_is_allowed(setup) -> None:
    ActorCriticConfig(**setup)


@pytest.mark.parametrize(("setup", "said"), [
    ({"window": 10_001}, "window: expected a whole number from 1 to 10,000, got 10001"),
    ({"hidden": (64, 10_001)}, r"hidden\[1\]: expected a whole number from 1 to 10,000"),
    ({"hidden": (64,)}, "hidden: expected two widths"),
    ({"epochs": 1_000_001}, "epochs: expected a whole number from 1 to 1,000,000"),
    ({"parts": True}, "parts: expected a whole number"),
    ({"gamma": 1.001}, "gamma: expected a number from 0 to 1"),
    ({"trace_decay": -0.001}, "trace_decay: expected a number from 0 to 1"),
    ({"lr": 1001.0}, "lr: expected a number from 1e-12 to 1000"),
    ({"episodes": 20, "decisions": 1000, "window": 1001}, "at most 20,000,000 jobs in an update"),
])  # fmt: skip
def test_beyond_a_bound_is_refused(setup, said) -> None:
    with pytest.raises(DataError, match=said):
        ActorCriticConfig(**setup)


def test_only_switches_of_an_agent_are_set() -> None:
    known(DrasConfig, {"window": 5, "lr": 0.1})
    with pytest.raises(DataError, match=r"speed is no switch .* known: method, window, hidden"):
        known(DrasConfig, {"window": 5, "speed": 1})


@pytest.mark.parametrize(("counts", "jobs_a_week", "said"), [
    ((5000, 1000, 4000), 1000.0, ""), ((5000, 1000, 5000), 1000.0, "at most 10,000 weeks together"),
    ((6000, 4000, 0), 1e7 / 6000, ""),
    ((5000, 0, 5000), 1000.2, "at most 10,000,000 jobs in weeks"),
    ((0, 10_000, 0), 1e9, ""),
])  # fmt: skip
def test_so_many_weeks_and_jobs_are_made(counts, jobs_a_week, said) -> None:
    if not said:
        return _check_amounts(counts, jobs_a_week)
    with pytest.raises(DataError, match=said):
        _check_amounts(counts, jobs_a_week)


@pytest.mark.parametrize(("facts", "said"), [
    ({"nodes": 7}, ""), ({"nodes": 8}, "expected at most 7 nodes, got 8"),
    ({"nodes": 7, "setup": {"hidden": [3, 4]}}, "expected hidden layers as its tensors are, got 4"),
])  # fmt: skip
def test_the_facts_of_an_agent_say_no_more_than_its_tensors_hold(facts, said) -> None:
    torch = pytest.importorskip("torch")
    from rheostat.training.rl.agent_file import from_archive, to_archive

    facts = {"setup": {"hidden": [3, 7]}, **facts}
    archive = to_archive(facts, {"w": torch.ones(7, 3)})
    if not said:
        read, tensors = from_archive(archive)
        assert read == facts
        assert tensors["w"].tolist() == [[1.0] * 3] * 7
        return
    with pytest.raises(DataError, match=said):
        from_archive(archive)


def test_weights_of_an_agent_are_finite() -> None:
    torch = pytest.importorskip("torch")
    from rheostat.training.rl.agent_file import from_archive, to_archive

    broken = to_archive({"setup": {"hidden": [2, 2]}}, {"w": torch.tensor([1.0, float("nan")])})
    with pytest.raises(DataError, match="expected finite weights"):
        from_archive(broken)


def test_a_job_is_two_rows_of_what_it_asked_for_and_how_it_waits() -> None:
    jobs = np.zeros((3, max(NEED, ASK, SUBMIT, URGENT) + 1))
    jobs[2, [NEED, ASK, SUBMIT, URGENT]] = [3.0, 60.0, 40.0, 1.0]
    jobs[0, [NEED, ASK, SUBMIT, URGENT]] = [8.0, MONTH_S, 100.0 - MONTH_S, 0.0]
    real = np.zeros(NOW + 1)
    real[NOW] = 100.0
    slots, seen = np.array([2, 0, -1, 1]), np.full((8, 2), 9.0)
    encode_jobs(jobs, real, slots, (16, False, True), seen)
    rest = [[0.0, 0.0]] * 4
    assert seen.tolist() == [[3, 60], [1, 60], [8, MONTH_S], [0, MONTH_S], *rest]
    encode_jobs(jobs, real, slots, (16, True, False), seen)
    minute = np.log1p(60.0) / np.log1p(MONTH_S)
    wanted = [[3 / 16, minute], [0, minute], [0.5, 1.0], [0, 1.0], *rest]
    assert seen == pytest.approx(np.array(wanted))


def test_an_agent_without_jobs_held_out_is_not_judged() -> None:
    pytest.importorskip("torch")
    from rheostat.training.rl.held_out import held_out

    nothing = {"held_out": None, "objective_ratio": None, "held_out_jobs": 0}
    for unseen, check in ((None, object()), (object(), None)):
        assert held_out(SimpleNamespace(unseen=unseen, check=check), None, "t") == nothing


def test_a_name_that_environments_do_not_have_is_an_error() -> None:
    from rheostat.training import env

    with pytest.raises(AttributeError, match="has no attribute 'Scheduling'"):
        env.Scheduling  # noqa: B018
