"""A tree in words and as source: the same worth in Python, C and Lua, to the last bit."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess

import numpy as np
import pytest

from rheostat.cli import run
from rheostat.core.vocabulary import table
from rheostat.decision.policies.export import export, plain
from rheostat.decision.policies.priority_tree import PriorityTree, TreeFeature
from rheostat.decision.policies.tree_priority import SITE, site_score
from rheostat.errors import DataError
from rheostat.explanation.formats.html import page
from rheostat.explanation.schedules.tree import drawn, rules, tree_report
from rheostat.measurement.job_logs.swf import write_swf

STATES = 100_000
FULL = tuple(TreeFeature(n) for n in ("ask", "share", "wait", "queue"))


def random_tree(features, depth=6, seed=0, slopes=2):
    """Any tree: thresholds over the range of `states`, slopes in most leaves."""
    rng, d = np.random.default_rng(seed), len(features)
    arrays = {n: [] for n in ("feature", "threshold", "left", "right", "value", "slope", "scale",
                              "steep")}  # fmt: skip

    def put(deep):
        i = len(arrays["feature"])
        inside = deep < depth and rng.random() < 0.95
        drawn = {
            "feature": int(rng.integers(d)) if inside else -1,
            "threshold": float(np.exp(rng.normal(5, 3))) if inside else 0.0,
            "left": -1,
            "right": -1,
            "value": float(rng.normal()),
            "slope": rng.integers(-1, d, slopes).tolist(),
            "scale": np.exp(rng.normal(5, 2, slopes)).tolist(),
            "steep": rng.normal(size=slopes).tolist(),
        }
        for name, value in drawn.items():
            arrays[name].append(value)
        if inside:
            arrays["left"][i], arrays["right"][i] = put(deep + 1), put(deep + 1)
        return i

    put(0)
    return PriorityTree.of(features, **arrays)


def states(d, n=STATES, seed=1):
    return np.exp(np.random.default_rng(seed).normal(5, 4, (n, d)))


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The C source of a tree, compiled as strictly as can be, fused arithmetic allowed."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: neither gcc nor cc is on the path")

    def build(tree):
        folder = tmp_path_factory.mktemp("c")
        (folder / "t.c").write_text(export(tree, "c"))
        flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-ffp-contract=fast", "-shared", "-fPIC"]
        command = [compiler, *flags, "-o", folder / "t.so", folder / "t.c", "-lm"]
        subprocess.run(command, check=True)
        return ctypes.CDLL(str(folder / "t.so"))

    return build


@pytest.mark.parametrize("features", [SITE, FULL], ids=["site", "other"])
def test_c_gives_the_same_worth_on_100_000_states(library, features):
    tree, x = random_tree(features), states(len(features))
    worth = library(tree).rheostat_worth
    worth.argtypes, worth.restype = [ctypes.c_double] * len(features), ctypes.c_double
    assert [worth(*row) for row in x.tolist()] == tree.predict(x).tolist()


def test_c_chooses_the_same_job_first(library):
    tree, x = random_tree(SITE, seed=3), states(len(SITE), 50 * 200)
    first = library(tree).rheostat_first
    first.argtypes, first.restype = [ctypes.POINTER(ctypes.c_double), ctypes.c_int], ctypes.c_int
    for queue in x.reshape(200, 50, len(SITE)):
        row = np.ascontiguousarray(queue)
        told = first(row.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), 50)
        assert told == int(tree.predict(queue).argmax())


def test_python_gives_the_same_worth_on_100_000_states():
    tree, x, scope = random_tree(SITE, seed=2), states(len(SITE)), {}
    source = export(tree, "python")
    assert "import" not in source
    exec(source, scope)
    assert [scope["worth"](*row) for row in x.tolist()] == tree.predict(x).tolist()


def test_lua_gives_the_same_worth_on_100_000_states():
    lupa = pytest.importorskip("lupa", reason="no Lua: pip install lupa")
    tree, x = random_tree(SITE, seed=4), states(len(SITE))
    lua = lupa.LuaRuntime()
    lua.execute(export(tree, "lua"))
    worth = lua.globals().rheostat_worth
    assert [worth(*row) for row in x.tolist()] == tree.predict(x).tolist()


def test_a_slurm_job_gets_a_priority_in_the_trees_order_and_an_incomplete_one_none():
    lupa = pytest.importorskip("lupa", reason="no Lua: pip install lupa")
    tree = random_tree(SITE, seed=6, depth=3)
    lua = lupa.LuaRuntime()
    lua.execute("slurm = {SUCCESS = 0}" + export(tree, "lua"))
    rng = np.random.default_rng(0)
    minutes, procs = rng.integers(1, 1440, 200), rng.integers(1, 129, 200)
    given = []
    for m, n in zip(minutes.tolist(), procs.tolist(), strict=True):
        job = lua.table(time_limit=m, min_cpus=n)
        assert lua.globals().slurm_job_submit(job, None, 0) == 0
        given.append(job["priority"])
    r = 60.0 * minutes
    x = np.stack([0 * r, r, procs, r * procs, np.ones(200)], axis=1)
    order = np.argsort(tree.predict(x), kind="stable")
    assert (np.diff(np.array(given)[order]) >= 0).all()
    assert min(given) >= 1
    assert all(isinstance(p, int) for p in given)
    unset = lua.table(time_limit=4294967294, min_cpus=4)
    lua.globals().slurm_job_submit(unset, None, 0)
    assert unset["priority"] is None


def test_the_function_of_plain_facts_is_the_score_of_the_simulator(library):
    tree = random_tree(SITE, seed=7)
    worth = library(tree).rheostat_worth_of_job
    worth.argtypes, worth.restype = [ctypes.c_double] * 3, ctypes.c_double
    scope = {}
    exec(export(tree, "python"), scope)
    score, rng = site_score(tree), np.random.default_rng(0)
    for wait, request in np.exp(rng.normal(7, 2, (500, 2))).tolist():
        # waiting times as the simulator has them: the difference of two moments
        now, procs = 1e6 + wait, float(rng.integers(1, 129))
        told = -score(now, 1e6, request, procs)
        assert worth(now - 1e6, request, procs) == told
        assert scope["worth_of_job"](now - 1e6, request, procs) == told


def test_a_tree_of_the_queue_has_no_function_of_plain_facts():
    tree = random_tree(FULL)
    assert not plain(tree)
    assert "slurm_job_submit" not in export(tree, "lua")
    with pytest.raises(DataError, match="python"):
        export(tree, "cobol")


# ---------------------------------------------------------------- words


def small():
    """Two questions about the same quantity, one about another."""
    return PriorityTree.of(
        SITE, feature=[1, -1, 2, 1, -1, -1, -1], threshold=[600.0, 0, 8.5, 7200.0, 0, 0, 0],
        left=[1, -1, 3, 4, -1, -1, -1], right=[2, -1, 6, 5, -1, -1, -1],
        value=[0, 3, 0, 0, 2, 1, 0], support=[100, 10, 90, 60, 40, 20, 30],
        slope=[-1, 0, -1, -1, -1, 1, -1], scale=np.full(7, 3600.0), steep=[1, 2, 1, 1, 1, -2, 1],
    )  # fmt: skip


def test_rules_merge_the_questions_about_one_quantity_and_begin_with_the_most_used():
    told = [(r.jobs, r.part, r.order) for r in rules(small())]
    assert told == [
        ("10m < requested walltime ≤ 2h and processors ≤ 8", 0.4, "order of arrival"),
        ("requested walltime > 10m and processors > 8", 0.3, "order of arrival"),
        (
            "requested walltime > 2h and processors ≤ 8",
            0.2,
            "requested walltime (\N{MINUS SIGN}100 %)",
        ),
        ("requested walltime ≤ 10m", 0.1, "wait time (+100 %)"),
    ]


def test_a_rule_names_its_dominant_factors_with_their_share_of_the_change():
    """By hand: changes 1/2, -1/4, 1/4 of the same quantity as the first, 1/20 and -1/20."""
    tree = PriorityTree.of(
        (*SITE, TreeFeature("gpus"), TreeFeature("memory")), feature=[-1], threshold=[0.0],
        left=[-1], right=[-1], value=[0.0], support=[9], slope=[[0, 1, 0, 5, 6]], scale=np.ones((1,
        5)), steep=[[2.0, -4.0, 4.0, 20.0, -20.0]],
    )  # fmt: skip
    (rule,) = rules(tree)
    change = {"wait time": 0.75, "requested walltime": -0.25, "gpus": 0.05, "memory": -0.05}
    total = sum(map(abs, change.values()))
    assert dict(rule.factors) == pytest.approx({k: v / total for k, v in change.items()})
    assert rule.order == "wait time (+68 %), requested walltime (\N{MINUS SIGN}23 %); 2 others 9 %"


def test_every_job_falls_under_the_one_rule_of_its_leaf():
    tree = random_tree(SITE, seed=8, depth=4)
    assert len(rules(tree)) == len(tree.leaves) == len({r.leaf for r in rules(tree)})
    assert sum("├ yes" in line for line in drawn(tree)) == len(tree.leaves) - 1


def test_a_tree_explains_itself_in_python_too():
    import rheostat as rh

    told = rh.explain(small())
    assert told.facts["rules"][0]["if"] == rules(small())[0].jobs
    assert "├ yes: priority 3.25 (10 %), by wait time (+100 %)" in str(told)


def test_the_page_draws_every_node_and_says_what_is_not_known():
    text = page(tree_report(small(), "site", page=True))
    charts = json.loads(text.split("const CHARTS = ")[1].split(";\n")[0])
    (found,) = charts
    edges, boxes = found["elements"]
    assert len(boxes["text"]) == 7
    assert sum(v is None for v in edges["x"]) == 6
    said = [t.replace("\n", " ") for t in boxes["text"]]
    assert said[0] == "requested walltime ≤ 10m?"
    assert said[2] == "no: processors ≤ 8?"
    assert said[1].startswith("yes: priority 3.25, 10\N{NO-BREAK SPACE}% of jobs by wait time")
    at = list(zip(boxes["x"], boxes["y"], strict=True))
    assert len(set(at)) == 7
    assert found["x"]["low"] <= min(boxes["x"]) <= max(boxes["x"]) + 1 <= found["x"]["high"]
    assert "no certificate" in text


# ---------------------------------------------------------------- the command


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    rng, n = np.random.default_rng(0), 300
    run_s = rng.integers(600, 20_000, n).astype(float)
    columns = {
        "job_id": np.arange(n),
        "submit_s": np.sort(rng.integers(0, 6 * 86_400, n)).astype(float),
        "runtime_s": run_s,
        "cores": rng.integers(1, 9, n),
        "time_limit_s": 2 * run_s,
    }
    path = tmp_path_factory.mktemp("log") / "site.swf"
    write_swf(table(columns), path, ["MaxProcs: 8"])
    return path


def told(capsys, *argv):
    capsys.readouterr()
    code = run([str(a) for a in argv])
    found = capsys.readouterr()
    return code, found.out, found.err


@pytest.mark.slow
def test_a_policy_is_learned_explained_exported_and_run(log, tmp_path, capsys):
    tree = tmp_path / "saf.json"
    ask = ("explain", "saf", "--trace", log, "--depth", 1, "--rounds", 1, "--save", tree, "--json")
    code, out, err = told(capsys, *ask)
    facts = json.loads(out)
    assert code == 0
    assert "round 1 of 1" in err
    assert facts["schema"] == "rheostat.explain/1"
    assert facts["facts"]["certificate"]["agreement"]["mean"] > 0.9
    code, out, _ = told(capsys, "explain", tree, "--export", "python")
    assert code == 0
    assert "def worth(" in out
    code, out, _ = told(capsys, "simulate", log, "--policy", f"tree:{tree}+easy")
    assert code == 0
    assert out.splitlines()[1].startswith("tree:saf+easy\t")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("wfp3",), "--trace"),
        (("wfp3", "--export", "cobol"), "cobol"),
        (("wfp3", "--export", "slurm"), "--trace"),
    ],
)
def test_wrong_usage_is_told_before_any_work(argv, message, capsys):
    code, _, err = told(capsys, "explain", *argv)
    assert code == 1
    assert message in err
