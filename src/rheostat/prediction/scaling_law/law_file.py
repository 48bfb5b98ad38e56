"""One file for a `LawGP`: a zip of arrays (npz, no pickle) and one JSON of names and numbers.

The JSON holds the SHA-256 of the arrays and of itself, so that a cut or changed file is refused.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rheostat.core.files import replacing
from rheostat.errors import ModelFileError
from rheostat.prediction.archive import members
from rheostat.prediction.scaling_law.coordinates import Basis, Scale
from rheostat.prediction.scaling_law.pooled import Pooled, PooledRuns

if TYPE_CHECKING:
    from rheostat.prediction.scaling_law.scaling_law import LawGP

FORMAT = "rheostat.law-gp/2"
_POOLED = ("means", "covariances", "rough", "log_weights", "repeats", "context", "noise")
_FITTED = ("units_", "counts_", "repeats_")


def write(model: LawGP, path: Path) -> Path:
    """Write the file; the same model gives the same bytes."""
    keys = sorted(model.runs_)
    arrays = {f"pooled.{n}": getattr(model.pooled_, n) for n in _POOLED}
    arrays |= {n: getattr(model, n) for n in _FITTED}
    basis = model.pooled_.basis
    arrays |= {"landmarks": basis.landmarks, "root": basis.root, "numeric": basis.numeric}
    arrays |= {"low": model.scale_.low, "high": model.scale_.high, "log": model.scale_.log}
    for part in ("units", "logs", "counts"):
        whole = [getattr(model.runs_[k], part) for k in keys]
        arrays[f"runs.{part}"] = np.concatenate(whole, axis=1 if part == "logs" else 0)
    arrays["runs.sizes"] = np.array([len(model.runs_[k].counts) for k in keys])
    arrays["runs.context"] = np.array([model.own_context_[k] for k in keys])
    packed = io.BytesIO()
    np.savez(packed, **arrays)  # type: ignore[arg-type]
    facts: dict[str, Any] = {
        "format": FORMAT,
        "knobs": model.knobs,
        "by": model.group_by,
        "by_": model.by_,
        "context": model.context,
        "context_": model.context_,
        "n_draws": model.n_draws,
        "seed": model.seed,
        "length": basis.length,
        "bandwidth": model.pooled_.bandwidth,
        "keys": keys,
        "taught": model.taught_,
    }
    facts["sha256"] = _sum(facts, packed.getvalue())
    with replacing(path) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in (
            ("law.json", json.dumps(facts).encode()),
            ("law.npz", packed.getvalue()),
        ):
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
    return path


def _sum(facts: Mapping[str, Any], packed: bytes) -> str:
    """SHA-256 of the arrays and of all facts but itself."""
    rest = {k: v for k, v in facts.items() if k != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode() + packed).hexdigest()


def read(cls: type[LawGP], path: Path) -> LawGP:
    """The model that `write` wrote."""
    parts = members(path)
    facts, packed = json.loads(parts["law.json"]), parts["law.npz"]
    if facts.get("format") != FORMAT:
        raise ModelFileError(f"{path}: format {facts.get('format')}, this release reads {FORMAT}")
    if _sum(facts, packed) != facts["sha256"]:
        raise ModelFileError(f"{path}: damaged or altered: get the file again or fit anew")
    a = dict(np.load(io.BytesIO(packed), allow_pickle=False))
    model = cls(
        facts["knobs"],
        group_by=facts["by"],
        context=facts["context"],
        n_draws=facts["n_draws"],
        seed=facts["seed"],
    )
    model.by_, model.context_, model.notes_ = tuple(facts["by_"]), facts["context_"], ()
    model.taught_ = facts["taught"]
    model.scale_ = Scale(a["low"], a["high"], a["log"], (None,) * len(a["low"]))
    for name in _FITTED:
        setattr(model, name, a[name])
    ends = np.cumsum(a["runs.sizes"])
    parts = [slice(int(e - n), int(e)) for e, n in zip(ends, a["runs.sizes"], strict=True)]
    model.runs_ = {
        k: PooledRuns(a["runs.units"][s], a["runs.logs"][:, s], a["runs.counts"][s])
        for k, s in zip(facts["keys"], parts, strict=True)
    }
    model.own_context_ = dict(zip(facts["keys"], a["runs.context"], strict=True))
    basis = Basis(a["landmarks"], a["numeric"], facts["length"], a["root"])
    pooled = {n: a[f"pooled.{n}"] for n in _POOLED}
    model.pooled_ = Pooled(basis=basis, bandwidth=facts["bandwidth"], **pooled)
    return model
