"""Served models and batch jobs under one limit: none divides it better, none is above it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rheostat as rh
from rheostat.core.series import Series
from rheostat.decision.budget.divided_power import BatchPower, ServedModel, divide, served_models
from rheostat.errors import DataError, QuestionError
from rheostat.measurement.grid_conditions import GridConditions, daily_share
from rheostat.questions.site.served_share import read_served
from rheostat.questions.site.what_if import site_what_if
from rheostat.simulation.grid_plans import Capped, believed_watts, plans

SITE = rh.Machine(8, idle_w=50.0, busy_w=100.0)
CHAT = rh.table({
    "app": ["chat"] * 3, "cap_w": [100.0, 200.0, 300.0], "runtime_s": [1 / 4, 1 / 9, 1 / 10],
    "power_w": [90.0, 180.0, 270.0], "setting": ["batch 8", "batch 32", "batch 64"],
})  # fmt: skip


def model(steps):
    cap, rate = np.cumsum([s for s, _ in steps]), np.cumsum([r for _, r in steps])
    return ServedModel("m", cap.astype(float), cap.astype(float), rate.astype(float), ("",) * 9)


MODELS = st.lists(
    st.lists(st.tuples(st.integers(10, 400), st.integers(1, 9)), min_size=1, max_size=4).map(model),
    min_size=1, max_size=3,
)  # fmt: skip


@settings(deadline=None, max_examples=40)
@given(MODELS, st.integers(100, 2500), st.sampled_from([(1.0, 1.0), (0.8, 0.95), (0.7, 0.5)]))
def test_no_other_division_is_better_by_more_than_is_certified(models, limit, capped) -> None:
    batch = BatchPower(100.0, 1000.0, capped)
    made = divide(float(limit), batch, models)
    watts, speed = batch.options()
    worth = {}
    for choice in product(*(range(len(m.cap_w)) for m in models)):
        left = limit - sum(m.cap_w[c] for m, c in zip(models, choice, strict=True))
        if left < 100.0:
            continue
        most = speed[watts <= left + 1e-9].max() * 1000.0
        lost = (m.speed[c] * m.cap_w[-1] for m, c in zip(models, choice, strict=True))
        worth[choice] = most + sum(lost)
    if not worth:
        assert made.certificate is None
        assert made.choice == (0,) * len(models)
        return
    assert made.certificate is not None
    assert made.batch_w >= 100.0
    best = max(worth.values())
    assert worth[made.choice] == pytest.approx(made.certificate.value)
    assert made.certificate.bound >= best - 1e-6
    assert worth[made.choice] >= best * (1 - made.certificate.gap) - 1e-6


def test_a_model_gives_its_watts_up_where_that_costs_least() -> None:
    """The third hundred watts buy a tenth of the tokens; so they go to the jobs in the evening."""
    rows = {"job_id": [1, 2], "submit_s": [0.0, 0.0], "runtime_s": [1000.0] * 2, "cores": [4, 4],
            "time_limit_s": [1000.0] * 2, "power_w": [400.0] * 2}  # fmt: skip
    short = GridConditions(available_w=Series((0.0, 500.0), (1200.0, 1000.0)))
    answer = site_what_if(rh.table(rows), short, machine=SITE, served=[CHAT], replays=0)
    named = {r.name: r.measures for r in answer.results}
    assert named["do nothing"]["over_s"] == 500.0
    assert named["do nothing"]["over_w"] == 100.0
    assert named["do nothing"]["energy_j"] == pytest.approx((800 + 270) * 1000)
    assert named["jobs wait"]["over_s"] == 0.0
    assert named["jobs wait"]["mean_wait_s"] == 0.0
    assert named["jobs wait"]["energy_j"] == pytest.approx(800 * 1000 + (270 + 180) * 500)
    told = [(r["available_w"], r["setting"], r["batch_w"]) for r in answer.served]
    assert told == [(1000.0, "batch 32", 800.0), (1200.0, "batch 64", 900.0)]
    assert "chat at 90% of its tokens per second" in str(answer)


def test_a_sites_own_cap_is_of_all_that_it_feeds() -> None:
    """Of 1,000 W the model takes 300: two jobs of 400 W beside it have to wait for each other."""
    rows = {"job_id": [1, 2], "submit_s": [0.0, 0.0], "runtime_s": [100.0] * 2, "cores": [4, 4],
            "time_limit_s": [100.0] * 2, "power_w": [400.0] * 2}  # fmt: skip
    capped = replace(SITE, cap_w=Series.of(1000.0))
    whole = GridConditions(available_share=Series.of(1.0))
    answer = site_what_if(rh.table(rows), whole, machine=capped, served=[CHAT], replays=0)
    assert answer.results[0].measures["mean_wait_s"] == 50.0
    assert answer.results[0].measures["over_s"] == 0.0
    assert answer.served[0]["available_w"] == 1000.0


def test_what_does_not_fit_is_named() -> None:
    rows = {"job_id": [1], "submit_s": [0.0], "runtime_s": [100.0], "cores": [1],
            "time_limit_s": [100.0]}  # fmt: skip
    short = GridConditions(available_w=Series.of(450.0))
    answer = site_what_if(rh.table(rows), short, machine=SITE, served=[CHAT], replays=0)
    assert answer.choice is None
    assert any("100 W that chat need within their limits" in n for n in answer.notes)
    assert answer.served[0]["gap"] is None
    dear = GridConditions(price_per_kwh=Series.of(0.1))
    with pytest.raises(QuestionError, match="share a limit of power"):
        site_what_if(rh.table(rows), dear, machine=SITE, served=[CHAT])
    with pytest.raises(DataError, match="above 0"):
        served_models(rh.table({"app": ["a"], "cap_w": [0.0], "runtime_s": [1.0]}))


def serving_runs():
    """A model on one type of GPU; the more requests at once, the more watts, tokens and waiting."""
    batch = np.array([8, 16, 32, 64, 128, 256])
    itl, power = 0.01 + 0.0002 * batch, 100.0 + 4.0 * batch
    return rh.table({
        "app": ["chat"] * 6, "params": [8e9] * 6, "gpu_model": ["H100"] * 6, "gpus": [1] * 6,
        "batch_cap": batch, "itl_s": itl, "energy_per_token_j": power * itl / batch,
    })  # fmt: skip


WITHIN = tuple(f"gpu_model=H100 gpus=1 batch_cap={b}" for b in (8, 16, 32, 64))
"""Configurations with at most 30 ms between tokens."""


@pytest.fixture(scope="module")
def chat(tmp_path_factory):
    """Runs under caps of the configurations within 30 ms between tokens."""
    out = tmp_path_factory.mktemp("served") / "chat.csv"
    rh.llm.plan(serving_runs(), "chat", itl="30ms", out=out)
    return out


def test_a_plan_writes_what_holds_its_limits_and_nothing_else(chat) -> None:
    (made,) = served_models(rh.read(chat))
    assert made.setting == WITHIN
    assert made.cap_w.tolist() == pytest.approx([132, 164, 228, 356])
    assert made.rate.tolist() == pytest.approx([b / (0.01 + 0.0002 * b) for b in (8, 16, 32, 64)])


def test_the_evening_of_a_recorded_month_is_held_at_each_minute(chat, shared_data) -> None:
    """20 % less power from 17 to 20 h: whoever is slower is named, and none breaks a limit."""
    log = rh.read(shared_data / "swf" / "kth_sp2.swf.gz")
    submit = log.numpy("submit_s") - log.numpy("submit_s").min()
    month = log.rows((submit >= 60 * 86_400) & (submit < 90 * 86_400))
    site = rh.Machine(100, idle_w=80.0, busy_w=300.0)
    many = rh.read(chat)
    many = many.with_columns([], cap_w=12 * many.numpy("cap_w"), power_w=12 * many.numpy("power_w"))
    evening = daily_share(0.8, 17, 20)
    answer = site_what_if(month, evening, machine=site, served=[many], replays=0)
    assert answer.choice is not None
    taken, base = answer.results[answer.choice], answer.results[0]
    assert base.measures["over_s"] > 3600
    assert taken.measures["over_s"] == 0.0
    assert taken.left_out == 0
    assert all(row["gap"] <= 1e-9 for row in answer.served)
    least = min(answer.served, key=lambda row: row["available_w"])
    assert least["speed"] < 1
    assert least["setting"] in WITHIN
    assert f"at {least['speed']:.0%} of its tokens" in str(answer)
    available = replace(
        evening.available_share,
        values=tuple(v * max(r["available_w"] for r in answer.served)
                     for v in evening.available_share.values),
    )  # fmt: skip
    share = read_served([many]).divided(available, BatchPower(8e3, 30e3))
    keeps = share.shared(available)
    todo = plans(site, keeps.left_of(available), (), None, share.full, keeps)
    plan = next(p for p in todo if p.name == taken.name)
    run = plan.run(month, "easy", believed_watts(month, site))
    assert len(run.jobs) == len(month)
    minutes = np.arange(run.account.times[0], run.account.times[-1], 60.0)
    drawn = run.account.watts[np.searchsorted(run.account.times, minutes, side="right") - 1]
    assert (drawn + keeps.kept_w.at(minutes) <= available.at(minutes) + 1e-6).all()
    assert len(minutes) > 29 * 1440


def test_every_job_that_a_cap_runs_past_its_limit_is_named(shared_data) -> None:
    """On the recorded month, with the limits that its users stated; without caps there is none."""
    log = rh.read(shared_data / "swf" / "kth_sp2.swf.gz")
    submit = log.numpy("submit_s") - log.numpy("submit_s").min()
    month = log.rows((submit >= 60 * 86_400) & (submit < 90 * 86_400))
    site = rh.Machine(100, idle_w=80.0, busy_w=300.0)
    evening, how = daily_share(0.8, 17, 20), Capped(0.8, 1.07)
    answer = site_what_if(month, evening, machine=site, capped=how, replays=0)
    within = month.numpy("runtime_s") <= month.numpy("time_limit_s")
    beyond = within & (1.07 * month.numpy("runtime_s") > month.numpy("time_limit_s"))
    named = {r.name: r.over_limit for r in answer.results}
    assert named["cap all jobs"] == beyond.sum() > 10
    assert 0 < named["cap or wait"] < beyond.sum()
    assert [named[n] for n in ("do nothing", "jobs wait")] == [0, 0]
    taken = answer.results[answer.choice]
    assert len(answer.over_limit) == taken.over_limit
    assert set(answer.over_limit) <= set(month.frame["job_id"].filter(beyond))
    assert (f"{taken.over_limit:,} jobs run capped past" in str(answer)) == (taken.over_limit > 0)
    assert taken.measures["over_s"] == 0.0
