"""Parts of training as closed forms: cases, prices, advantages, switches, weeks, limits."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

import torch

from rheostat.core.machine import Machine
from rheostat.core.series import Series
from rheostat.errors import DataError
from rheostat.simulation.workload import workload
from rheostat.training.distill.fidelity import _outside, _regret
from rheostat.training.distill.grow_tree import _between, bent, scales_of
from rheostat.training.distill.slurm_weights import _priority, _theta
from rheostat.training.env.bill import Bill, _price, bill_of
from rheostat.training.priority import training_cases as given
from rheostat.training.priority.evolve import _check, _ranker, begun
from rheostat.training.priority.generated_sites import generated_site
from rheostat.training.rl import ppo
from rheostat.training.rl.actor import Actor
from rheostat.training.rl.actor_critic_config import ActorCriticConfig
from rheostat.training.rl.curriculum import Curriculum
from rheostat.training.rl.dras_config import DrasConfig
from rheostat.training.rl.first_layer import FirstLayerCache
from rheostat.training.rl.hyperparameter_search import actor_switches, dras_switches, search
from rheostat.training.rl.synthetic_weeks import _arrivals
from tests.simulation.conftest import trace

# ---------------------------------------------------------------- prices and certificates


def test_a_price_is_its_integral_at_each_change_and_over_one_turn():
    moments, values, sums, turn, whole = _price(Series((0.0, 300.0), (0.1, 0.3), repeat_s=700.0))
    assert (moments.tolist(), values.tolist(), turn) == ([0.0, 300.0], [0.1, 0.3], 700.0)
    assert sums == pytest.approx([0.0, 30.0])
    assert whole == pytest.approx(300 * 0.1 + 400 * 0.3)
    nothing = _price(None)
    assert [v.tolist() for v in nothing[:3]] == [[0.0]] * 3
    assert nothing[3:] == (0.0, 0.0)
    site = Machine(4, idle_w=7.0, busy_w=9.0, carbon_g_per_kwh=Series((0.0,), (5.0,)))
    assert bill_of(site) == Bill(7.0, None, Series((0.0,), (5.0,)))
    assert bill_of(site).core()[0] == 7.0


def test_what_a_bill_lacks_is_said_for_what_is_asked_alone():
    bare = Bill(float("nan"), None, None)
    bare.check({"wait": 1.0, "energy": 0.0}, np.array([np.nan]))
    Bill(0.0, Series((0.0,), (1.0,)), None).check({"cost": 1.0}, np.array([1.0]))
    with pytest.raises(DataError) as said:
        bare.check({"energy": 1.0, "cost": 1.0}, np.array([1.0, np.nan, np.nan]))
    assert said.value.problems[0].startswith("2 of 3 jobs have no watts")
    assert said.value.problems[1].startswith("expected idle_w")
    assert list(said.value.problems[2:]) == [
        "expected tariff_per_kwh under [power] in the machine's TOML file"]  # fmt: skip


def test_regret_is_what_is_lacking_of_what_is_at_stake():
    value = np.array([1.0, 5.0, 3.0, 2.0, 2.0])
    best, spread = (lambda v: np.array([1, 3])), (lambda: np.array([4.0, 0.0]))
    states = SimpleNamespace(value=value, spread=spread, best=best)
    assert _regret(states, np.array([2, 4])).tolist() == [0.5, 0.0]


def test_strange_is_what_lies_beyond_all_that_was_learned_from():
    names = [SimpleNamespace(name=n) for n in "abc"]
    tree = SimpleNamespace(features=names, used=[names[0], names[2]])
    learned = SimpleNamespace(x=np.array([[0.0, 9.0, 1.0], [2.0, 9.0, 5.0]]))
    x = np.array([[0.0, 99.0, 1.0], [2.0, 0.0, 5.0], [2.1, 9.0, 5.0], [1.0, 9.0, 0.9]])
    assert _outside(tree, x, learned).tolist() == [False, False, True, True]


def test_thresholds_are_short_numbers_between_two_values():
    assert [_between(*ends) for ends in ((0.0, 1.0), (1.23, 1.27), (3.01, 3.1))] == [
        0.5, 1.25, 3.05]  # fmt: skip
    assert _between(1.0, 1.0000001) == 1.0
    assert 1.00000001 <= _between(1.00000001, 1.00000002) < 1.00000002
    assert bent(np.array([3.0, -3.0]), 1.0).tolist() == [0.75, -0.75]
    kinds = [SimpleNamespace(unit=u) for u in ("s", "s", "ln s", "0 to 1")]
    x = np.array([[2.0, 0.0, -3.0, 0.1], [-4.0, 0.0, 0.5, 0.2], [9.0, 0.0, 0.5, 0.2]])
    assert scales_of(x, kinds).tolist() == [4.0, 1.0, 3000.0, 1000.0]


def test_weights_of_slurm_are_whole_the_largest_is_ten_thousand_and_small_jobs_are_favoured():
    made = _priority(np.array([1.0, 0.5, 2.5, 0.2]), 86_400.0)
    assert (made.age, made.size, made.fairshare, made.favour_small) == (5000, 10_000, 1000, True)
    assert _theta(made).tolist() == [5000, 0, 10_000, 1000]
    big = _priority(np.array([0.0, 3.0, 1.0, 4.0]), 1.0)
    assert _theta(big).tolist() == [0, 5000, 0, 10_000]
    assert (big.max_age_s, big.half_life_s) == (1.0, 7 * 86_400.0)
    assert _theta(_priority(np.zeros(4), 1.0)).tolist() == [0, 0, 0, 0]


# ---------------------------------------------------------------- cases


def test_scores_of_a_case_are_means_and_shares():
    load = workload(trace([0, 10, 10], [20, 5, 100], [4, 2, 1]), Machine(4))
    start = np.array([0.0, 20.0, 25.0])
    score = {name: f(load, start, 4) for name, f in given.OBJECTIVES.items()}
    assert score["slowdown"] == pytest.approx(np.mean([1.0, 1.5, 1.15]))
    assert score["wait"] == pytest.approx(25 / 3 + 1)
    busy = (20 * 4 + 5 * 2 + 100) / (4 * 125)
    assert score["utilisation"] == pytest.approx(1 - busy)
    assert score["energy"] == pytest.approx(1 + 0.4 * (1 - busy) / busy)
    full = workload(trace([0], [20], [4]), Machine(4))
    assert given.OBJECTIVES["utilisation"](full, np.zeros(1), 4) == 1e-6
    case = given.TrainingCase(load, np.zeros(3), 4, "x", {"slowdown": 1.0, "wait": 2.0}, 12.0)
    wanted = 2 * np.log(score["slowdown"]) + 3 * np.log(score["wait"] / 2)
    assert given.loss(case, start, {"slowdown": 2, "wait": 3}) == pytest.approx(wanted)
    assert given.beyond(case, start, 1.0) == pytest.approx(np.log(15 / 12))
    assert given.beyond(case, start, 1.25) == 0.0
    calm = given.TrainingCase(load, np.zeros(3), 4, "x", {}, 0.0)
    assert given.beyond(calm, load.submit_s, 2.0) == 0.0
    assert given.beyond(calm, load.submit_s + 3, 2.0) == pytest.approx(np.log(3))


def test_cases_lie_in_the_first_part_of_a_trace_and_without_one_in_all_of_it():
    jobs = trace(np.arange(40) // 4 * 10, np.full(40, 30), np.full(40, 2))
    names = {until: [c.name for c in given.cases(jobs, 4, name="t", length=40, until=until)]
             for until in (0.5, 1.0)}  # fmt: skip
    assert names == {0.5: ["t[0:20]"], 1.0: ["t[0:40]"]}
    assert [c.name for c in given.cases(jobs, 4, name="t", length=40)] == names[1.0]
    two = [c.name for c in given.cases(jobs, 4, name="t", length=20)]
    assert (two[0], two[-1]) == ("t[0:20]", "t[20:40]")


def test_what_evolution_is_given_is_checked_and_begins_at_a_guess():
    for cases, wanted, said in (
        ([], {"slowdown": 1.0}, "at least one case"), ([1], {"speed": 1.0}, "got 'speed'"),
        ([1], {"wait": -1.0}, "wait: expected a weight of at least 0, got -1.0"),
        ([1], {"wait": 0.0}, "expected a weight above 0"),
    ):  # fmt: skip
        with pytest.raises(DataError, match=said):
            _check(cases, wanted)
    _check([1], {"wait": 0.0, "slowdown": 0.1})
    plain = begun(0, 3.0)
    assert plain.limit == 3.0
    moved = _ranker(np.concatenate([np.array(plain.weights), [0.0] * len(plain.trust)]), 2.0)
    assert (moved.weights, moved.limit) == (plain.weights, 2.0)
    assert set(moved.trust) == {0.0}


def test_a_generated_site_keeps_its_numbers():
    """Golden: another draw or another constant is another site."""
    log, procs = generated_site(3, 400)
    frame = log.frame
    run, ask, cores = (frame[c].to_numpy() for c in ("runtime_s", "time_limit_s", "cores"))
    assert (run <= np.maximum(ask, 60)).all()
    assert (np.log2(cores) % 1 == 0).all() or cores.max() == procs
    load = (run * cores).sum() / procs / np.ptp(frame["submit_s"].to_numpy())
    assert 0.3 < load < 1.2
    facts = [procs, *(float(v) for v in (run.sum(), ask.sum(), cores.sum()))]
    assert facts == [1406, 1053382.0, 5355600.0, 134818.0]
    assert float(frame["submit_s"].sum()) == 100455065.0
    assert frame["user"].n_unique() == 24


# ---------------------------------------------------------------- actors


def test_advantages_end_with_an_episode():
    rewards, values = np.array([[1.0], [2.0], [3.0]]), np.array([[0.5], [0.1], [0.2], [0.4]])
    ended = np.array([[False], [True], [False]])
    last = 3.0 + 0.9 * 0.4 - 0.2
    middle = 2.0 - 0.1
    first = 1.0 + 0.9 * 0.1 - 0.5 + 0.9 * 0.8 * middle
    made = ppo.advantages(rewards, values, ended, 0.9, 0.8)
    assert made[:, 0] == pytest.approx([first, middle, last])
    values = np.array([-9.0, 1.0, 0.0, 0.0])
    usual = 2.0 * np.abs(values + 2.0).mean() * np.sqrt(np.pi / 2)
    assert ppo.tamed(values, 2.0) == pytest.approx([-usual, 1.0, 0.0, 0.0])


def test_rewards_are_scaled_by_what_their_discounted_sums_vary_by():
    rewards = np.array([[1.0, 0.0], [2.0, 4.0]])
    sums = [2.0, 2.0, 2.0, 4.0]  # 1 + 2 / 2, 2; 0 + 4 / 2, 4
    assert ppo._scale(SimpleNamespace(rewards=rewards), 0.5) == pytest.approx(np.std(sums))
    assert ppo._scale(SimpleNamespace(rewards=np.zeros((2, 1))), 0.5) == 1.0


@pytest.mark.parametrize("method", ["ppo", "a2c"])
def test_a_step_follows_the_slope_of_its_objective(method):
    """Clipped ratios or log-chances times advantages, less errors of values, plus entropy."""
    setup = ActorCriticConfig(method, window=3, hidden=(5, 4), clip=0.1, entropy=0.3,
                              value_weight=0.7)  # fmt: skip
    actor, rng = Actor(setup, seed=1, watts=1.0), torch.Generator().manual_seed(0)
    width = actor_width(actor)
    mask = torch.tensor([[True, True, False, True], [True, False, False, True]] * 3)
    samples = {"views": torch.rand((6, width), generator=rng), "mask": mask,
               "chosen": torch.tensor([0, 3, 1, 0, 3, 3]),
               "chance": torch.log(torch.tensor([0.5, 0.5, 0.2, 0.4, 0.3, 0.6])),
               **{k: torch.randn(6, generator=rng) for k in ("better", "returns")}}  # fmt: skip
    scores, values = actor.network(samples["views"], mask)
    chances = torch.softmax(scores, 1)
    mine = chances[torch.arange(6), samples["chosen"]]
    good = (samples["better"] - samples["better"].mean()) / (samples["better"].std() + 1e-8)
    ratio = mine / samples["chance"].exp()
    gain = torch.minimum(ratio * good, ratio.clamp(0.9, 1.1) * good).mean()
    gain = gain if method == "ppo" else (mine.log() * good).mean()
    error = ((values - samples["returns"]) ** 2).mean()
    entropy = -torch.where(mask, chances * chances.clamp_min(1e-30).log(), 0.0).sum(1).mean()
    parameters = list(actor.network.parameters())
    slopes = torch.autograd.grad(0.7 * error - gain - 0.3 * entropy, parameters)
    length = torch.sqrt(sum((s**2).sum() for s in slopes))
    shorter = min(1.0, 0.5 / length.item())
    adam = SimpleNamespace(zero_grad=lambda: None, step=lambda: None)
    told = ppo._step(actor, adam, samples)
    for weight, slope in zip(parameters, slopes, strict=True):
        torch.testing.assert_close(weight.grad, slope * shorter, rtol=1e-3, atol=1e-6)
    moved = (ratio - 1 - torch.log(ratio)).mean()
    wanted = [v.item() for v in (error.detach(), entropy.detach(), moved.detach())]
    assert told == pytest.approx(wanted, rel=1e-3, abs=1e-5)


def actor_width(actor) -> int:
    from rheostat.training.env.batch import width

    return width(actor.setup.window)


def test_sums_over_nodes_are_those_of_the_product_whoever_comes_and_goes():
    rng, cache = np.random.default_rng(0), FirstLayerCache()
    weights = torch.from_numpy(rng.standard_normal((3, 8)))
    for owner in ([-1] * 8, [0, 0, -1, -1, 1, 1, -1, 0], [2, 2, 2, -1, 1, 1, -1, -1],
                  [2, 2, 2, 3, 1, 1, 3, 3], [-1, -1, -1, 3, -1, -1, 3, 3]):  # fmt: skip
        told = dict(zip(range(-1, 4), rng.standard_normal(5), strict=True))
        filtered = torch.tensor([told[o] for o in owner], dtype=torch.float64)
        part = cache.part(weights, np.array(owner), filtered)
        torch.testing.assert_close(part.double(), weights @ filtered, rtol=1e-5, atol=1e-5)


# ---------------------------------------------------------------- courses, searches, weeks


def test_a_course_keeps_its_last_part_from_what_is_learned():
    jobs = trace(np.arange(20) * 100.0, [50] * 20, [1] * 20)
    course = Curriculum(jobs, Machine(4), "ppo", switches={"lr": 1.0, "gamma": 0.5}, workers=3)
    assert (len(course.past), len(course.unseen), len(course.check)) == (16, 4, 4)
    assert [len(t) for t in course.whole] == [16]
    trial = course.shorter(7, lr=2.0)
    assert (len(trial.past), len(trial.unseen)) == (12, 4)
    assert (trial.rounds, trial.workers, trial.switches) == (7, 1, {"lr": 2.0, "gamma": 0.5})
    every = Curriculum(jobs, Machine(4), "ppo", held_out=0.0)
    assert (len(every.past), every.unseen, every.check) == (20, None, None)
    assert course.reward("wait", course.whole) == "wait"
    weeks = Curriculum(jobs, Machine(4), "dras-pg", phases=(0, 1, 0))
    assert weeks.whole is weeks.jobsets
    assert len(weeks.jobsets) == 1
    with pytest.raises(DataError) as said:
        Curriculum(jobs, Machine(4), "ppo", estimates="true", held_out=1.0)
    assert len(said.value.problems) == 2
    with pytest.raises(DataError):
        Curriculum(jobs, Machine(4), "ppo", held_out=-0.1)


class Asked:
    """A trial that takes the lowest or highest of what is suggested, and keeps the limits."""

    def __init__(self, last: bool) -> None:
        self.place, self.limits = (-1 if last else 0), {}

    def suggest_float(self, name, low, high, log=False):
        self.limits[name] = (low, high, log)
        return (low, high)[self.place]

    def suggest_categorical(self, name, choices):
        self.limits[name] = tuple(choices)
        return choices[self.place]


def test_a_search_tests_these_ranges():
    trial = Asked(last=True)
    assert actor_switches(trial) == {"lr": 1e-2, "gamma": 0.8, "entropy": 0.03, "hidden": (128, 64)}
    assert trial.limits == {"lr": (1e-4, 1e-2, True), "1-gamma": (1e-3, 0.2, True),
                            "entropy": (1e-4, 0.03, True),
                            "hidden": ("32,16", "64,32", "128,64")}  # fmt: skip
    trial = Asked(last=False)
    assert dras_switches(trial) == {"lr": 1e-5, "gamma": 0.999, "instances": 10}
    assert trial.limits == {"lr": (1e-5, 1e-2, True), "1-gamma": (1e-3, 0.5, True),
                            "instances": (10, 30, 100)}  # fmt: skip


def test_a_search_goes_on_where_it_was_and_refuses_the_journal_of_another(tmp_path):
    pytest.importorskip("optuna")
    jobs = trace(np.arange(40) * 10.0, [50] * 40, [2] * 40)
    course, told, learned = Curriculum(jobs, Machine(4), "ppo", seed=2), [], []

    def learn(short):
        learned.append(short)
        starts = short.check.jobs[:, 0] + 100.0 * len(learned)
        agent = SimpleNamespace(play=lambda t, seed: SimpleNamespace(starts=starts))
        return SimpleNamespace(agent=agent)

    def asked(trials, course=course, rounds=3):
        return search(course, learn, trials=trials, rounds=rounds, journal=tmp_path / "a" / "j",
                      progress=lambda *seen: told.append(seen))  # fmt: skip

    best = asked(2)
    assert [(n, of) for n, of, _ in told] == [(1, 2), (2, 2)]
    assert told[0][2]["score"] < told[1][2]["score"]
    assert told[1][2]["best"] == told[0][2]["score"]
    assert [(s.rounds, len(s.past)) for s in learned] == [(3, 24), (3, 24)]
    assert learned[0].switches == best != learned[1].switches
    assert asked(2) == best
    asked(3)
    assert len(learned) == 3
    with pytest.raises(DataError) as said:
        asked(3, rounds=4)
    assert list(said.value.problems) == ["rounds: expected 3, as it was begun, got 4",
                                   "delete the file to begin anew"]  # fmt: skip


def test_arrivals_are_whole_seconds_of_their_hours_and_at_least_one():
    rate = np.zeros(168)
    rate[[3, 90]] = 1 / 36.0
    made = _arrivals(rate, np.random.default_rng(0))
    assert set(made // 3600) == {3, 90}
    assert (made == np.floor(made)).all()
    assert (np.diff(made) >= 0).all()
    assert abs(len(made) - 200) < 5 * 200**0.5
    one = _arrivals(np.zeros(168), np.random.default_rng(0))
    assert len(one) == 1
    assert 0 <= one[0] < 168 * 3600


@pytest.mark.parametrize(("config", "wrong"), [
    (ActorCriticConfig, {"gamma": 1.01}), (ActorCriticConfig, {"trace_decay": -0.01}),
    (ActorCriticConfig, {"window": 0}), (ActorCriticConfig, {"parts": 1.0}),
    (ActorCriticConfig, {"hidden": (4, 0)}), (ActorCriticConfig, {"hidden": (4, 4, 4)}),
    (ActorCriticConfig, {"hidden": [4, 4]}), (ActorCriticConfig, {"lr": 0.0}),
    (ActorCriticConfig, {"clip": -0.1}), (ActorCriticConfig, {"entropy": float("nan")}),
    (DrasConfig, {"gamma": 1.01}), (DrasConfig, {"explore": -0.01}), (DrasConfig, {"window": True}),
    (DrasConfig, {"instances": 0}), (DrasConfig, {"hidden": (0, 4)}), (DrasConfig, {"lr": 0.0}),
    (DrasConfig, {"hidden": [4, 4]}), (DrasConfig, {"loss": "some"}),
])  # fmt: skip
def test_a_setup_is_refused_beyond_its_limits(config, wrong):
    with pytest.raises(DataError, match=r"\b" + next(iter(wrong))):
        config(**wrong)


@pytest.mark.parametrize(("config", "right"), [
    (ActorCriticConfig, {"gamma": 1, "trace_decay": 0, "window": 1, "hidden": (1, 1), "clip": 0,
                         "tame": 0, "entropy": 0, "value_weight": 0, "episodes": 1}),
    (DrasConfig, {"gamma": 0, "explore": 1, "explore_factor": 0, "explore_least": 1, "window": 1,
                  "instances": 1, "hidden": (1, 1)}),
])  # fmt: skip
def test_a_setup_may_stand_at_its_limits(config, right):
    made = config(**right)
    assert {name: getattr(made, name) for name in right} == right


def test_episodes_of_training_begin_busy_and_whole_traces_empty():
    setup = ActorCriticConfig(window=5, episode_jobs=9, reward="wait=1,cost=2")
    assert setup.billed
    assert not ActorCriticConfig(reward="wait").billed
    assert (setup.rules().warm, setup.rules().episode_jobs) == (True, 9)
    whole = setup.rules(whole=True)
    assert (whole.warm, whole.episode_jobs, whole.window) == (False, None, 5)
