"""Keep a large model in one file that is data, not code.

A zip of JSON, parquet (the levels of names), plain arrays and the boosting libraries' own formats;
each member's SHA-256 stands in the index, so a damaged or tampered file is refused before anything
is made from it.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.files import replace_file
from rheostat.core.jobs import Moment, Note
from rheostat.core.outcome import Predictor
from rheostat.errors import ModelFileError
from rheostat.prediction import archive
from rheostat.prediction.intervals import Calibration
from rheostat.prediction.out_of_core.boosters import KINDS
from rheostat.prediction.out_of_core.category_counts import FOLDS
from rheostat.prediction.out_of_core.coding import Coding, Levels
from rheostat.prediction.out_of_core.large_model import ScaleModel, Trees
from rheostat.prediction.out_of_core.memory_plan import MemoryPlan

SCHEMA, INDEX = "rheostat.scale/1", "index.json"


def save(model: ScaleModel, path: str | Path) -> None:
    """Write ``model`` to ``path``, all or nothing."""
    members = {f"levels.{i}": _levels_out(v) for i, v in enumerate(model.coding.levels.values())}
    for t, stages in enumerate(model.trees.stages):
        members |= {f"trees.{t}.{s}": stage for s, stage in enumerate(stages)}
    members["arrays"] = _arrays_out(model)
    facts = {
        "schema": SCHEMA,
        "plan": asdict(model.coding.plan),
        "kind": model.trees.kind,
        "stages": [len(s) for s in model.trees.stages],
        "centres": model.trees.centres,
        "shared": model.calibration.shared,
        "asked_at": model.asked_at.name,
        "rows_learnt": model.rows_learnt,
        "notes": [asdict(n) for n in model.notes],
        "digests": {k: hashlib.sha256(v).hexdigest() for k, v in members.items()},
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in {INDEX: json.dumps(facts).encode(), **members}.items():
            file.writestr(zipfile.ZipInfo(name), data)  # no clock: same model, same bytes
    replace_file(path, content.getvalue())


def is_scale(path: str | Path) -> bool:
    """Whether ``path`` looks like a file of `save`; only its list of members is read."""
    return archive.holds(path, INDEX)


def load_any(path: str | Path) -> Predictor:
    """The model in ``path``, large or not."""
    from rheostat.prediction.store import load as load_surrogate

    return load(path) if is_scale(path) else load_surrogate(path)


def load(path: str | Path) -> ScaleModel:
    """A model that `save` wrote; `ModelFileError` where the file is not whole or not ours."""
    members = archive.members(path)
    try:
        facts = json.loads(members.pop(INDEX))
    except (KeyError, ValueError) as error:
        raise ModelFileError(f"{path}: expected a model saved by rheostat, got {error}") from error
    _check(path, facts, members)
    plan = MemoryPlan(**{k: tuple(v) for k, v in facts["plan"].items()})
    arrays = np.load(io.BytesIO(members["arrays"]), allow_pickle=False)
    levels = {c: _levels_in(members[f"levels.{i}"]) for i, c in enumerate(plan.categories)}
    stages = tuple(
        tuple(members[f"trees.{t}.{s}"] for s in range(n)) for t, n in enumerate(facts["stages"])
    )
    edges = (arrays[f"edges.{i}"] for i in range(len(plan.names)))
    return ScaleModel(
        Coding(plan, levels, arrays["prior"], arrays["spans"], tuple(edges)),
        Trees(facts["kind"], stages, tuple(facts["centres"])),
        Calibration(
            arrays["marginals"], facts["shared"], arrays["group_orders"], arrays["row_orders"]
        ),
        Moment[facts["asked_at"]],
        facts["rows_learnt"],
        tuple(Note(**{**n, "rows": tuple(n["rows"])}) for n in facts["notes"]),
    )


def sorted_names(plan: MemoryPlan) -> tuple[str, ...]:
    """Categories in the order of the file's members: the plan's."""
    return plan.categories


def _check(path: str | Path, facts: Any, members: dict[str, bytes]) -> None:
    schema = facts.get("schema") if isinstance(facts, dict) else None
    if schema != SCHEMA:
        raise ModelFileError(f"{path}: expected schema {SCHEMA}, got {schema!r}")
    digest = {k: hashlib.sha256(v).hexdigest() for k, v in members.items()}
    odd = sorted(
        k for k in {*digest, *facts["digests"]} if digest.get(k) != facts["digests"].get(k)
    )
    if odd or facts["kind"] not in KINDS:
        found = ", ".join(odd)
        raise ModelFileError(f"{path}: damaged or altered ({found}); fit and save it again")


def _levels_out(levels: Levels) -> bytes:
    columns: dict[str, Any] = {"value": pl.Series(levels.values, dtype=pl.String)}
    for f in range(FOLDS + 1):
        columns[f"n{f}"] = levels.counts[f]
        columns |= {f"m{f}.{t}": m for t, m in enumerate(levels.means[f])}
    content = io.BytesIO()
    pl.DataFrame(columns).write_parquet(content)
    return content.getvalue()


def _levels_in(content: bytes) -> Levels:
    frame = pl.read_parquet(io.BytesIO(content))
    targets = sum(c.startswith("m0.") for c in frame.columns)
    counts = np.stack([frame[f"n{f}"].to_numpy() for f in range(FOLDS + 1)])
    means = [[frame[f"m{f}.{t}"].to_numpy() for t in range(targets)] for f in range(FOLDS + 1)]
    return Levels(frame["value"], counts, np.array(means, dtype=np.float32))


def _arrays_out(model: ScaleModel) -> bytes:
    content = io.BytesIO()
    c = model.calibration
    edges = {f"edges.{i}": cuts for i, cuts in enumerate(model.coding.edges)}
    np.savez(
        content,
        **edges,
        prior=model.coding.prior,
        spans=model.coding.spans,
        marginals=c.marginals,
        group_orders=c.group_orders,
        row_orders=c.row_orders,
    )
    return content.getvalue()
