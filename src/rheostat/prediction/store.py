"""Keep a fitted model in one file that is safe to open.

The file is a zip of plain parts - JSON, arrays, the libraries' own model formats - and a manifest
with the SHA-256 of each.  Opening one runs no code from it; a file that was cut, changed, made by
something else or by a newer release is refused with the reason.  The sums guard against damage; who
made the file they do not prove.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rheostat.core.files import replacing
from rheostat.errors import ModelFileError, NotFitted
from rheostat.prediction.archive import members
from rheostat.prediction.model_parts import arrays_in, arrays_out
from rheostat.prediction.plain import Shelf
from rheostat.prediction.surrogate import Surrogate

FORMAT, VERSION = "rheostat-model", 1
MANIFEST, STATE, ARRAYS = "manifest.json", "state.json", "arrays.npz"
UNREADABLE = (
    KeyError, ValueError, TypeError, AttributeError, RuntimeError, OSError, zipfile.BadZipFile,
    IndexError, OverflowError,
)  # fmt: skip
"""What the formats' own readers raise on bytes that are not theirs."""


def save(model: Surrogate, path: str | Path) -> Path:
    """Write a fitted surrogate to ``path``; an existing file is replaced in one step.

    Raises `NotFitted`, and `ModelFileError` for a regressor that no safe format holds.
    """
    if not hasattr(model, "stage_"):
        raise NotFitted(model)
    shelf = Shelf()
    state = {name: shelf.put(value) for name, value in vars(model).items()}
    parts = {STATE: json.dumps(state).encode(), ARRAYS: arrays_out(shelf.arrays), **shelf.files}
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "model": type(model).__name__,
        "targets": list(model.targets),
        "features": list(model.features_),
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in parts.items()},
    }
    manifest["seal"] = _seal(manifest)
    path = Path(path)
    with replacing(path) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {MANIFEST: json.dumps(manifest, indent=1).encode(), **parts}.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
    return path


def load(path: str | Path) -> Surrogate:
    """The surrogate that `save` wrote; its predictions are the same to the last byte.

    Raises `ModelFileError` where the file is damaged, changed, foreign or too new.
    """
    parts = _checked(Path(path))
    try:
        state = json.loads(parts[STATE])
        shelf = Shelf(arrays_in(parts[ARRAYS]), parts)
        model = Surrogate.__new__(Surrogate)
        vars(model).update({name: shelf.get(tree) for name, tree in state.items()})
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error
    except UNREADABLE as error:
        raise ModelFileError(f"{path}: not a model this release can read: {error!r}") from error
    return model


def describe(path: str | Path) -> dict[str, Any]:
    """The manifest of a model file: kind, targets, features, sums; nothing is unpacked."""
    return _manifest(members(path), Path(path))


def _seal(manifest: Mapping[str, Any]) -> str:
    rest = {k: v for k, v in manifest.items() if k != "seal"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _manifest(parts: Mapping[str, bytes], path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(parts[MANIFEST])
    except (KeyError, ValueError) as error:
        text = f"no readable {MANIFEST}: not a rheostat model, or cut short"
        raise ModelFileError(f"{path}: {text}") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ModelFileError(f"{path}: {MANIFEST} is not of format {FORMAT}")
    if manifest.get("version") != VERSION:
        raise ModelFileError(
            f"{path}: format version {manifest.get('version')}, this release reads {VERSION}: "
            "update rheostat, or fit the model again"
        )
    if manifest.get("seal") != _seal(manifest):
        raise ModelFileError(f"{path}: the manifest was changed after it was written")
    return manifest


def _checked(path: Path) -> dict[str, bytes]:
    """All parts, each with the sum the manifest promises and no part besides."""
    parts = members(path)
    manifest = _manifest(parts, path)
    if manifest.get("model") != "Surrogate":
        raise ModelFileError(f"{path}: holds a {manifest.get('model')}, expected a Surrogate")
    sums = manifest["sha256"]
    problems = [f"part {n} is missing" for n in sums if n not in parts]
    problems += [f"unexpected part {n}" for n in parts if n not in sums and n != MANIFEST]
    problems += [
        f"part {n} was changed" for n in sums
        if n in parts and hashlib.sha256(parts[n]).hexdigest() != sums[n]
    ]  # fmt: skip
    if problems:
        raise ModelFileError(f"{path}: {'; '.join(problems)}: get the file again or fit anew")
    return {n: parts[n] for n in sums}
