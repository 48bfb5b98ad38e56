"""An order learned by trying: where it begins, what is tried, what a file goes on with."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from rheostat.core.machine import Machine
from rheostat.core.storage.files import seal, unsealed
from rheostat.errors import DataError
from rheostat.simulation.learned_priority.priority import LIMIT
from rheostat.simulation.learned_priority.queue_features import NAMES
from rheostat.simulation.learned_priority.scoring_network import LINEAR, SPREAD, length
from rheostat.simulation.workload import workload
from rheostat.training.env.vector_env import VectorSchedulingEnv
from rheostat.training.priority import evolve
from rheostat.training.priority import training_cases as given
from rheostat.training.priority.evolve import _losses, _ranker, begun, train_rank
from rheostat.training.priority.generated_sites import _bursts, _moments
from tests.simulation.conftest import trace
from tests.training.test_training_limits import crowd


def test_training_begins_with_the_shortest_predicted_and_some_regard_for_size_and_wait():
    first = begun()
    used = {n: w / SPREAD[NAMES.index(n)] for n, w in zip(NAMES, first.weights, strict=True) if w}
    wanted = {"brief": 0.7, "predicted": 1.0, "ask": 0.3, "share": 0.3, "wait": -1.0}
    assert used == pytest.approx(wanted)
    assert first.trust == (0.2, 1.0, 0.0, 0.0, 0.0, 0.4)
    assert first.limit == LIMIT
    assert len(begun(hidden=3).weights) == length(3)
    hidden = np.array(begun(hidden=3).weights)
    assert hidden[: len(NAMES)].tolist() == list(first.weights)
    assert not hidden[len(NAMES) :].any()


def test_the_search_draws_around_that_guess_and_a_unit_of_trust_is_its_own():
    pytest.importorskip("cma")
    search = evolve._search(0, 3)
    assert search.mean[-6:] == pytest.approx([0.4, 2.0, 0.0, 0.0, 0.0, 0.4 / 0.3])
    assert _ranker(search.mean, 2.0).trust == pytest.approx(begun().trust)
    assert _ranker(search.mean, 2.0).weights == pytest.approx(begun().weights)
    assert len(search.mean) == LINEAR.sum() + 6
    assert search.sigma == 0.35
    assert not search.opts["CMA_diagonal"]
    assert evolve._search(2, 3).opts["CMA_diagonal"]
    assert len(evolve._search(2, 3).mean) == length(2) + 6
    one, same, other = (evolve._search(0, seed).ask()[0] for seed in (3, 3, 4))
    assert one.tolist() == same.tolist() != other.tolist()


@pytest.fixture
def quick(monkeypatch):
    """Losses that are the distance of a weight from 2, so that nothing has to be played."""
    pytest.importorskip("cma")
    seen = []

    def loss(ranker, cases, wanted, drawn):
        seen.append((drawn, wanted))
        return abs(ranker.weights[0] - 2.0)

    monkeypatch.setattr(evolve, "_mean_loss", loss)
    return seen


CASES = [SimpleNamespace(name="t[0:9]", fingerprint="abc")]


def test_all_of_a_generation_play_the_same_cases_and_the_later_half_of_the_means_is_kept(
    quick, tmp_path
):
    told = []
    made = train_rank(CASES, generations=4, seed=7, out=tmp_path / "r.json",
                      progress=lambda *a: told.append(a))  # fmt: skip
    assert [a[:2] for a in told] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    losses = made.trained["losses"]
    assert [a[2] for a in told] == [{"best": min(row), "mean": pytest.approx(np.mean(row))}
                                    for row in losses]  # fmt: skip
    size = len(losses[0])
    assert quick == [((7, g), {"slowdown": 1.0}) for g in range(4) for _ in range(size)]
    search, means = evolve._search(0, 7), []
    for row in losses:
        search.tell(search.ask(), row)
        means.append(search.mean.copy())
    assert made.weights == _ranker(np.mean(means[2:], axis=0), LIMIT).weights
    three = train_rank(CASES, generations=3, seed=7)
    assert three.weights == _ranker(np.mean(means[1:3], axis=0), LIMIT).weights
    assert made.trained["cases"] == ["t[0:9] abc"]
    assert (made.trained["limit"], made.trained["hidden"], made.trained["seed"]) == (LIMIT, 0, 7)


def test_a_training_goes_on_without_playing_again_and_ends_the_same(quick, tmp_path):
    whole = train_rank(CASES, generations=4, seed=7, objective={"wait": 2.0}, limit=np.inf)
    assert whole.trained["limit"] is None
    how = {"seed": 7, "objective": {"wait": 2.0}, "limit": np.inf, "out": tmp_path / "r.json"}
    train_rank(CASES, generations=2, **how)
    quick.clear()
    told = []
    again = train_rank(CASES, generations=4, progress=lambda *a: told.append(a[0]), **how)
    assert again.weights == whole.weights
    assert again.trained == whole.trained
    assert {drawn for (drawn, _) in quick} == {(7, 2), (7, 3)}
    assert told == [3, 4]
    quick.clear()
    before = (tmp_path / "r.json").read_bytes()
    less = train_rank(CASES, generations=1, **how)  # as far as it is: nothing is played or written
    assert (quick, less.weights) == ([], whole.weights)
    assert (tmp_path / "r.json").read_bytes() == before
    with pytest.raises(DataError, match=r"seed: expected what it was begun with; delete the file"):
        train_rank(CASES, generations=1, **how | {"seed": 8})


def test_generations_of_different_sizes_are_no_training(quick, tmp_path):
    out = tmp_path / "r.json"
    made = train_rank(CASES, generations=2, seed=1, out=out)
    facts = unsealed(json.loads(out.read_text()), "r.json")
    text = json.dumps(facts).replace(json.dumps(made.trained["losses"][1]), "[1.0, 2.0]")
    out.write_text(json.dumps(seal(json.loads(text))))
    how = {k: v for k, v in made.trained.items() if k != "losses"}
    with pytest.raises(DataError, match="generations of different sizes"):
        _losses(out, how)


# ---------------------------------------------------------------- cases


def test_a_case_is_known_again_by_its_jobs_users_and_machine():
    load = workload(crowd(), Machine(8))
    users = np.zeros(60)

    def mark(load=load, user=users, size=8):
        return given.TrainingCase(load, user, size, "x", {}).fingerprint

    assert mark() == mark()
    assert len(mark()) == 16
    others = [mark(size=9), mark(user=users + 1), mark(workload(crowd(seed=1), Machine(8)))]
    assert len({mark(), *others}) == 4
    assert given.TrainingCase(load, users, 8, "y", {}).longest_s == np.inf


def test_stretches_without_a_queue_are_no_cases_and_no_jobs_are_an_error():
    calm = trace(np.arange(40) * 1000.0, [10] * 40, [1] * 40)
    assert given.cases(calm, 4, length=20) == []
    with pytest.raises(DataError, match=r"^mine: expected jobs to learn from, got 1"):
        given.cases(calm, 4, name="mine", until=1 / 40)
    with pytest.raises(DataError, match=r"^trace: expected jobs to learn from, got 0"):
        given.cases(calm, 4, until=0.0)
    assert given.cases(calm, 4, until=2 / 40) == []


def test_a_case_needs_a_mean_slowdown_of_two_under_easy():
    """Two jobs of a hundred seconds at once on one processor: slowdowns 1 and 2 or 1 and 3."""
    for run, wanted in (([100, 100], None), ([100, 50], 2.0)):
        load = workload(trace([0, 0], run, [1, 1]), Machine(1))
        case = given._case(load, np.zeros(2), 1, "x")
        slow = np.mean([1.0, (100 + run[1]) / run[1]])
        assert (case is None) == (slow < given.LEAST_SLOWDOWN)
        if case:
            assert slow == wanted
            assert case.longest_s == 100.0


def test_cases_are_spread_evenly_and_at_most_so_many():
    jobs = trace(np.arange(120) // 4 * 10, np.full(120, 60), np.full(120, 2))
    names = [c.name for c in given.cases(jobs, 4, name="t", length=20, most=3)]
    assert len(names) == 3
    begins = [int(n[2:].split(":")[0]) for n in names]
    assert begins[0] <= 12
    assert begins[-1] == 100
    assert abs((begins[1] - begins[0]) - (begins[2] - begins[1])) <= 13
    assert len(given.cases(jobs, 4, length=20, most=99)) == 6
    assert [c.size for c in given.cases(jobs, Machine(4), length=500)] == [4]


def test_a_stretch_is_some_consecutive_jobs():
    load = workload(crowd(), Machine(8))
    part = given.stretch(load, slice(5, 9))
    for name in ("submit_s", "run_s", "procs", "ask_s"):
        np.testing.assert_array_equal(getattr(part, name), getattr(load, name)[5:9])
    assert part.row.tolist() == [0, 1, 2, 3]


# ---------------------------------------------------------------- generated sites


def test_users_submit_in_bursts_by_day_rather_than_by_night():
    rng = np.random.default_rng(0)
    kind, burst = _bursts(rng, 5000, 40)
    lengths = np.bincount(burst)
    assert 2 <= lengths[:-1].mean() <= 12
    assert (np.diff(burst) >= 0).all()
    assert all(len(set(kind[burst == b])) == 1 for b in range(50))
    submit = _moments(rng, burst, 40 * 86_400.0)
    assert submit[0] == 0
    assert (np.diff(submit) >= 0).all()
    hours = np.bincount((submit % 86_400 // 3600).astype(int), minlength=24)
    assert hours.max() > 3 * hours.min()
    assert 35 * 86_400 < submit[-1] < 42 * 86_400


# ---------------------------------------------------------------- many environments


def test_many_environments_say_what_is_wrong_with_them_and_what_they_plan_with():
    jobs = crowd(60)
    with pytest.raises(DataError, match="num_envs: expected at least 1, got 0"):
        VectorSchedulingEnv(jobs, 8, num_envs=0)
    env = VectorSchedulingEnv(jobs, 8, num_envs=1, episode_jobs=5)
    with pytest.raises(DataError, match="seed: expected 1 seeds, got 2"):
        env.reset(seed=[1, 2])
    assert not env.clairvoyant
    assert VectorSchedulingEnv(jobs, 8, estimates="perfect").clairvoyant
    assert VectorSchedulingEnv(jobs, 8).num_envs == 64
    env.reset()
    mask = env.action_masks()
    env.step(np.zeros(1, int))
    assert mask is not env.action_masks()
    own = VectorSchedulingEnv(jobs, 8, num_envs=2, copy=False)
    own.reset(seed=0)
    assert own.action_masks() is own.action_masks()
    assert np.shares_memory(own.step(np.zeros(2, int))[1], own.step(np.zeros(2, int))[1])
