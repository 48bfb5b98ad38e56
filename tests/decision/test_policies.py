"""Orders by their formulas, policies by their names, trees by what they must not be."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from rheostat.core.storage.files import seal
from rheostat.decision.policies.batch_policy import BACKFILLING, BatchPolicy, batch_policy
from rheostat.decision.policies.export import STEPS, export, plain, worths
from rheostat.decision.policies.multifactor import DAY_S, Multifactor, slurm_seconds
from rheostat.decision.policies.priority_functions import (
    PRIORITY_FUNCTIONS,
    PriorityFunction,
    priority_function,
)
from rheostat.decision.policies.priority_tree import PriorityTree, TreeFeature
from rheostat.decision.policies.tree_priority import SITE, is_site, site_score
from rheostat.errors import DataError
from rheostat.questions.scheduling.policies import open_policy
from rheostat.training.distill.value_tree import is_student

NOW, S, R, N = 1000.0, 400.0, 300.0, 8.0
W = NOW - S
SCORES = {
    "fcfs": S,
    "sjf": R,
    "ljf": -R,
    "saf": R * N,
    "sqf": N,
    "largest": -N,
    "lxf": -(W + R) / R,
    "wfp3": -((W / R) ** 3) * N,
    "unicef": -W / (math.log2(N) * R),
    "f1": math.log10(R) * N + 870 * math.log10(S),
    "f2": math.sqrt(R) * N + 25_600 * math.log10(S),
    "f3": R * N + 6_860_000 * math.log10(S),
    "f4": R * math.sqrt(N) + 530_000 * math.log10(S),
}


@pytest.mark.parametrize("name", SCORES)
def test_an_order_is_its_published_formula(name) -> None:
    assert priority_function(name).score(NOW, S, R, N) == pytest.approx(SCORES[name], rel=1e-9)
    assert priority_function(name.upper()) is PRIORITY_FUNCTIONS[name]


def test_the_edges_of_the_formulas() -> None:
    assert priority_function("lxf").score(NOW, S, 2.0, N) == pytest.approx(
        -(W + 2) / 10
    )  # run at least 10 s
    for name, grows in (("f1", 870), ("f2", 25_600), ("f3", 6_860_000), ("f4", 530_000)):
        early = priority_function(name).score(NOW, 0.0, R, N)
        assert early == priority_function(name).score(NOW, 1.0, R, N)  # submissions count from 1 s
        assert priority_function(name).score(NOW, 10.0, R, N) - early == pytest.approx(grows)
    one = priority_function("unicef").score(NOW, S, R, 1.0)
    assert one < priority_function("unicef").score(
        NOW, 0.0, 1.0, 2.0
    )  # one processor goes before all


def test_an_order_is_fixed_exactly_if_time_does_not_change_it() -> None:
    for name, made in PRIORITY_FUNCTIONS.items():
        if name == "multifactor":
            continue
        with np.errstate(all="ignore"):
            moved = made.score(NOW, S, R, N) != made.score(NOW + 50, S, R, N)
        assert made.fixed == (not moved), name
        assert made.meaning


def longest(now, s, r, n):
    return -r


def test_a_callable_is_an_order_that_moves_under_its_own_name() -> None:
    made = priority_function(longest)
    assert (made.name, made.fixed, made.score) == ("longest", False, longest)
    assert priority_function(made) is made
    assert priority_function(Multifactor(age=3.0)).factors.age == 3.0
    with pytest.raises(DataError, match=r"order fifo: expected one of fcfs, .*, multifactor$"):
        priority_function("fifo")


@pytest.mark.parametrize(
    ("spec", "more", "name", "first", "backfill"),
    [
        ("fcfs", {}, "fcfs", "fcfs", "none"),
        ("easy", {}, "easy", "fcfs", "easy"),
        (" Conservative ", {}, "conservative", "fcfs", "conservative"),
        ("SJF+EASY", {}, "sjf+easy", "sjf", "easy"),
        ("sjf", {"backfill": "easy"}, "sjf+easy", "sjf", "easy"),
        ("sjf", {"backfill": "none"}, "sjf", "sjf", "none"),
        ("multifactor+easy", {}, "multifactor+easy", "multifactor", "easy"),
        (longest, {}, "longest+easy", "longest", "easy"),
        (longest, {"backfill": "none"}, "longest", "longest", "none"),
        (Multifactor(), {"backfill": "conservative"}, "multifactor+conservative", "multifactor",
         "conservative"),
    ],
)  # fmt: skip
def test_a_policy_is_what_its_name_says(spec, more, name, first, backfill) -> None:
    made = batch_policy(spec, **more)
    assert (made.name, made.order.name, made.backfill) == (name, first, backfill)
    assert batch_policy(made) is made
    assert (made.semantics, made.ties, made.ends) == ("textbook", "event", "start")


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (
            lambda: batch_policy("sjf+fast"),
            "after the [+] expected easy or conservative, got 'fast'",
        ),
        (lambda: batch_policy("easy", backfill="none"), "says itself how far it backfills"),
        (lambda: batch_policy("sjf+easy", backfill="easy"), "says itself"),
        (
            lambda: batch_policy(batch_policy("easy"), backfill="easy"),
            "policy easy: it says itself",
        ),
        (
            lambda: BatchPolicy(priority_function("sjf"), "deep"),
            "backfill: expected one of none, easy, conserv",
        ),
        (
            lambda: batch_policy("sjf", semantics="true"),
            "semantics: expected one of textbook, cqsim",
        ),
        (
            lambda: batch_policy("sjf", ties="coin"),
            "ties: expected one of event, batch, got 'coin'",
        ),
        (lambda: batch_policy("sjf", ends="now"), "ends: expected one of start, expected"),
    ],
)
def test_a_policy_that_is_none_is_refused(ask, said) -> None:
    with pytest.raises(DataError, match=said):
        ask()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1", 60), ("1:30", 90), ("1:00:00", 3600), ("2-0", 2 * DAY_S), ("1-12", 1.5 * DAY_S),
        ("1-0:30", DAY_S + 1800), ("1-0:0:9", DAY_S + 9),
    ],
)  # fmt: skip
def test_times_as_slurm_writes_them(text, seconds) -> None:
    assert slurm_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "x", "1-", "-1", "1:2:3:4", "1.5"])
def test_times_as_slurm_does_not_write_them(text) -> None:
    with pytest.raises(ValueError, match=text or "^$"):
        slurm_seconds(text)


def test_weights_of_a_site_have_their_defaults_and_limits() -> None:
    made = Multifactor()
    assert (made.age, made.size, made.fairshare, made.qos) == (1000, 1000, 10_000, 0)
    assert (made.max_age_s, made.half_life_s, made.favour_small) == (7 * DAY_S, 7 * DAY_S, False)
    assert Multifactor(age=0, half_life_s=0).half_life_s == 0
    for wrong, said in (
        ({"size": -1}, "size: expected a number of at least 0, got -1"),
        ({"max_age_s": 0}, "max_age_s: expected seconds above 0"),
        ({"levels": {"high": -1}}, "levels.high"),
        ({"shares": {"u": "x"}}, "shares.u"),
        ({"qos": 1.0, "levels": {"high": 0}}, "gives no quality of service a priority"),
    ):
        with pytest.raises(DataError, match=said) as caught:
            Multifactor(**wrong)
        assert len(caught.value.problems) == 1
    assert Multifactor(qos=1.0, levels={"high": 5, "low": 0}).qos == 1.0
    with pytest.raises(DataError, match="no such file"):
        Multifactor.load("nowhere.toml")


def test_a_slurm_conf_without_weights_gives_none(tmp_path) -> None:
    conf = tmp_path / "slurm.conf"
    conf.write_text("# PriorityWeightAge=9\nPriorityFavorSmall=no\nPriorityWeightQOS=0\nX\n")
    made = Multifactor.load(conf)
    assert (made.age, made.size, made.fairshare, made.favour_small) == (0, 0, 0, False)
    assert made.max_age_s == 7 * DAY_S


# trees

TWO = (TreeFeature("wait_s", "s", "time waited"), TreeFeature("procs"))
PARTS = {
    "feature": [1, -1, -1], "threshold": [8.0, 0, 0], "left": [1, -1, -1], "right": [2, -1, -1],
    "value": [0.0, 5.0, 1.0], "slope": [[-1, -1], [0, 1], [-1, 0]],
    "scale": [[1.0, 1], [60, 4], [1, 30]], "steep": [[1.0, 1], [2, -4], [1, 0.5]],
}  # fmt: skip


def test_a_tree_is_worth_its_leaf_and_what_slopes_there() -> None:
    tree = PriorityTree.of(TWO, **PARTS)
    found = tree.predict([[60.0, 8.0], [-30.0, 9.0], [30.0, np.nan]])
    assert found == pytest.approx([5 + 0.5 / 2 - (8 / 12) / 4, 1 - 0.5 / 0.5, 1 + 0.5 / 0.5])
    assert tree.apply([[0, 8.0], [0, 8.1]]).tolist() == [1, 2]
    assert (tree.depth, tree.leaves.tolist(), tree.deep.tolist()) == (1, [1, 2], [0, 1, 1])
    assert [f.name for f in tree.used] == ["wait_s", "procs"]
    flat = PriorityTree.of(
        TWO, **{k: PARTS[k] for k in ("feature", "threshold", "left", "right", "value")}
    )
    assert [f.name for f in flat.used] == ["procs"]
    assert flat.predict([1.0, 9.0]).tolist() == [1.0]
    assert [f.said for f in TWO] == ["time waited", "procs"]
    with pytest.raises(DataError, match=r"expected \(r, 2\) values of wait_s, procs"):
        tree.predict([[1.0, 2.0, 3.0]])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"left": [0, -1, -1]}, r"nodes \[0\]: a child comes before its parent"),
        ({"right": [3, -1, -1]}, "a child comes before its parent or is none of the nodes"),
        ({"right": [-1, -1, -1]}, "one child alone"),
        ({"left": [1, -1, 2], "right": [2, -1, -1]}, "one child alone|child comes before"),
        ({"feature": [2, -1, -1]}, "asks about a column that is none of the 2"),
        ({"feature": [-1, -1, -1]}, "asks about a column that is none of the 2"),
        ({"slope": [[-1, -1], [2, 1], [-1, 0]]}, r"nodes \[1\]: slopes along a column"),
        ({"slope": [[-1, -1], [-2, 1], [-1, 0]]}, "slopes along a column"),
        ({"threshold": [np.inf, 0, 0]}, "threshold is no number"),
        ({"value": [0, np.nan, 1]}, "value is no number"),
        ({"scale": [[1.0, 1], [0.0, 4], [1, 30]]}, "scale is not above 0"),
        ({"scale": [[1.0, 1], [np.inf, 4], [1, 30]]}, "scale is not above 0"),
        ({"steep": [[1.0, 1], [2, 0], [1, 1]]}, "steep is 0 or no number"),
        ({"left": [1, -1, -1], "right": [1, -1, -1]}, "a node has two parents"),
        ({"value": [0.0, 5.0]}, "expected one entry per node"),
        ({"steep": [1.0, 1.0, 1.0]}, "expected one entry per node"),
    ],
)
def test_a_tree_in_which_a_job_would_get_lost_is_refused(change, said) -> None:
    with pytest.raises(DataError, match=said):
        PriorityTree.of(TWO, **(PARTS | change))
    assert PriorityTree.of(TWO, **(PARTS | {"threshold": [8.0, np.nan, np.nan]})).depth == 1


def test_a_tree_comes_back_from_its_file_and_another_file_does_not(tmp_path) -> None:
    path = tmp_path / "t.json"
    tree = PriorityTree.of(TWO, {"plays": "window"}, **PARTS)
    tree.save(path)
    first = path.read_bytes()
    again = PriorityTree.load(path)
    again.save(path)
    assert path.read_bytes() == first
    x = np.random.default_rng(0).normal(0, 50, (40, 2))
    assert again.predict(x).tolist() == tree.predict(x).tolist()
    assert again.features == tree.features
    assert is_student(again)
    PriorityTree.of(TWO, **PARTS).save(path)
    assert not is_student(PriorityTree.load(path))
    told = json.loads(path.read_text())
    del told["sha256"]
    for wrong in ({"features": [{"nam": 1}]}, {"value": [1]}):
        path.write_text(json.dumps(seal(told | {"contents": told["contents"] | wrong})))
        with pytest.raises(DataError, match=r"t\.json.*(nam|expected one entry)"):
            PriorityTree.load(path)


def test_the_score_of_a_site_is_minus_the_worth_of_its_facts() -> None:
    rng = np.random.default_rng(1)
    for asked in range(5):
        for slope in (-1, *range(5)):
            tree = PriorityTree.of(SITE, feature=[asked, -1, -1], threshold=[500.0, 0, 0],
                           left=[1, -1, -1], right=[2, -1, -1], value=[0.0, 2.0, 1.0],
                           slope=[-1, slope, slope], scale=[1.0, 90.0, 9.0],
                           steep=[1.0, -3.0, 0.7])  # fmt: skip
            score = site_score(tree)
            for wait, s, r, n in rng.uniform(0.1, 900, (12, 4)).tolist():
                now = s + wait
                facts = [now - s, r, n, r * n, (now - s) / max(r, 1.0)]
                assert -score(now, s, r, n) == pytest.approx(tree.predict(facts)[0], rel=1e-12)
    few = PriorityTree.of([SITE[2]], feature=[-1], threshold=[0], left=[-1], right=[-1],
                  value=[0.0], slope=[0], scale=[4.0], steep=[1.0])  # fmt: skip
    assert -site_score(few)(0.0, 0.0, 1.0, 4.0) == 0.5
    assert is_site(few)
    assert not is_site(PriorityTree.of((TWO[0], TreeFeature("users")), **PARTS))
    with pytest.raises(DataError, match=r"expected features among wait_s, .*, got users"):
        site_score(PriorityTree.of((TWO[0], TreeFeature("users")), **PARTS))


def test_an_order_of_a_tree_is_its_score_or_first_come(tmp_path) -> None:
    shortest = PriorityTree.of(SITE, feature=[-1], threshold=[0], left=[-1], right=[-1],
                       value=[0.0], slope=[1], scale=[3600.0], steep=[-1.0])  # fmt: skip
    made = priority_function(shortest)
    assert (made.name, made.fixed, made.tree) == ("tree", False, shortest)
    assert made.score(9.0, 0.0, 60.0, 1.0) < made.score(9.0, 0.0, 61.0, 1.0)
    other = priority_function(PriorityTree.of((TWO[0], TreeFeature("users")), **PARTS))
    assert other.score(9.0, 5.0, 60.0, 1.0) == 5.0
    shortest.save(tmp_path / "short.json")
    named = open_policy(f"tree:{tmp_path / 'short.json'}+conservative")
    assert (named.name, named.backfill) == ("tree:short+conservative", "conservative")
    assert isinstance(named.order, PriorityFunction)


def test_bounds_hold_every_worth_and_are_reached_from_below() -> None:
    tree = PriorityTree.of(TWO, **PARTS)
    low, high = worths(tree)
    assert (low, high) == pytest.approx((1 - 2.0, 5 + 0.5 + 0.25))
    x = np.random.default_rng(2).normal(0, 1e6, (2000, 2))
    found = tree.predict(x)
    assert low <= found.min()
    assert found.max() <= high
    assert found.min() < low + 0.05


def test_source_says_how_large_a_tree_is_and_what_it_asks() -> None:
    tree = PriorityTree.of(TWO, **PARTS)
    assert plain(tree)
    assert not plain(PriorityTree.of((TWO[0], TreeFeature("users")), **PARTS))
    for language in ("python", "c", "lua"):
        text = export(tree, language)
        assert "2 groups, at most 1 questions" in text
        assert "wait_s (time waited, s); procs (procs)" in text
        hidden = export(PriorityTree.of((TWO[0], TreeFeature("users")), **PARTS), language)
        assert "worth_of_job" in text
        assert "worth_of_job" not in hidden
    assert f"math.floor({STEPS} * part) + 1" in export(tree, "lua")
    with pytest.raises(DataError, match="expected python, c, lua, got 'perl'"):
        export(tree, "perl")
    assert BACKFILLING == ("none", "easy", "conservative")
