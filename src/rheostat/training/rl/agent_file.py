"""Agents on disk: tensors and facts in one safetensors file, the old one or the new, never half."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rheostat._optional import require
from rheostat.core.files import ordinary_file, replacing
from rheostat.errors import DataError

WANTED = "expected an agent saved by rheostat train"
# what may be in such a file, and the class with ``load(path)`` and ``play(trace)`` that reads it
KINDS = {
    "rheostat.agent/1": "rheostat.training.rl.agent:Agent",
    "rheostat.actor/1": "rheostat.training.rl.actor:Actor",
}


def write(path: Path, facts: Mapping[str, Any], tensors: Mapping[str, Any]) -> None:
    """Replace the file at once; ``facts`` have a ``kind``."""
    save_file = require("safetensors.torch", extra="deep").save_file
    with replacing(path) as draft:
        # one entry: several would be written in any order, and the bytes would differ
        save_file(dict(tensors), draft, {"agent": json.dumps(facts, sort_keys=True)})


def read(path: Path, kind: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
    """Facts and tensors; refuses what is not of this ``kind``, or of none that is known."""
    library = require("safetensors", extra="deep")
    try:
        ordinary_file(path)
    except DataError as error:
        raise DataError(str(path), [WANTED, *error.problems]) from error
    try:
        with library.safe_open(path, framework="pt") as file:
            facts = json.loads((file.metadata() or {}).get("agent", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except library.SafetensorError as error:
        raise DataError(str(path), [f"{WANTED}: {error}"]) from error
    told = facts.get("kind", "another kind of file")
    if (told != kind) if kind else (told not in KINDS):
        raise DataError(str(path), [f"expected {kind or ' or '.join(KINDS)}, got {told}"])
    return facts, tensors


def load(path: Path | str) -> Any:
    """The agent in a file, of whatever kind."""
    facts, _ = read(Path(path))
    module, _, name = KINDS[facts["kind"]].partition(":")
    return getattr(importlib.import_module(module), name).load(path)[0]
