"""Agents on disk: facts as JSON and tensors as safetensors, in the archive of every saved model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rheostat._optional import require
from rheostat.core.storage.archive import Archive
from rheostat.errors import DataError

TENSORS = "tensors.safetensors"


def to_archive(facts: Mapping[str, Any], tensors: Mapping[str, Any]) -> Archive:
    """An archive of the facts and tensors; the same ones give the same bytes."""
    from importlib.metadata import version

    save = require("safetensors.torch", extra="train").save
    used = {name: version(name) for name in ("safetensors", "torch")}
    return Archive("", 0, dict(facts), {TENSORS: save(dict(tensors))}, used)


def from_archive(archive: Archive) -> tuple[dict[str, Any], dict[str, Any]]:
    """Facts and tensors; a `DataError` where the facts say of sizes what no tensor has.

    A network is made by the facts before the tensors are put into it: it must not be larger.
    """
    load = require("safetensors.torch", extra="train").load
    facts, tensors = dict(archive.contents), load(archive.parts[TENSORS])
    there = {size for tensor in tensors.values() for size in tensor.shape}
    if odd := [h for h in facts["setup"]["hidden"] if h not in there]:
        raise DataError("agent", [f"expected hidden layers as its tensors are, got {odd[0]!r}"])
    if facts.get("nodes", 0) > (most := max(there, default=0)):
        raise DataError("agent", [f"expected at most {most} nodes, got {facts['nodes']!r}"])
    if not all(tensor.isfinite().all() for tensor in tensors.values()):
        raise DataError("agent", ["expected finite weights"])
    return facts, tensors
