"""One container for everything that was fitted: a header, contents, and a checksum of both.

The header says the kind, the version of its schema, and the libraries that made the contents.  What
is JSON alone is a JSON text that can be read and compared line by line.  Whatever has more parts
(arrays, networks, trees in the format of their library) is a zip: ``header.json``,
``contents.json`` and the parts.  Its comment is the SHA-256 of all bytes before it; the text has
one of its values.  Nothing in a file is code, and nothing is used before the checksum agrees.  The
checksum guards against damage; it does not prove who made the file.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rheostat.core.storage.bounded_read import checked_members, read_bytes
from rheostat.core.storage.file_kinds import FORMAT, HEADER, describe_file
from rheostat.core.storage.files import parse_json, replace_file, seal, unsealed
from rheostat.errors import DataError, ModelFileError

CONTENTS = "contents.json"
DIGEST_B = 64
"""Bytes of a SHA-256 in hexadecimal, the comment of the zip."""
NOT_SMALLER = (".safetensors",)
"""Weights of networks do not get smaller; packing hundreds of MB after each round takes long."""
NOT_A_ZIP = (
    zipfile.BadZipFile, zlib.error, EOFError, struct.error, NotImplementedError, RuntimeError,
    OSError, UnicodeError,
)  # fmt: skip
"""What Python's zipfile raises on bytes that are no zip, or half of one."""


@dataclass(frozen=True)
class Archive:
    """What is in a file.

    Parameters
    ----------
    kind
        Name of what was fitted, as ``surrogate``.
    version
        Of the schema of ``contents``; each kind counts its own.
    contents
        JSON values.
    parts
        Bytes by name; none makes the file a text.
    libraries
        Version of each library whose format is in it.
    """

    kind: str
    version: int
    contents: Any
    parts: Mapping[str, bytes] = field(default_factory=dict)
    libraries: Mapping[str, str] = field(default_factory=dict)

    @property
    def header(self) -> dict[str, Any]:
        """What a file says of itself."""
        return {
            "format": FORMAT,
            "kind": self.kind,
            "version": self.version,
            "libraries": dict(self.libraries),
        }


def write_archive(path: str | Path, archive: Archive) -> None:
    """Write the file: the old one or the new, never half; the same archive gives the same bytes."""
    replace_file(path, _zip(archive) if archive.parts else _text(archive))


def read_archive(path: str | Path) -> Archive:
    """The archive in a file; `ModelFileError` where it is damaged or is none."""
    try:
        data = read_bytes(path)
    except DataError as error:
        raise ModelFileError(str(path), error.problems) from error
    try:
        return _read_text(data, path) if data[:1] == b"{" else _read_zip(data)
    except (*NOT_A_ZIP, DataError, ValueError, KeyError) as error:
        why = error.problems[0] if isinstance(error, DataError) and error.problems else error
        problem = f"got {describe_file(path)}; it is damaged or of another kind: {why}"
        raise ModelFileError(str(path), [problem[:400]]) from error


def _text(archive: Archive) -> str:
    sealed = seal({**archive.header, "contents": archive.contents})
    first = {**archive.header, "sha256": sealed["sha256"]}
    return json.dumps({**first, "contents": archive.contents}, indent=1) + "\n"


def _zip(archive: Archive) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        plain = {HEADER: archive.header, CONTENTS: archive.contents}
        packed = {name: json.dumps(values).encode() for name, values in plain.items()}
        for name, data in {**packed, **archive.parts}.items():
            member = zipfile.ZipInfo(name)  # no clock: same archive, same bytes
            how = zipfile.ZIP_STORED if name.endswith(NOT_SMALLER) else zipfile.ZIP_DEFLATED
            file.writestr(member, data, how)
        file.comment = b"0" * DIGEST_B
    data = content.getvalue()[:-DIGEST_B]
    return data + hashlib.sha256(data).hexdigest().encode()


def _read_text(data: bytes, path: str | Path) -> Archive:
    header = _checked_header(parse_json(data))
    if "sha256" not in header:
        raise ValueError("it has no checksum")
    return _archive(unsealed(header, path), {})


def _read_zip(data: bytes) -> Archive:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        header = _checked_header(_json(file, HEADER) if HEADER in file.namelist() else None)
        if file.comment != hashlib.sha256(data[:-DIGEST_B]).hexdigest().encode():
            raise ValueError("its checksum is of something else")
        checked_members(file)
        names = [n for n in file.namelist() if n not in (HEADER, CONTENTS)]
        parts = {name: file.read(name) for name in names}
        return _archive({**header, "contents": _json(file, CONTENTS)}, parts)


def _json(file: zipfile.ZipFile, name: str) -> Any:
    try:
        return json.loads(file.read(name))
    except RecursionError as error:
        raise ValueError(f"{name} is nested too deep") from error


def _checked_header(header: Any) -> dict[str, Any]:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError("it has no header of rheostat")
    return header


def _archive(given: dict[str, Any], parts: Mapping[str, bytes]) -> Archive:
    kind, version, libraries = (given.get(k) for k in ("kind", "version", "libraries"))
    if (
        isinstance(kind, str)
        and isinstance(version, int)
        and isinstance(libraries, dict)
        and "contents" in given
    ):
        return Archive(kind, version, given["contents"], parts, libraries)
    raise ValueError("its header lacks the kind, the version or the contents")
