"""A fitted model as plain data: JSON, arrays, and regressors taken apart.

Only what stands here can be in a file: numbers, texts, lists, arrays, a short list of our own
dataclasses, and regressors in the formats of `predict.model_parts`.  Reading builds these and calls
nothing else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from rheostat.core.jobs import Moment, Note
from rheostat.errors import ModelFileError
from rheostat.prediction.cold_start import KnownGroups
from rheostat.prediction.encode import CategoryPlan, Encoder, NumberPlan
from rheostat.prediction.intervals import Calibration
from rheostat.prediction.loss_sampling import LossProportional, Uniform
from rheostat.prediction.model_parts import pack, unpack
from rheostat.prediction.support import Support
from rheostat.prediction.surrogate import Stage

CLASSES = {
    c.__name__: c
    for c in (
        Calibration, CategoryPlan, Encoder, LossProportional, Note, NumberPlan, KnownGroups, Stage,
        Support, Uniform,
    )
}  # fmt: skip


_ATOMS = (bool, int, float, str)


@dataclasses.dataclass
class Shelf:
    """Where arrays and files are put while a tree is written, and found while it is read."""

    arrays: dict[str, Any] = dataclasses.field(default_factory=dict)
    files: dict[str, bytes] = dataclasses.field(default_factory=dict)
    count: int = 0

    def put(self, value: Any) -> Any:
        """``value`` as JSON, with references to arrays and files kept here."""
        if value is None or type(value) in _ATOMS:
            return value
        if isinstance(value, (np.ndarray, np.generic)):
            return {"$array": self._keep(np.asarray(value))}
        if isinstance(value, (list, tuple, dict, Moment)):
            return self._plain(value)
        if type(value) is CLASSES.get(type(value).__name__):
            fields = {f.name: self.put(getattr(value, f.name)) for f in dataclasses.fields(value)}
            return {"$class": type(value).__name__, "fields": fields}
        return self._regressor(value)

    def _plain(self, value: Any) -> dict[str, Any]:
        if isinstance(value, Moment):
            return {"$moment": value.name}
        if isinstance(value, dict):
            return {"$dict": [[self.put(k), self.put(v)] for k, v in value.items()]}
        return {"$" + type(value).__name__: [self.put(v) for v in value]}

    def _keep(self, array: np.ndarray) -> str:
        if array.dtype.hasobject:
            raise ModelFileError("an array of Python objects cannot be saved safely")
        name = f"a{len(self.arrays)}"
        self.arrays[name] = array
        return name

    def _regressor(self, value: Any) -> dict[str, Any]:
        kind, facts, files = pack(value)
        self.count += 1
        folder = f"r{self.count}"
        self.files |= {f"{folder}/{name}": data for name, data in files.items()}
        return {"$regressor": kind, "facts": facts, "folder": folder, "files": sorted(files)}

    def get(self, tree: Any) -> Any:
        """The value that `put` wrote as ``tree``."""
        if not isinstance(tree, dict):
            return tree
        kind = next(iter(tree))
        if kind not in _BUILD:
            raise ModelFileError(f"unknown entry {kind!r} in the model's state")
        return _BUILD[kind](self, tree)

    def _read_regressor(self, tree: dict[str, Any]) -> Any:
        files = {name: self.files[f"{tree['folder']}/{name}"] for name in tree["files"]}
        return unpack(tree["$regressor"], tree["facts"], files)

    def _read_class(self, tree: dict[str, Any]) -> Any:
        return CLASSES[tree["$class"]](**{k: self.get(v) for k, v in tree["fields"].items()})


_BUILD: dict[str, Callable[[Shelf, dict[str, Any]], Any]] = {
    "$moment": lambda shelf, tree: Moment[tree["$moment"]],
    "$array": lambda shelf, tree: shelf.arrays[tree["$array"]],
    "$list": lambda shelf, tree: [shelf.get(v) for v in tree["$list"]],
    "$tuple": lambda shelf, tree: tuple(shelf.get(v) for v in tree["$tuple"]),
    "$dict": lambda shelf, tree: {shelf.get(k): shelf.get(v) for k, v in tree["$dict"]},
    "$class": Shelf._read_class,
    "$regressor": Shelf._read_regressor,
}
