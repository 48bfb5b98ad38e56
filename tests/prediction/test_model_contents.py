"""Model files whose contents are broken and whose checksum is right: refused, never a crash."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.neighbors import KNeighborsRegressor

from rheostat.core.graph import op_graph
from rheostat.core.storage.archive import read_archive, write_archive
from rheostat.core.vocabulary import table
from rheostat.errors import ModelFileError
from rheostat.prediction.answer_length.boosted_trees import BoostedTrees
from rheostat.prediction.effects import WithinApplication
from rheostat.prediction.saved_models.from_file import blames_its_file, remember
from rheostat.prediction.saved_models.model_parts import arrays_in, arrays_out
from rheostat.prediction.saved_models.persist import load, save
from rheostat.prediction.saved_models.state_tree import ARRAYS, StateReader, StateWriter
from rheostat.prediction.saved_models.tree_checks import (
    check_lightgbm,
    check_sklearn,
    check_xgboost,
)
from rheostat.prediction.surrogate.surrogate import Surrogate

ROOT = Path(__file__).parents[2]
TRIALS = "2"
RNG = np.random.default_rng(0)
X, Y = RNG.uniform(size=(60, 3)), RNG.uniform(size=60)


@pytest.mark.slow
def test_whatever_is_broken_in_a_model_file_only_an_error_of_ours_comes(tmp_path: Path) -> None:
    """In a process of its own: a library that ends it ends that one."""
    seeds = ["0", time.strftime("%Y%m%d")]
    command = [sys.executable, "-m", "tests.prediction.fuzz_models", str(tmp_path), TRIALS, *seeds]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    print("seeds", seeds)
    lines = done.stdout.splitlines()
    failed = [lines[i - 1] for i, line in enumerate(lines) if line.startswith("FAILED")]
    assert not failed, done.stdout[-4000:]
    assert lines[-1] == "done", (
        f"ended with {done.returncode} at {lines[-1]}: {done.stderr[-2000:]}"
    )


@pytest.fixture(scope="module")
def lightgbm_text() -> str:
    lightgbm = pytest.importorskip("lightgbm")
    given = {"verbosity": -1, "num_threads": 1, "min_data_in_leaf": 3, "num_leaves": 5}
    data = lightgbm.Dataset(np.column_stack([X, X[:, 0] > 0.5]), Y, categorical_feature=[3])
    return str(lightgbm.train(given, data, 3).model_to_string())


def test_a_sound_model_of_lightgbm_passes(lightgbm_text: str) -> None:
    check_lightgbm(lightgbm_text)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (r"left_child=(\S+)", "left_child=900", "a child is none of the nodes"),
        (r"right_child=(\S+)", "right_child=-900", "a child is none of the leaves"),
        (r"left_child=(\S+)", "left_child=0", "a child is none of the nodes"),
        (r"split_feature=(\S+)", "split_feature=77", "a column that is not there"),
        (r"num_leaves=(\S+)", "num_leaves=900000", "expected 900000 of leaf_value"),
        (r"leaf_value=(\S+)", "leaf_value=nan", "leaf_value is no number"),
        (r"leaf_value=(\S+)", "leaf_value=x", "leaf_value is"),
        (r"max_feature_idx=\S+", "max_feature_idx=1", "expected 2 of feature_names"),
        (r"end of trees", "end", "no line"),
        (r"tree_sizes=(\S+)", "tree_sizes=3", "is not where it should be"),
        (r"decision_type=(\S+)", "decision_type=400", "an unknown kind of question"),
    ],
)
def test_a_broken_model_of_lightgbm_is_refused_before_the_library_has_it(
    lightgbm_text: str, old: str, new: str, said: str
) -> None:
    text = re.sub(old, new, lightgbm_text, count=1)
    if not old.startswith(("max", "tree", "end")):  # sizes made anew, as whoever breaks it would
        _, _, rest = text.partition("\n\n")
        trees = rest.partition("end of trees")[0]
        parts = [f"Tree={p}" for p in trees.split("Tree=")[1:]]
        sizes = " ".join(str(len(p)) for p in parts)
        text = re.sub(r"tree_sizes=.*", f"tree_sizes={sizes}", text)
    with pytest.raises(ModelFileError, match=said):
        check_lightgbm(text)


def test_trees_of_xgboost_are_checked() -> None:
    xgboost = pytest.importorskip("xgboost")
    import json

    model = xgboost.XGBRegressor(n_estimators=2, n_jobs=1).fit(X, Y)
    given = json.loads(model.get_booster().save_raw("json"))
    check_xgboost(given, 3)
    tree = given["learner"]["gradient_booster"]["model"]["trees"][0]
    for name, value in (("left_children", 10**6), ("split_indices", 3), ("right_children", 0)):
        before, tree[name][0] = tree[name][0], value
        with pytest.raises(ModelFileError, match="its trees are damaged"):
            check_xgboost(given, 3)
        tree[name][0] = before


@pytest.mark.parametrize("name", ["left_child", "right_child", "feature"])
def test_a_forest_that_leads_out_of_its_trees_is_refused(name: str) -> None:
    forest = RandomForestRegressor(2, random_state=0).fit(X, Y)
    check_sklearn(forest)
    tree = forest.estimators_[1].tree_
    state = tree.__getstate__()
    state["nodes"][name][0] = 10**6
    tree.__setstate__(state)
    with pytest.raises(ModelFileError, match=r"a (child|node)"):
        check_sklearn(forest)


def test_histogram_trees_and_neighbours_are_checked() -> None:
    boosted = HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=3).fit(X, Y)
    check_sklearn([boosted])
    boosted._predictors[1][0].nodes["left"][0] = 10**6
    with pytest.raises(ModelFileError, match="a child is none"):
        check_sklearn({"a": [boosted]})
    near = KNeighborsRegressor(3, algorithm="kd_tree").fit(X, Y)
    check_sklearn(near)
    state = list(near._tree.__getstate__())
    state[1] = np.asarray(state[1]).copy()
    state[1][0] = 10**6
    near._tree.__setstate__(tuple(state))
    with pytest.raises(ModelFileError, match="a row that is not there"):
        check_sklearn(near)


def test_our_own_trees_are_checked_when_read_and_when_asked() -> None:
    model = BoostedTrees().fit(np.tile(X, (5, 1)), np.tile(Y, 5))
    with pytest.raises(ModelFileError, match="columns that are not there"):
        model.predict(X[:, :1])
    inner = int(np.flatnonzero(model.nodes_[:, 0] >= 0)[0])
    model.nodes_[inner, 2] = 10**6
    writer = StateWriter()
    tree = writer.put(model)
    with pytest.raises(ModelFileError, match="a child is none"):
        StateReader(writer.parts).get(tree)


def test_a_dataclass_without_a_field_or_with_one_too_many_is_refused() -> None:
    writer = StateWriter()
    tree = {"$class": "Note", "fields": {"message": "x", "odd": 1}}
    with pytest.raises(ModelFileError, match=r"Note in it lacks .* or has \['odd'\]"):
        StateReader(writer.parts).get(tree)


class Answering:
    @blames_its_file
    def predict(self, at: int) -> int:
        return [1, 2][at]


def test_only_a_model_from_a_file_blames_its_file() -> None:
    model, made = Answering(), Answering()
    remember(model, "m.rheo")
    assert model.predict(1) == 2
    with pytest.raises(ModelFileError, match=r"m.rheo: cannot answer \(IndexError"):
        model.predict(7)
    with pytest.raises(IndexError):
        made.predict(7)


@pytest.mark.parametrize("draws", [-5, 10**9, 2.5])
def test_a_model_file_of_senseless_draws_is_refused(tmp_path: Path, draws: float) -> None:
    rows = {"app": ["a"] * 12, "nodes": [1, 2, 4] * 4, "runtime_s": [8.0, 4.0, 2.0] * 4,
            "power_w": [9.0, 18.0, 36.0] * 4}  # fmt: skip
    model = WithinApplication(("nodes",)).fit(table(rows))
    model.n_draws = draws  # type: ignore[assignment]
    save(model, tmp_path / "m.rheo")
    with pytest.raises(ModelFileError, match="n_draws"):
        load(tmp_path / "m.rheo")


@pytest.mark.parametrize(
    ("place", "said"), [("member", "'extra.bin'"), ("array", "'a999'")]
)  # fmt: skip
def test_a_part_that_nothing_in_a_model_file_needs_is_refused(
    tmp_path: Path, place: str, said: str
) -> None:
    past = table({"nodes": [1, 2, 4] * 9, "runtime_s": [8.0, 4.0, 2.0] * 9,
                  "power_w": [9.0, 18.0, 36.0] * 9})  # fmt: skip
    archive = read_archive(save(Surrogate("forest").fit(past), tmp_path / "m.rheo"))
    if place == "member":
        more = {"extra.bin": b"x"}
    else:
        more = {ARRAYS: arrays_out({**arrays_in(archive.parts[ARRAYS]), "a999": np.zeros(2)})}
    write_archive(tmp_path / "odd.rheo", replace(archive, parts={**archive.parts, **more}))
    with pytest.raises(ModelFileError, match=f"holds {said}, which nothing in it needs"):
        load(tmp_path / "odd.rheo")


def test_a_graph_with_a_part_too_many_is_refused(tmp_path: Path) -> None:
    columns = {"opcode": ["dot"], "op_class": ["matmul"], "dtype": ["f32"], "shape": [[2]],
               "flops": [2.0], "bytes": [8.0], "transcendentals": [0.0], "times": [1.0],
               "fused": [False]}  # fmt: skip
    graph = op_graph("g", columns, np.empty((2, 0), int))
    archive = read_archive(save(graph, tmp_path / "g.rheo"))
    assert load(tmp_path / "g.rheo").name == "g"
    write_archive(tmp_path / "odd.rheo", replace(archive, parts={**archive.parts, "x": b""}))
    with pytest.raises(ModelFileError, match="holds 'x'"):
        load(tmp_path / "odd.rheo")
