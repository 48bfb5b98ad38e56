"""A site's priority: against its definition, evaluated from scratch at every pass."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rheostat.core.jobs import Column, Moment
from rheostat.decision.policies.batch_policy import batch_policy
from rheostat.decision.policies.multifactor import DAY_S, Multifactor
from rheostat.errors import DataError
from rheostat.questions.scheduling.policies import open_policy
from rheostat.simulation.simulate import simulate_run
from tests.simulation.conftest import trace
from tests.simulation.oracle import oracle

SIZE, N = 12, 160


def shared_trace(seed):
    """A queue that is long for most of the time; three users, two qualities of service."""
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.uniform(0, 2 * DAY_S, N))
    run, procs = rng.lognormal(8, 1, N), rng.integers(1, 9, N)
    user, qos = rng.choice(list("aab"), N), rng.choice(["high", "normal", "odd"], N)
    user = np.where(np.arange(N) % 7 == 0, "c", user)
    jobs = trace(submit, run, procs, run * rng.uniform(1, 4, N))
    columns = [Column(n, "", Moment.SUBMIT, "of the job") for n in ("user", "qos")]
    return jobs.with_columns(columns, user=pl.Series(user), qos=pl.Series(qos))


def by_definition(jobs, facts):
    """The priority, use integrated from the starts each time."""
    submit, run, procs = (jobs.numpy(c) for c in ("submit_s", "runtime_s", "cores"))
    user, qos = (jobs.frame[c].to_numpy() for c in ("user", "qos"))
    shares = {u: facts.shares.get(u, 1.0) for u in set(user)}
    top = max(facts.levels.values(), default=1)

    def used(now, start, who):
        of = who & (start <= now)
        past = [np.maximum(now - t[of], 0) / facts.half_life_s for t in (start + run, start)]
        scale = facts.half_life_s / np.log(2)
        return (procs[of] * scale * (2.0 ** -past[0] - 2.0 ** -past[1])).sum()

    def score(now, j, start):
        everybody = used(now, start, np.ones(N, bool))
        taken = used(now, start, user == user[j]) / everybody if everybody > 0 else 0.0
        x = shares[user[j]] / sum(shares.values())
        return -(
            facts.age * min((now - submit[j]) / facts.max_age_s, 1)
            + facts.size * (1 - procs[j] / SIZE if facts.favour_small else procs[j] / SIZE)
            + facts.fairshare * 2 ** (-taken / x)
            + facts.qos * facts.levels.get(qos[j], 0) / top
        )

    return score


@pytest.mark.parametrize("backfill", ["none", "easy", "conservative"])
@pytest.mark.parametrize(
    "facts",
    [
        Multifactor(half_life_s=DAY_S / 4),
        Multifactor(2.0, 1.0, 3.0, 1.5, DAY_S, DAY_S, True, {"high": 40, "normal": 10}, {"b": 5}),
    ],
)
def test_jobs_start_as_the_definition_has_it(facts, backfill):
    jobs = shared_trace(3)
    rule = batch_policy(facts)
    rule = type(rule)(rule.order, backfill)
    found = simulate_run(jobs, rule, SIZE).jobs.numpy("start_s")
    parts = [jobs.numpy(c) for c in ("submit_s", "runtime_s", "cores", "time_limit_s")]
    expected = oracle(
        *parts[:2], parts[2].astype(int), SIZE,
        planned=parts[3], booked=parts[3], backfill=backfill, score=by_definition(jobs, facts),
    )  # fmt: skip
    assert found == pytest.approx(expected, rel=1e-12)


def test_one_weight_alone_is_a_known_order():
    jobs = shared_trace(4)
    none = {"age": 0.0, "size": 0.0, "fairshare": 0.0}
    for weights, order in (
        ({"age": 1.0, "max_age_s": 1e9}, "fcfs"),
        ({"size": 1.0}, "largest"),
        ({"size": 1.0, "favour_small": True}, "sqf"),
    ):
        one = simulate_run(jobs, batch_policy(Multifactor(**{**none, **weights})), SIZE).jobs
        assert one.frame["start_s"].equals(
            simulate_run(jobs, f"{order}+easy", SIZE).jobs.frame["start_s"]
        )


def test_who_has_used_less_goes_first_until_it_is_forgotten():
    """Both users queue behind a full machine; a has just used it, or long ago."""
    column = [Column("user", "", Moment.SUBMIT, "who")]
    gone = 60 * DAY_S
    for later, first in ((200.0, "b"), (gone, "a")):
        jobs = trace([0, later, later + 1, later + 2], [100, 50, 10, 10], [4, 4, 4, 4])
        jobs = jobs.with_columns(column, user=pl.Series(["a", "c", "a", "b"]))
        rule = Multifactor(age=1.0, size=0.0, fairshare=1e5, half_life_s=DAY_S)
        done = simulate_run(jobs, batch_policy(rule), 4).jobs
        third = done.frame.sort("start_s")["user"][2]
        assert third == first


def test_weights_come_from_slurm_conf_and_from_toml(tmp_path):
    conf = tmp_path / "slurm.conf"
    conf.write_text(
        "ClusterName=x\nPriorityType=priority/multifactor\nPriorityWeightAge=500 # a comment\n"
        "priorityweightfairshare=20000\nPriorityDecayHalfLife=14-0\nPriorityMaxAge=1-12:00:00\n"
        "PriorityFavorSmall=YES\n"
    )
    told = Multifactor.load(conf)
    assert (told.age, told.size, told.fairshare, told.qos) == (500, 0, 20_000, 0)
    assert (told.half_life_s, told.max_age_s, told.favour_small) == (14 * DAY_S, 1.5 * DAY_S, True)
    toml = tmp_path / "Prio.toml"
    toml.write_text("age = 2\nqos = 3\n[levels]\nhigh = 10\n[shares]\nphysics = 4\n")
    rule = open_policy(f"multifactor:{toml}+conservative")
    assert (rule.name, rule.backfill) == ("multifactor:Prio+conservative", "conservative")
    assert rule.order.factors == Multifactor(2, qos=3, levels={"high": 10}, shares={"physics": 4})


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.toml", "agee = 3\nfoo = 1", "agee is not known.*foo is not known"),
        ("b.toml", "age = ", "expected TOML"),
        ("c.conf", "PriorityMaxAge=soon\nPriorityWeightAge=x", "PriorityMaxAge.*PriorityWeightAge"),
        ("d.conf", "PriorityWeightQOS=10", "levels"),
        ("e.toml", "qos = 1", "levels gives no quality"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_at_once(tmp_path, name, text, why):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=f"(?s){name}.*{why}"):
        open_policy(f"multifactor:{tmp_path / name}+easy")
