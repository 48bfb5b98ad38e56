"""What agents are judged on and what they learn from: jobs held out, objectives, made weeks."""

from __future__ import annotations

from time import process_time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")


from rheostat.core.machine import Machine
from rheostat.core.vocabulary import VOCABULARY
from rheostat.errors import DataError
from rheostat.simulation.engine.env_layout import (
    PAST,
)
from rheostat.simulation.simulate import simulate_run
from rheostat.simulation.workload import workload
from rheostat.training.env.episode_trace import trace as prepare
from rheostat.training.rl.actor import Actor
from rheostat.training.rl.actor_critic_config import ActorCriticConfig
from rheostat.training.rl.agent_policy import AgentPolicy
from rheostat.training.rl.curriculum import Curriculum
from rheostat.training.rl.held_out import held_out
from rheostat.training.rl.hyperparameter_search import _score
from rheostat.training.rl.objective import idle_hours, judged, total
from rheostat.training.rl.synthetic_weeks import (
    _watts_per_processor,
    hourly,
    rate_per_s,
    sampled_week,
    synthetic_week,
)
from tests.simulation.conftest import trace
from tests.training.test_dras import SMALL, loaded

TINY = ActorCriticConfig("ppo", 6, (16, 8), episodes=24, decisions=20, episode_jobs=40)


# ---------------------------------------------------------------- judged on jobs held out


def test_an_agent_is_judged_beside_easy_on_the_jobs_held_out():
    pytest.importorskip("safetensors")
    course = Curriculum(loaded(n=60), Machine(SMALL), "ppo", seed=3)
    actor = Actor(TINY, seed=1)
    said = []
    learned = SimpleNamespace(agent=actor, setup={"reward": "wait"})
    told = held_out(course, learned, "t.swf", progress=lambda *a: said.append(a))
    starts = actor.play(course.check).starts
    assert told["held_out_jobs"] == len(course.unseen) == 12
    assert told["objective_ratio"] == judged("wait", course.check, starts, course.machine)
    runs = told["held_out"]["policies"]
    assert list(runs) == ["easy", "ppo"]
    assert runs["ppo"]["wait_s"]["mean"] == pytest.approx((starts - course.check.jobs[:, 0]).mean())
    assert runs["ppo"]["paired"]["against"] == "easy"
    assert "gains" not in runs["ppo"]  # no breakdowns: a shorter report
    assert told["held_out"]["planning"] == {"estimates": "user"}
    assert said[-1][:2] == (12, 12)
    assert _score(Curriculum(loaded(n=60), Machine(SMALL), "ppo"), learned) == judged(
        "slowdown", course.check, starts, course.machine)  # fmt: skip
    with pytest.raises(DataError, match="too few jobs to hold any out"):
        _score(Curriculum(loaded(n=60), Machine(SMALL), "ppo", held_out=0.0), learned)


def test_a_course_takes_weeks_or_phases_and_the_usual_reward_where_none_is_asked():
    jobs = trace(np.arange(30) * 86_400.0, [50] * 30, [1] * 30)
    dras = Curriculum(jobs, Machine(4), "dras-pg", rounds=2, held_out=0.0)
    assert [len(t) for t in dras.jobsets] == [7, 7]
    every = Curriculum(jobs, Machine(4), "ppo", rounds=2, held_out=0.0)
    assert [len(t) for t in every.jobsets] == [7, 7, 7, 7, 2]
    assert (
        Curriculum(jobs, Machine(4), "ppo", objective="slowdown").reward("wait", []) == "slowdown"
    )
    seeds = [Curriculum(jobs, Machine(4), "dras-pg", phases=(1, 0, 0), seed=s).jobsets[0].jobs
             for s in (0, 0, 1)]  # fmt: skip
    assert seeds[0].tobytes() == seeds[1].tobytes() != seeds[2].tobytes()


def test_objectives_of_a_schedule_by_hand():
    jobs = prepare(trace([0, 0, 3600], [7200, 3600, 5], [2, 1, 4]), 4)
    starts = np.array([0.0, 3600.0, 10_800.0])
    machine = Machine(4)
    assert total("wait", jobs, starts, machine) == pytest.approx(3.0)
    assert total("slowdown", jobs, starts, machine) == pytest.approx(1.0 + 7200 / 10)
    # a queue from 0 to 10,800 s: half free, a quarter free, and all free from 7,200 s on
    assert idle_hours(jobs, starts) == pytest.approx(0.5 + 0.25 + 1.0)
    assert total("utilisation", jobs, starts, machine) == idle_hours(jobs, starts)
    assert judged("dras_capacity", jobs, jobs.jobs[:, PAST], machine) == 1.0
    calm = prepare(trace([0, 100], [5, 5], [1, 1]), 4)
    assert judged("wait", calm, calm.jobs[:, 0], machine) == 1.0
    assert judged("wait", calm, calm.jobs[:, 0] + 1, machine) == np.inf


# ---------------------------------------------------------------- weeks that are made


def test_watts_are_per_processor_and_made_weeks_draw_as_much():
    jobs = trace(np.arange(200) * 3600.0, [600.0] * 200, np.tile([1, 8], 100)).with_columns(
        [VOCABULARY["power_w"]], power_w=np.tile([50.0, 800.0], 100)
    )
    site, rng = Machine(8), np.random.default_rng(0)
    load = workload(jobs, site)
    assert _watts_per_processor(jobs, load).tolist() == np.tile([50.0, 100.0], 100).tolist()
    assert _watts_per_processor(trace([0], [1], [1]), load) is None
    for week in (sampled_week, synthetic_week):
        made = week(jobs, site, rng)
        procs = made.numpy("cores")
        wanted = np.where(procs == 8, 800.0, 50.0)
        np.testing.assert_allclose(made.numpy("power_w"), wanted)
        assert set(procs) == {1, 8}
    assert "power_w" not in sampled_week(trace([0, 9], [1, 1], [1, 1]), site, rng).schema


def test_a_rate_is_over_the_whole_trace_and_over_an_hour_at_least():
    def rate(*submit):
        n = len(submit)
        return rate_per_s(workload(trace(list(submit), [1] * n, [1] * n), Machine(4)))

    assert rate(50.0, 7250.0) == pytest.approx(2 / 7200)
    assert rate(5.0, 6.0) == pytest.approx(2 / 3600)
    submit = 5000 + 3600 * np.array([0, 168, 169])  # hours count from the first submission
    hours = hourly(workload(trace(submit, [1] * 3, [1] * 3), Machine(4)))
    assert hours[:3] * 3600 == pytest.approx([1.0, 0.5, 0.0])


def test_lengths_of_a_made_week_stay_within_what_was_seen_of_their_size():
    run = np.tile([1.0, 40.0, 7.0, 9000.0], 60)
    ask = np.tile([90.0, 40.0, 70.0, 9500.0], 60)
    jobs = trace(np.arange(240) * 600.0, run, np.tile([1, 1, 4, 4], 60), ask)
    made = synthetic_week(jobs, Machine(8), np.random.default_rng(1))
    procs, runs, asks = (made.numpy(c) for c in ("cores", "runtime_s", "time_limit_s"))
    for size, low, high in ((1, 1.0, 40.0), (4, 7.0, 9000.0)):
        here = runs[procs == size]
        assert low <= here.min() <= here.max() <= high
        assert len(np.unique(here)) > 10
    assert (asks >= runs).all()
    assert asks.max() <= 9500
    assert (runs == runs.round()).all()


def test_a_simulation_by_an_actor_takes_the_estimates_it_is_given():
    jobs = loaded(n=40)
    said, before_s = [], process_time()
    run = simulate_run(
        jobs, AgentPolicy(Actor(TINY, seed=1), "x", lambda *a: said.append(a)), SMALL
    )
    whole_s = process_time() - before_s
    assert said[-1] == (40, 40, {})
    assert not run.clairvoyant
    assert 0 < run.cpu_s <= whole_s
    starts = Actor(TINY, seed=1).play(prepare(jobs, SMALL)).starts
    assert sorted(run.jobs.numpy("start_s")) == sorted(starts)
