"""Trees from a file, checked before the library that walks them gets them.

Libraries follow a child or a column wherever its number leads: outside their memory, round in
circles, or to the end of the process.  A checksum that agrees does not help: whoever changes a file
can make it anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheostat.errors import ModelFileError

Array = NDArray[Any]
INNER = ("split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child",
         "internal_value", "internal_weight", "internal_count")  # fmt: skip
LEAVES = ("leaf_value", "leaf_weight", "leaf_count")
ENDS = "end of trees"


def refuse(what: str, wrong: bool | np.bool_) -> None:
    """Raise a `ModelFileError` where something is wrong."""
    if wrong:
        raise ModelFileError(f"its trees are damaged: {what}")


def check_children(left: Array, right: Array, feature: Array, inner: Array, columns: int) -> None:
    """Every ``inner`` node asks about one of the columns, and its children come after it."""
    own, count = np.flatnonzero(inner), len(left)
    refuse("a tree has no node", count == 0)
    for child in (left[own], right[own]):
        refuse("a child is none of the nodes after its parent",
               ((child <= own) | (child >= count)).any())  # fmt: skip
    refuse(f"a node asks about a column that is none of the {columns}",
           ((feature[own] < 0) | (feature[own] >= columns)).any())  # fmt: skip


def check_lightgbm(text: str) -> None:
    """A model of LightGBM as text: what its reader takes on trust."""
    head, _, rest = text.partition("\n\n")
    known = _entries(head)
    columns = _whole(known, "max_feature_idx") + 1
    refuse("expected one result a row", (known.get("num_class"), known.get(
        "num_tree_per_iteration")) != ("1", "1"))  # fmt: skip
    for name in ("feature_names", "feature_infos"):
        refuse(f"expected {columns} of {name}", len(known.get(name, "").split(" ")) != columns)
    sizes = _numbers(known, "tree_sizes", len(known.get("tree_sizes", "").split()))
    trees, mark, _ = rest.partition(ENDS)
    refuse(f"no line {ENDS!r}", not mark)
    data, at = trees.encode(), 0
    for number, size in enumerate(sizes.astype(int).tolist()):
        block = data[at : at + size].decode(errors="replace")
        refuse(f"tree {number} is not where it should be", not block.startswith(f"Tree={number}\n"))
        _check_lightgbm_tree(_entries(block), columns)
        at += size
    refuse("text after the last tree", bool(data[at:].strip()))


def _check_lightgbm_tree(tree: Mapping[str, str], columns: int) -> None:
    leaves = _whole(tree, "num_leaves")
    refuse("a tree has no leaf", leaves < 1)
    for name in LEAVES[: 1 if leaves == 1 else None]:
        values = _numbers(tree, name, leaves)
        refuse(f"{name} is no number", not np.isfinite(values).all())
    refuse("a tree of linear models", tree.get("is_linear", "0") != "0")
    refuse("shrinkage is no number", not math.isfinite(_numbers(tree, "shrinkage", 1)[0]))
    if leaves == 1:
        return
    given = {name: _numbers(tree, name, leaves - 1) for name in INNER}
    left, right = given["left_child"], given["right_child"]
    refuse("an unknown kind of question", not np.isin(given["decision_type"], range(16)).all())
    own = np.arange(leaves - 1)
    for child in (left, right):
        refuse("a child is none of the leaves", (child < -leaves).any())
        after = (child > own) & (child < leaves - 1)
        refuse("a child is none of the nodes after its parent", ((child >= 0) & ~after).any())
    feature = given["split_feature"]
    refuse("a column that is not there", ((feature < 0) | (feature >= columns)).any())
    _check_categories(tree, given)


def _check_categories(tree: Mapping[str, str], given: Mapping[str, Array]) -> None:
    count = _whole(tree, "num_cat")
    asked = given["threshold"][given["decision_type"].astype(int) & 1 == 1]
    refuse("a set of categories that is not there", ((asked < 0) | (asked >= count)).any())
    if count:
        ends = _numbers(tree, "cat_boundaries", count + 1)
        refuse("sets of categories out of order", ends[0] != 0 or (np.diff(ends) < 0).any())
        _numbers(tree, "cat_threshold", int(ends[-1]))


def _entries(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines())
    return {name: value for name, _, value in pairs}


def _whole(given: Mapping[str, str], name: str) -> int:
    return int(_numbers(given, name, 1)[0])


def _numbers(given: Mapping[str, str], name: str, count: int) -> Array:
    words = given.get(name, "").split()
    refuse(f"expected {count} of {name}, got {len(words)}", len(words) != count)
    try:
        return np.array([float(w) for w in words])
    except ValueError as error:
        raise ModelFileError(f"its trees are damaged: {name} is {str(error)[-60:]}") from error


def check_xgboost(model: Mapping[str, Any], columns: int) -> None:
    """A model of XGBoost, as the JSON that it writes of itself."""
    for tree in model["learner"]["gradient_booster"]["model"]["trees"]:
        left, right, feature = (np.array(tree[k]) for k in (
            "left_children", "right_children", "split_indices"))  # fmt: skip
        sizes = {len(tree[k]) for k in ("left_children", "right_children", "split_indices",
                                        "split_conditions", "default_left")}  # fmt: skip
        refuse("arrays of a tree have several lengths", len(sizes) != 1)
        check_children(left, right, feature, left >= 0, columns)
        refuse("a node has one child alone", ((left >= 0) != (right >= 0)).any())


def check_nodes(nodes: Array, roots: Array) -> None:
    """Nodes (feature, threshold, left, right) of several trees in one array, (m, 4)."""
    refuse("nodes of another shape", nodes.ndim != 2 or nodes.shape[1] != 4 or roots.ndim != 1)
    inner = nodes[:, 0] >= 0
    columns = int(nodes[inner, 0].max(initial=0)) + 1
    check_children(nodes[:, 2], nodes[:, 3], nodes[:, 0], inner, columns)
    refuse("a root is none of the nodes", ((roots < 0) | (roots >= len(nodes))).any())


def check_sklearn(thing: Any) -> None:
    """Trees and neighbours within an estimator of scikit-learn, at any depth."""
    for part, owner in _parts(thing, None, set()):
        if (check := _SKLEARN.get(type(part).__name__)) is not None:
            check(part, owner)


def _parts(thing: Any, owner: Any, seen: set[int]) -> Iterator[tuple[Any, Any]]:
    """Everything in an estimator with the estimator that it is part of."""
    if id(thing) in seen or isinstance(thing, (str, bytes, int, float, type(None))):
        return
    seen.add(id(thing))
    yield thing, owner
    if isinstance(thing, np.ndarray):
        inner = thing.ravel().tolist() if thing.dtype.hasobject else []
    elif isinstance(thing, Mapping):
        inner = list(thing.values())
    elif isinstance(thing, (list, tuple)):
        inner = list(thing)
    else:
        inner, owner = list(getattr(thing, "__dict__", {}).values()), thing
    for part in inner:
        yield from _parts(part, owner, seen)


def _check_tree(tree: Any, owner: Any) -> None:
    refuse("more nodes than its memory holds", tree.node_count > tree.capacity)
    columns = getattr(owner, "n_features_in_", -1)
    refuse("a tree of another number of columns", tree.n_features != columns)
    refuse("its values are no numbers", not np.isfinite(tree.value).all())
    left, right = tree.children_left, tree.children_right
    check_children(left, right, tree.feature, left != -1, columns)
    refuse("a node has one child alone", ((left == -1) != (right == -1)).any())


def _check_histogram_tree(tree: Any, owner: Any) -> None:
    nodes = tree.nodes
    refuse("nodes of another kind", nodes.dtype.names is None or nodes.ndim != 1)
    inner = nodes["is_leaf"] == 0
    refuse("a question about categories", (inner & (nodes["is_categorical"] != 0)).any())
    left, right = (nodes[k].astype(np.int64) for k in ("left", "right"))
    columns = getattr(owner, "n_features_in_", 0)
    check_children(left, right, nodes["feature_idx"], inner, columns)


def _check_neighbours(tree: Any, _owner: Any) -> None:
    data, places, node_data, bounds, *_ = tree.__getstate__()
    rows, nodes = len(data), len(node_data)
    refuse("a row that is not there", len(places) != rows or not np.array_equal(
        np.sort(places), np.arange(rows)))  # fmt: skip
    starts, ends = node_data["idx_start"], node_data["idx_end"]
    refuse("rows of a node that are not there",
           ((starts < 0) | (ends > rows) | (starts > ends)).any())  # fmt: skip
    leaf = node_data["is_leaf"] != 0
    refuse("a node without children", nodes == 0 or not leaf[nodes // 2 :].all())
    refuse("bounds of another size", np.shape(bounds)[1:] != (nodes, data.shape[1]))


_SKLEARN: dict[str, Callable[[Any, Any], None]] = {
    "Tree": _check_tree,
    "TreePredictor": _check_histogram_tree,
    "KDTree": _check_neighbours,
}
