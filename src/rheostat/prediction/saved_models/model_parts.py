"""How is each kind of regressor turned into bytes, and back, without running code?

XGBoost and LightGBM have model formats of their own; networks are arrays (safetensors) and the
numbers they were made with; what is scikit-learn's goes through skops, which rebuilds only types on
a list, given here in full.  Pickle is never read.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rheostat._optional import require
from rheostat.core.storage.bounded_read import checked_members
from rheostat.errors import ModelFileError
from rheostat.prediction.saved_models.tree_checks import (
    check_lightgbm,
    check_sklearn,
    check_xgboost,
)

if TYPE_CHECKING:
    from rheostat.core.outcome import Array

TRUSTED = (
    "sklearn.tree._tree.Tree",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn._loss.link.IdentityLink",
    "sklearn._loss.link.Interval",
    "sklearn._loss._loss.CyHalfSquaredError",
    "sklearn._loss.loss.HalfSquaredError",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
)
"""Types a model file may hold beyond those skops trusts itself: they only hold data."""

Pack = tuple[str, dict[str, Any], dict[str, bytes]]


@dataclass
class Boosters:
    """LightGBM models, one per target, as they come back from a file."""

    models: list[Any]

    def predict(self, X: Array) -> Array:
        """Targets of each row, (n, t)."""
        return np.column_stack([m.predict(X, num_threads=1) for m in self.models])


def pack(thing: Any) -> Pack:
    """(format, facts, files) of a regressor; raises `ModelFileError` where no format is safe."""
    module = type(thing).__module__.split(".")[0]
    name = type(thing).__name__
    if (
        name in ("TabNetRegressor", "TabNetEmbedding", "AttentionEmbedding")
        and module == "rheostat"
    ):
        return _pack_network(thing)
    if name == "EmbeddedRegressor" and module == "rheostat":
        return _pack_embedded(thing)
    if module == "xgboost" and hasattr(thing, "_Booster"):
        return "xgboost", {}, {"model.ubj": bytes(thing.get_booster().save_raw("ubj"))}
    if isinstance(thing, Boosters) or _is_lightgbm(thing):
        boosters = thing.models if isinstance(thing, Boosters) else _boosters(thing)
        files = {f"{i}.txt": b.model_to_string().encode() for i, b in enumerate(boosters)}
        return "lightgbm", {"count": len(boosters)}, files
    return _pack_sklearn(thing)


def unpack(kind: str, facts: Mapping[str, Any], files: Mapping[str, bytes]) -> Any:
    """The regressor that `pack` took apart."""
    if kind not in _READERS:
        raise ModelFileError(
            f"unknown part {kind!r}: written by a newer release, or not by rheostat"
        )
    return _READERS[kind](facts, files)


def libraries_of(kind: str, facts: Mapping[str, Any]) -> set[str]:
    """Names of the libraries whose format `pack` used."""
    if kind == "embedded":
        roles = (facts["embedding_"], facts["regressor_"])
        return set().union(*(libraries_of(r["kind"], r["facts"]) for r in roles))
    return {{"sklearn": "scikit-learn", "network": "torch"}.get(kind, kind)}


def _is_lightgbm(thing: Any) -> bool:
    parts = getattr(thing, "estimators_", [thing])
    return all(
        type(p).__module__.startswith("lightgbm") and hasattr(p, "booster_") for p in parts
    ) and bool(len(parts))


def _boosters(thing: Any) -> list[Any]:
    return [p.booster_ for p in getattr(thing, "estimators_", [thing])]


def _read_lightgbm(facts: Mapping[str, Any], files: Mapping[str, bytes]) -> Boosters:
    lightgbm = require("lightgbm", extra="trees")
    texts = [files[f"{i}.txt"].decode() for i in range(int(facts["count"]))]
    for text in texts:
        check_lightgbm(text)
    return Boosters([lightgbm.Booster(model_str=t) for t in texts])


def _read_xgboost(facts: Mapping[str, Any], files: Mapping[str, bytes]) -> Any:
    model = require("xgboost", extra="trees").XGBRegressor(n_jobs=1)
    model.load_model(bytearray(files["model.ubj"]))
    booster = model.get_booster()
    check_xgboost(json.loads(booster.save_raw("json")), booster.num_features())
    return model


def _pack_sklearn(thing: Any) -> Pack:
    from skops import io as skops_io

    data = skops_io.dumps(thing)
    odd = sorted(set(skops_io.get_untrusted_types(data=data)) - set(TRUSTED))
    if odd:
        raise ModelFileError(
            f"{type(thing).__name__} cannot be saved safely: it holds {', '.join(odd)}; "
            "save forests, XGBoost, LightGBM, TabNet, attention or plain scikit-learn regressors"
        )
    return "sklearn", {}, {"model.skops": data}


def _read_sklearn(facts: Mapping[str, Any], files: Mapping[str, bytes]) -> Any:
    from skops import io as skops_io
    from skops.io.exceptions import UntrustedTypesFoundException

    try:
        made = skops_io.loads(files["model.skops"], trusted=list(TRUSTED))
    except UntrustedTypesFoundException as error:
        raise ModelFileError(
            f"holds types that are not allowed in a model file: {error}"
        ) from error
    check_sklearn(made)
    return made


def _pack_network(thing: Any) -> Pack:
    from safetensors.torch import save

    # TabNet's steps share layers; the format refuses tensors that share memory, so each is copied.
    state = {k: v.detach().clone() for k, v in thing.net_.state_dict().items()}
    arrays = {k: getattr(thing, k) for k in ("x_mean_", "x_scale_", "y_mean_", "y_scale_")}
    facts = {
        "class": type(thing).__name__,
        "parameters": thing.get_params(),
        "shape": [int(s) for s in thing.shape_],
        "one_target": bool(thing.one_target_),
    }
    return "network", facts, {"weights.safetensors": save(state), "scales.npz": arrays_out(arrays)}


def _read_network(facts: Mapping[str, Any], files: Mapping[str, bytes]) -> Any:
    from rheostat.prediction.surrogate.nets import reproducible

    load = require("safetensors.torch", extra="neural").load
    thing = _networks()[facts["class"]](**facts["parameters"])
    for name, value in arrays_in(files["scales.npz"]).items():
        setattr(thing, name, value)
    thing.shape_ = tuple(facts["shape"])
    thing.one_target_ = facts["one_target"]
    thing.n_features_in_ = thing.shape_[0]
    with reproducible(0):
        thing.net_ = thing._net(*thing.shape_)
    thing.net_.load_state_dict(load(files["weights.safetensors"]))
    thing.net_.eval()
    return thing


def _networks() -> dict[str, Callable[..., Any]]:
    from rheostat.prediction.surrogate.embedding import AttentionEmbedding, TabNetEmbedding
    from rheostat.prediction.surrogate.tabnet import TabNetRegressor

    return {c.__name__: c for c in (AttentionEmbedding, TabNetEmbedding, TabNetRegressor)}


def _pack_embedded(thing: Any) -> Pack:
    facts: dict[str, Any] = {"random_state": thing.random_state, "features": thing.n_features_in_}
    files: dict[str, bytes] = {}
    for role in ("embedding_", "regressor_"):
        kind, inner, parts = pack(getattr(thing, role))
        facts[role] = {"kind": kind, "facts": inner, "files": sorted(parts)}
        files |= {f"{role}/{k}": v for k, v in parts.items()}
    return "embedded", facts, files


def _read_embedded(facts: Mapping[str, Any], files: Mapping[str, bytes]) -> Any:
    from rheostat.prediction.surrogate.embedded_regressor import EmbeddedRegressor

    thing = EmbeddedRegressor(random_state=facts["random_state"])
    for role in ("embedding_", "regressor_"):
        inner = facts[role]
        parts = {name: files[f"{role}/{name}"] for name in inner["files"]}
        setattr(thing, role, unpack(inner["kind"], inner["facts"], parts))
    thing.n_features_in_ = facts["features"]
    return thing


_READERS: dict[str, Callable[[Mapping[str, Any], Mapping[str, bytes]], Any]] = {
    "sklearn": _read_sklearn,
    "xgboost": _read_xgboost,
    "lightgbm": _read_lightgbm,
    "network": _read_network,
    "embedded": _read_embedded,
}


def arrays_out(arrays: Mapping[str, Any]) -> bytes:
    """Arrays as one npz, without pickle."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def arrays_in(data: bytes) -> dict[str, Any]:
    """The arrays of `arrays_out`; object arrays are refused."""
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        checked_members(packed)
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}
