"""What is this file?  Answered from its first bytes, for the error about a file of another kind."""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

from rheostat.errors import FileKindError

FORMAT, HEADER = "rheostat", "header.json"
LOOKED_AT_B = 2**20
MOST_B = 256 * 2**20
OBJECT_B, MOST_OBJECTS_B = (240, 72, 40), 2 * 2**30
"""Memory of an object, an array and an element that JSON makes, and of all of a document."""
"""Bytes of a document; a larger one is a table under a wrong name."""
BEGINNINGS = ((b"PAR1", "a parquet table"), (b"PK", "a zip"), (b"\x1f\x8b", "gzip"))
JQ = "write a row for each with `jq -r '{}[] | [{}] | @csv'`, and the headings {} above"
OTHERS = (
    (rb"PK\x03\x04[\s\S]{26,200}?(\[Content_Types\]|xl/|docProps/)",
     "a damaged Excel workbook, or a part of one: copy it again, or save its sheet as CSV"),
    (rb"PK\x03\x04[\s\S]{26,200}?mimetype", "a LibreOffice document without a sheet of a table"),
    (rb"PK", "a zip archive: unpack it and name the file in it"),
    (rb"%PDF", "a PDF document: no table can be read from it"),
    (rb"SQLite format 3",
     "an SQLite database: `sqlite3 -header -csv FILE 'SELECT ...' > jobs.csv`"),
    (rb"\s*(--[^\n]*\n\s*)*(SET |DROP TABLE|CREATE TABLE|INSERT INTO)"
     rb"|-- (MySQL|MariaDB|PostgreSQL)",
     "an SQL dump: let the database write the table as CSV"),
    (rb"Job Id: ", "qstat -f as text: `qstat -x -f -F json` writes what is read"),
    (rb'\s*Accounting information about jobs|\s*Job <\d+>|"JOB_(NEW|START|FINISH)" ',
     "LSF's bacct or lsb.acct: `bjobs -a -json -o ...` writes what is read, as "
     "docs/guide/measure.md has it"),
    (rb"\s*<[?!a-zA-Z]", "XML or HTML: save its table as CSV"),
    (rb"\s*=+ Serving Benchmark Result =+",
     "what a benchmark of vLLM or SGLang prints: its --save-result or --output-file is read"),
    (rb'\s*\{\s*"\w+"\s*:\s*\{\s*"unit"\s*:[^{}]*\}\s*,[\s\S]*"inter_token_latency"',
     "GenAI-Perf's JSON: the CSV that it writes beside it is read (profile_export_genai_perf.csv)"),
    (rb'\s*\{\s*"apiVersion"', "a list of Kubernetes objects: " + JQ.format(
        ".items", ".metadata.name, .status.startTime, .status.completionTime",
        "job_id,start,end")),
    (rb'\s*\{\s*"jobs"\s*:\s*\[\s*\{\s*"jobArn"', "AWS Batch's describe-jobs: " + JQ.format(
        ".jobs", ".jobId, .status, .createdAt, .startedAt, .stoppedAt",
        "job_id,state,submit,start,end")),
)  # fmt: skip
"""How files begin that hold a table in a form that is not read, and what to do."""
UNREADABLE = (
    OSError, ValueError, KeyError, RecursionError, RuntimeError, NotImplementedError, EOFError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def other_kind(path: str | Path, expected: str, why: object = "") -> FileKindError:
    """The error about a file that is not what was expected: it names both.

    Parameters
    ----------
    path
        A file that exists.
    expected
        What the caller reads, as "TOML".
    why
        What its parser found wrong, if one was tried.
    """
    problem = f"expected {expected}, got {describe_file(path)}"
    return FileKindError(str(path), [f"{problem}: {why}"[:400] if why else problem])


def kind_in(path: str | Path) -> str | None:
    """The kind that the file of a saved model names, contents unchecked; None where it is none."""
    if not Path(path).is_file():  # a pipe waits and a device has no end
        return None
    try:
        with Path(path).open("rb") as file:
            if file.read(1) == b"{":
                header = json.loads(weighed(b"{" + _few(file)))
            else:
                with zipfile.ZipFile(file) as members, members.open(HEADER) as inner:
                    header = json.loads(weighed(_few(inner)))
    except UNREADABLE:
        return None
    ours = isinstance(header, dict) and header.get("format") == FORMAT
    return str(header.get("kind")) if ours else None


def _few(file: IO[bytes]) -> bytes:
    """What is left in a file, if it is no more than a model as text or a header may be."""
    data = file.read(MOST_B + 1)
    if len(data) > MOST_B:
        raise ValueError("larger than any model as text")
    return data


def weighed(text: str | bytes) -> str | bytes:
    """JSON, if what it makes fits into memory: a ValueError where it is all brackets and commas.

    >>> weighed("[" * 50_000_000)
    Traceback (most recent call last):
    ...
    ValueError: its 50,000,000 parts would take more than 2,048 MiB of memory
    """
    signs = ("{", "[", ",") if isinstance(text, str) else (b"{", b"[", b",")
    counts = [text.count(s) for s in signs]  # type: ignore[arg-type]
    if sum(n * size for n, size in zip(counts, OBJECT_B, strict=True)) > MOST_OBJECTS_B:
        raise ValueError(f"its {sum(counts):,} parts would take more than "
                         f"{MOST_OBJECTS_B >> 20:,} MiB of memory")  # fmt: skip
    return text


def describe_file(path: str | Path) -> str:
    """What a file looks like, in words.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "x"
    >>> _ = file.write_text('{"schema": "rheostat.plan/1"}')
    >>> describe_file(file)
    'a rheostat.plan/1 document (JSON)'
    >>> _ = file.write_text("app,nodes")
    >>> describe_file(file)
    "text that begins with 'app,nodes'"
    >>> describe_file(file.parent), describe_file(file.parent / "y")
    ('a folder with x', 'nothing there')
    """
    if not Path(path).is_file():
        return _no_file(Path(path))
    if (kind := kind_in(path)) is not None:
        return f"a saved model of kind {kind}"
    with Path(path).open("rb") as file:
        start = file.read(LOOKED_AT_B)
    return next((words for begin, words in BEGINNINGS if start.startswith(begin)), "") or _text(
        start
    )


def remedy(start: bytes) -> str:
    """What a file that begins so is and what to do about it; "" where nothing is known.

    >>> remedy(b"-- MySQL dump 10.13"), remedy(b"nodes,time")
    ('an SQL dump: let the database write the table as CSV', '')
    """
    return next((words for begin, words in OTHERS if re.match(begin, start)), "")


def _text(start: bytes) -> str:
    try:
        text = start.decode(errors="strict" if len(start) < LOOKED_AT_B else "ignore").lstrip()
    except UnicodeDecodeError:
        return "binary data"
    line = text.partition("\n")[0]
    if line[:1] == "{":
        return _json(line if line.rstrip().endswith("}") else text)
    if line[:1] == "<" and "html" in line[:200].lower():
        return "an HTML page"
    return f"text that begins with {line[:40]!r}" if "\0" not in text else "binary data"


def _no_file(path: Path) -> str:
    if not path.is_dir():
        return "a pipe or a device" if path.exists() else "nothing there"
    names = sorted(p.name for p in path.iterdir())
    return f"a folder with {', '.join(names[:3]) or 'nothing in it'}"


def _json(text: str) -> str:
    try:
        values: Any = json.loads(text)
    except (ValueError, RecursionError):
        return "JSON that is damaged or very long"
    if isinstance(values.get("schema"), str):
        return f"a {values['schema']} document (JSON)"
    return f"JSON with {', '.join(list(values)[:3]) or 'nothing'}"
