"""A fitted model as a tree of plain data: JSON, arrays, and regressors in their library's format.

Only what stands here can be in a file: numbers, texts, lists, arrays, objects of the classes listed
below, and regressors in the formats of `model_parts`.  Reading builds these from their fields and
calls nothing else, not even their constructors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from rheostat.errors import ModelFileError
from rheostat.prediction.saved_models.model_parts import (
    arrays_in,
    arrays_out,
    libraries_of,
    pack,
    unpack,
)

MODULES = {
    "core.jobs": ("Note",),
    "prediction.features.cold_start": ("KnownGroups",),
    "prediction.features.encode": ("CategoryPlan", "Encoder", "NumberPlan"),
    "prediction.intervals": ("Calibration",),
    "prediction.iteration_time.adaptive": ("AdaptiveForecaster",),
    "prediction.iteration_time.change": ("RegimeTracker",),
    "prediction.iteration_time.cycles": ("CycleBank",),
    "prediction.iteration_time.endings": ("NeighbourEndings",),
    "prediction.iteration_time.forecast": ("Neighbour", "Surroundings"),
    "prediction.iteration_time.interval": ("AdaptiveIntervals",),
    "prediction.iteration_time.iteration_model": ("IterationModel",),
    "prediction.iteration_time.response": ("NeighbourResponse",),
    "prediction.iteration_time.seasons": ("SeasonBank",),
    "prediction.surrogate.loss_sampling": ("LossProportional", "Uniform"),
    "prediction.features.support": ("Support",),
    "prediction.surrogate.surrogate": ("Stage", "Surrogate"),
    "prediction.scaling_law.coordinates": ("Basis", "Scale"),
    "prediction.scaling_law.pooled": ("Pooled", "PooledRuns"),
    "prediction.scaling_law.scaling_law": ("LawGP",),
    "prediction.effects.effect_coding": ("EffectCoding",),
    "prediction.effects.growth": ("Grown",),
    "prediction.effects.hierarchy": ("Hierarchy",),
    "prediction.effects.identification": ("Identification",),
    "prediction.effects.levels": ("EffectLevels",),
    "prediction.effects.by_request": ("ByRequest",),
    "prediction.effects.predictor": ("WithinApplication",),
    "prediction.effects.quantity_effects": ("QuantityEffects",),
    "prediction.effects.problem_levels": ("ProblemLevels",),
    "prediction.effects.machine_date": ("Stepped",),
    "prediction.effects.setting_levels": ("SettingLevels",),
    "prediction.effects.shapes": ("BentLine", "OneHot", "Shape", "ShapeCurve"),
    "prediction.out_of_core.coding": ("Coding", "Levels"),
    "prediction.out_of_core.large_model": ("Trees",),
    "prediction.out_of_core.outofcore": ("ScaleModel",),
    "prediction.out_of_core.memory_plan": ("MemoryPlan",),
    "prediction.counters.chain": ("CounterChain",),
    "prediction.counters.counter_model": ("CounterFit", "CounterModel"),
    "prediction.counters.learners": ("Tuned",),
    "prediction.counters.methods": ("MeanPerCap", "OfLaw", "OfMatrix"),
    "prediction.counters.power_law": ("MemoryLaw", "PowerLaw"),
    "prediction.answer_length.boosted_trees": ("BoostedTrees",),
    "prediction.answer_length.pair_network": ("PairNetwork",),
    "prediction.answer_length.prompt_length": ("PromptLength",),
    "prediction.answer_length.score_stack": ("ScoreStack",),
    "prediction.serving_law.configurations": ("Configurations",),
    "prediction.serving_law.learned_part": ("Columns", "LogGaussian"),
    "prediction.serving_law.part_weights": ("PartWeights",),
    "prediction.serving_law.predictor": ("ServingLaw",),
    "prediction.step_cost.additive": ("AdditiveCost",),
    "prediction.step_cost.predictor": ("StepCost",),
    "prediction.step_cost.stacking": ("ErrorScores", "StackedErrors", "TreesOnCosts"),
    "prediction.step_cost.unlike": ("Unlike",),
    "prediction.step_cost.transfer": ("TransferGP",),
    "prediction.completion.mixture": ("CapMixture", "Completion"),
    "prediction.completion.model": ("CapModel", "CompletionWays", "LeftOutApplications"),
    "prediction.completion.table": ("CapTable",),
}
"""Classes whose objects may be in a file."""
CLASSES = {name: module for module, names in MODULES.items() for name in names}
ATOMS = (bool, int, float, str)
ARRAYS = "arrays.npz"


class StateWriter:
    """Takes an object apart; ``parts`` has the bytes that go beside the tree."""

    def __init__(self) -> None:
        self._arrays: dict[str, Any] = {}
        self._files: dict[str, bytes] = {}
        self.libraries: set[str] = set()

    @property
    def parts(self) -> dict[str, bytes]:
        """Bytes by name: arrays together, regressors each in a folder."""
        return {ARRAYS: arrays_out(self._arrays), **self._files}

    def put(self, value: Any) -> Any:
        """``value`` as JSON, with references to arrays and files."""
        if value is None or type(value) in ATOMS:
            return value
        if isinstance(value, (np.ndarray, np.generic)):
            return {"$array": self._array(np.asarray(value))}
        if isinstance(value, bytes):
            return {"$bytes": self._file("", value)}
        if (plain := self._plain(value)) is not None:
            return plain
        if CLASSES.get(type(value).__name__) == type(value).__module__.removeprefix("rheostat."):
            fields = {name: self.put(v) for name, v in state_of(value).items()}
            return {"$class": type(value).__name__, "fields": fields}
        return self._regressor(value)

    def _plain(self, value: Any) -> dict[str, Any] | None:
        import polars as pl  # to read a file without texts or moments takes 25 MB less without it

        from rheostat.core.jobs import Moment

        if isinstance(value, Moment):
            return {"$moment": value.name}
        if isinstance(value, dict):
            return {"$dict": [[self.put(k), self.put(v)] for k, v in value.items()]}
        if isinstance(value, pl.Series):
            return {"$texts": value.name, "values": value.cast(pl.String).to_list()}
        if isinstance(value, (list, tuple)):
            return {"$" + type(value).__name__: [self.put(v) for v in value]}
        return None

    def _array(self, array: np.ndarray[Any, Any]) -> str:
        if array.dtype.hasobject:
            raise ModelFileError("an array of Python objects cannot be saved safely")
        name = f"a{len(self._arrays)}"
        self._arrays[name] = array
        return name

    def _file(self, name: str, data: bytes) -> str:
        path = f"{len(self._files)}{name and '/'}{name}"
        self._files[path] = data
        return path

    def _regressor(self, value: Any) -> dict[str, Any]:
        kind, facts, files = pack(value)
        self.libraries |= libraries_of(kind, facts)
        named = {name: self._file(name, data) for name, data in files.items()}
        return {"$regressor": kind, "facts": facts, "files": named}


class FileParts(dict[str, Any]):
    """Parts of a file by name, which knows what nobody has asked for."""

    def __init__(self, parts: Mapping[str, Any]) -> None:
        super().__init__(parts)
        self._left = set(parts)

    def __getitem__(self, name: str) -> Any:
        self._left.discard(name)
        return super().__getitem__(name)

    def check(self) -> None:
        """A `ModelFileError` where something was not asked for."""
        if self._left:
            raise ModelFileError(f"holds {min(self._left)[:100]!r}, which nothing in it needs")


class StateReader:
    """Puts an object together again from a tree and its parts."""

    def __init__(self, parts: Mapping[str, bytes]) -> None:
        self._parts = parts
        self._arrays = FileParts(arrays_in(parts[ARRAYS]))

    def whole(self, tree: Any) -> Any:
        """As `get`, where an array that the tree does not name is a `ModelFileError`."""
        made = self.get(tree)
        self._arrays.check()
        return made

    def get(self, tree: Any) -> Any:
        """The value that `StateWriter.put` wrote as ``tree``."""
        if not isinstance(tree, dict):
            return tree
        kind = next(iter(tree))
        if kind not in _BUILD:
            raise ModelFileError(f"unknown entry {kind!r} in the model's state")
        return _BUILD[kind](self, tree)

    def _regressor(self, tree: dict[str, Any]) -> Any:
        files = {name: self._parts[path] for name, path in tree["files"].items()}
        return unpack(tree["$regressor"], tree["facts"], files)

    def _object(self, tree: dict[str, Any]) -> Any:
        name = tree["$class"]
        if name not in CLASSES:
            raise ModelFileError(f"{name!r} is no class that a model file may hold")
        cls = getattr(import_module(f"rheostat.{CLASSES[name]}"), name)
        made = cls.__new__(cls)
        fields = {field: self.get(v) for field, v in tree["fields"].items()}
        if dataclasses.is_dataclass(cls):
            _check_names(name, {f.name for f in dataclasses.fields(cls)}, set(fields))
        vars(made).update(fields)
        if hasattr(cls, "check"):
            cls.check(made)
        return made

    def _moment(self, tree: dict[str, Any]) -> Any:
        from rheostat.core.jobs import Moment

        return Moment[tree["$moment"]]

    def _texts(self, tree: dict[str, Any]) -> Any:
        import polars as pl

        return pl.Series(tree["$texts"], tree["values"], dtype=pl.String)

    def _array(self, tree: dict[str, Any]) -> Any:
        array = self._arrays[tree["$array"]]
        return array if array.ndim else array[()]


def _check_names(cls: str, wanted: set[str], given: set[str]) -> None:
    if wanted != given:
        lacks, odd = sorted(wanted - given), sorted(given - wanted)
        raise ModelFileError(f"{cls} in it lacks {lacks} or has {odd}, which it should not")


def state_of(value: Any) -> dict[str, Any]:
    """Fields of a dataclass, attributes of another object; what is computed on demand is left."""
    if dataclasses.is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    return dict(vars(value))


_BUILD: dict[str, Callable[[StateReader, dict[str, Any]], Any]] = {
    "$moment": StateReader._moment,
    "$array": StateReader._array,
    "$bytes": lambda reader, tree: reader._parts[tree["$bytes"]],
    "$texts": StateReader._texts,
    "$list": lambda reader, tree: [reader.get(v) for v in tree["$list"]],
    "$tuple": lambda reader, tree: tuple(reader.get(v) for v in tree["$tuple"]),
    "$dict": lambda reader, tree: {reader.get(k): reader.get(v) for k, v in tree["$dict"]},
    "$class": StateReader._object,
    "$regressor": StateReader._regressor,
}
