"""Trees of priorities, against one job after the other walking down; a placebo by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t

from rheostat import table
from rheostat.decision.placebo import clustered, left, numbered, placebos
from rheostat.decision.policies.batch_policy import BatchPolicy, batch_policy
from rheostat.decision.policies.priority_tree import PriorityTree, TreeFeature
from rheostat.errors import DataError

NAMES = [TreeFeature("a"), TreeFeature("b"), TreeFeature("c")]


def grown(rng, deep: int) -> PriorityTree:
    """A random tree, children behind their parents, with two slopes for each leaf."""
    feature, threshold, below, above, value = [], [], [], [], []

    def node(left_deep: int) -> int:
        here = len(feature)
        for column in (feature, below, above):
            column.append(-1)
        threshold.append(float(rng.integers(0, 4)))
        value.append(float(rng.normal()))
        if left_deep and rng.random() < 0.8:
            feature[here] = int(rng.integers(0, 2))
            below[here] = node(left_deep - 1)
            above[here] = node(left_deep - 1)
        return here

    node(deep)
    m = len(feature)
    return PriorityTree.of(
        NAMES, feature=feature, threshold=threshold, left=below, right=above, value=value,
        slope=rng.integers(-1, 2, (m, 2)), scale=rng.uniform(0.5, 3, (m, 2)),
        steep=rng.choice([-2.0, 1.0, 4.0], (m, 2)),
    )  # fmt: skip


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(0, 4))
def test_a_tree_is_what_walking_down_it_gives(seed, deep) -> None:
    rng = np.random.default_rng(seed)
    tree = grown(rng, deep)
    jobs = rng.integers(-1, 5, (7, 3)).astype(float)
    depths = {0: 0}
    for i, (low, high) in enumerate(zip(tree.left, tree.right, strict=True)):
        if low >= 0:
            depths[low] = depths[high] = depths[i] + 1
    assert tree.deep.tolist() == [depths[i] for i in range(len(tree.left))]
    assert tree.depth == max(depths.values())
    assert tree.leaves.tolist() == [i for i in range(len(tree.left)) if tree.left[i] < 0]
    matter = {int(tree.feature[i]) for i in range(len(tree.left)) if tree.left[i] >= 0}
    matter |= {int(s) for leaf in tree.leaves for s in tree.slope[leaf] if s >= 0}
    assert [f.name for f in tree.used] == ["abc"[i] for i in sorted(matter)]
    for x, leaf, worth in zip(jobs, tree.apply(jobs), tree.predict(jobs), strict=True):
        at = 0
        while tree.left[at] >= 0:
            at = tree.left[at] if x[tree.feature[at]] <= tree.threshold[at] else tree.right[at]
        wanted = tree.value[at]
        for k in range(2):
            if tree.slope[at, k] >= 0:
                seen = x[tree.slope[at, k]]
                wanted += seen / (abs(seen) + tree.scale[at, k]) / tree.steep[at, k]
        assert (leaf, worth) == (at, pytest.approx(wanted))


def test_a_column_of_a_word_is_its_name_without_other_words() -> None:
    assert TreeFeature("x").said == "x"
    assert TreeFeature("x", "s", "how long").said == "how long"
    single = PriorityTree.of(
        NAMES, feature=[-1], threshold=[0.0], left=[-1], right=[-1], value=[2.0]
    )
    assert single.support.tolist() == [0]
    assert (single.depth, single.used, single.predict([1.0, 2.0, 3.0]).tolist()) == (0, (), [2.0])
    with pytest.raises(DataError, match=r"got shape \(1, 2\)"):
        single.predict([1.0, 2.0])


@pytest.mark.parametrize(("given_", "said"), [
    ({"backfill": "far"}, "backfill: expected one of none, easy, conservative, got 'far'"),
    ({"semantics": "x"}, "semantics: expected one of"), ({"ties": "x"}, "ties: expected one of"),
    ({"ends": "x"}, "ends: expected one of"), ({"overdue": "x"}, "overdue: expected one of"),
    ({"ends": None}, "ends: expected one of"),
])  # fmt: skip
def test_words_of_a_policy_are_known_ones(given_, said) -> None:
    order = batch_policy("sjf").order
    with pytest.raises(DataError, match=said):
        BatchPolicy(order, **given_)
    for overdue in (None, "past", "now", "extend"):
        assert BatchPolicy(order, overdue=overdue).overdue == overdue


def test_a_policy_is_carried_out_by_the_engine_of_the_problem() -> None:
    class Engine:
        def by_priority(self, rule):
            return ("planned", rule)

    policy = batch_policy("sjf+easy")
    assert policy.plan(Engine()) == ("planned", policy)


def test_runs_are_numbered_by_application_and_user_in_order_of_time() -> None:
    runs = table({"app": ["b", "a", "b", None], "user": ["u", "u", "v", "u"], "nodes": [1, 2, 3, 4],
                  "nodes_requested": [8, None, 6, 5], "submit_s": [3.0, 2.0, 1.0,
                  0.0]})  # fmt: skip
    made = numbered(runs, "nodes")
    assert made["nodes"].to_list() == [4, 3, 2, 1]
    assert made["_asked"].to_list() == [5, 6, 2, 8]
    assert made["_app"].to_list() == [1, 3, 2, 3]
    assert made["_cell"].to_list() == [1, 4, 2, 3]
    timeless = numbered(runs.select(["user", "nodes"]), "nodes")
    assert timeless["nodes"].to_list() == [1, 2, 3, 4]
    assert timeless["_app"].to_list() == timeless["_cell"].to_list() == [1, 1, 2, 1]
    assert timeless["_asked"].to_list() == [1, 2, 3, 4]
    assert numbered(runs.select(["nodes"]), "nodes") is None
    assert numbered(runs, "cap_w") is None
    assert numbered(table({"app": ["a"], "partition": ["x"]}), "partition") is None
    worded = table({"app": ["a"], "nodes": [1], "nodes_requested": ["x"]})
    assert numbered(worded, "nodes") is None


def test_a_clustered_error_is_that_of_sums_within_groups() -> None:
    rng = np.random.default_rng(0)
    x, y, group = rng.normal(size=12), rng.normal(size=12), np.arange(12) % 4
    slope = (x @ y) / (x @ x)
    sums = [(x * (y - slope * x))[group == g].sum() for g in range(4)]
    error = math.sqrt(sum(s * s for s in sums) * 4 / 3) / (x @ x)
    assert clustered(x, y, group) == pytest.approx((slope, error))
    rest = left(y, x[:, None], np.zeros(12, dtype=int), group)
    dummies = (group[:, None] == np.arange(4)).astype(float)
    columns = np.column_stack([dummies, x])
    assert rest == pytest.approx(y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0])


@pytest.mark.parametrize("size", [False, True])
def test_a_placebo_is_the_slope_of_the_run_before_on_what_is_asked_for_now(size) -> None:
    rng = np.random.default_rng(4)
    apps, runs = 6, 12
    n = apps * runs
    data = {"app": [f"a{i % apps}" for i in range(n)], "submit_s": np.arange(n, dtype=float),
            "nodes": rng.integers(1, 9, n), "runtime_s": rng.uniform(0.5, 9, n),
            "power_w": rng.uniform(1, 9, n)}  # fmt: skip
    if size:
        data["size"] = rng.integers(1, 9, n)
    made = placebos(table(data), "nodes", ["runtime_s", "power_w", "nothing"], sizes=["size"])
    assert [p.outcome for p in made] == ["runtime_s", "power_w"]
    x_rest, y_rest, groups = [], [], []
    for a in range(apps):
        rows = [i for i in range(n) if i % apps == a]
        nodes, before = (np.log(np.array([data["nodes"][i] for i in r], dtype=float))
                         for r in (rows[1:], rows[:-1]))  # fmt: skip
        y = np.log([data["runtime_s"][i] for i in rows[:-1]])
        given_ = [before]
        if size:
            sizes = np.log(np.array([data["size"][i] for i in rows], dtype=float))
            given_ += [sizes[1:], sizes[:-1]]
        columns = np.column_stack([np.ones(len(y)), *given_, before**2])
        for out, v in ((x_rest, nodes), (y_rest, y)):
            out.append(v - columns @ np.linalg.lstsq(columns, v, rcond=None)[0])
        groups += [a] * len(y)
    slope, error = clustered(np.concatenate(x_rest), np.concatenate(y_rest), np.array(groups))
    half = t.ppf(0.975, apps - 1) * error
    found = made[0]
    assert (found.pairs, found.applications) == (n - apps, apps)
    assert (found.exponent, found.low, found.high) == pytest.approx(
        (slope, slope - half, slope + half)
    )


def test_a_log_that_never_varies_the_knob_has_no_placebo() -> None:
    data = {"app": [f"a{i % 6}" for i in range(72)], "submit_s": np.arange(72.0), "nodes": [4] * 72,
            "runtime_s": np.linspace(1, 2, 72)}  # fmt: skip
    assert placebos(table(data), "nodes", ["runtime_s"]) == ()
    timeless = {k: v for k, v in data.items() if k != "submit_s"}
    assert placebos(table(timeless), "nodes", ["runtime_s"]) == ()
