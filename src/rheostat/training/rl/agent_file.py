"""Agents on disk: facts as JSON and tensors as safetensors, in the archive of every saved model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rheostat._optional import require
from rheostat.core.archive import Archive

TENSORS = "tensors.safetensors"


def to_archive(facts: Mapping[str, Any], tensors: Mapping[str, Any]) -> Archive:
    """An archive of the facts and tensors; the same ones give the same bytes."""
    from importlib.metadata import version

    save = require("safetensors.torch", extra="train").save
    used = {name: version(name) for name in ("safetensors", "torch")}
    return Archive("", 0, dict(facts), {TENSORS: save(dict(tensors))}, used)


def from_archive(archive: Archive) -> tuple[dict[str, Any], dict[str, Any]]:
    """Facts and tensors."""
    load = require("safetensors.torch", extra="train").load
    return dict(archive.contents), load(archive.parts[TENSORS])
