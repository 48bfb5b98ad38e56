"""Tables of training runs in the names of whoever wrote them, given ours.

``Network``, ``GPU type``, ``step_ms`` or ``mem_GB`` are ``app``, ``device``, ``runtime_s`` and
``memory_peak_b``: names are matched without their unit, which `read_runs` brings to SI.  What one
step took may be stated otherwise, as images per second or by the pass over the data; `completed`
makes it from that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from rheostat.core.jobs import JobTable, Note
from rheostat.measurement.runs.header_units import split_unit
from rheostat.measurement.runs.mapping import load_mapping
from rheostat.measurement.runs.reader import read_runs, table_frame
from rheostat.measurement.speeds import speeds_in
from rheostat.measurement.training_columns import COLUMNS
from rheostat.measurement.training_runs.complete import BATCH_HERE, FIT, RATE, completed

OURS = {c.name: c for c in COLUMNS}
_STEP = "(train(ing)?_)?(step|iter|iteration|batch|minibatch|update)"
_COUNT = "(num(ber)?_|n_|no_|count_)*(of_)?"
THEIRS = {
    "app": r"(model|net|network|architecture|arch|dnn|cnn)(_?name)?",
    "device": r"(gpu|accelerator|hardware|chip|device|card)(_?(type|model|name))?",
    "batch_size": r"(global_|total_|effective_|train_)?(batch|batch_?size|bs)",
    BATCH_HERE: r"(batch|batch_?size|bs)_per_(gpu|device|worker|rank)"
                r"|(per_(gpu|device|worker|rank)|local)_(batch|batch_?size|bs)",
    "gpus": rf"{_COUNT}(gpus?|devices|accelerators|workers|cards)(_count)?|gpu_count|world_size",
    "image_px": r"(img|image|input)_?(size|px|res|resolution|dim)|resolution",
    "classes": rf"{_COUNT}class(es)?",
    "optimizer": r"optimi[sz]er(_name)?|optim",
    "precision_bits": r"precision|dtype|bits|data_?type|amp|mixed_precision",
    "samples": r"(data_?set|train(ing)?_?set)_?(size|samples|images)?"
               rf"|{_COUNT}(train(ing)?_)?(samples|images|examples)|(samples|images)_per_epoch",
    "runtime_s": rf"{_STEP}(_?(time|duration|latency))?_s|{_STEP}_?(time|duration|latency)"
                 rf"|(time|duration)_per_{_STEP}(_s)?|latency_s"
                 rf"|(?P<each>s|secs?|seconds?|ms|msecs?|milliseconds?|us)_per_{_STEP}"
                 rf"|(?P<rate>(steps?|its?|iters?|iterations?|batches)_per_(s|sec|second))",
    RATE: r"(throughput_)?(images?|imgs?|samples?|examples?)(_per)?_(s|sec|secs|second)"
          r"(_throughput)?|throughput",
    "epoch_s": r"(train(ing)?_)?epoch_?(time|duration)?_s|(train(ing)?_)?epoch_?(time|duration)"
               r"|time_per_epoch(_s)?|(s|sec|seconds)_per_epoch",
    FIT: r"(total_|whole_)?(train(ing)?|fit)_?(time|duration)(_s)?|time_to_train(_s)?",
    "memory_peak_b": r"((peak|max)_?)?((gpu|device|cuda)_?)?(v?ram|mem(ory)?)"
                     r"(_?(peak|used|usage|max|allocated|reserved))?"
                     r"(_?(?P<unit>b|bytes|mb|mib|gb|gib))?",
}  # fmt: skip
BYTES = {"b": 1.0, "bytes": 1.0, "mb": 1e6, "mib": 2.0**20, "gb": 1e9, "gib": 2.0**30}
INSTEAD = {BATCH_HERE: "batch_size", RATE: "runtime_s", FIT: "runtime_s"}
"""What is looked for only where there is no column of the other."""
TEXT = ("app", "device", "optimizer")
ANY = ("precision_bits", "memory_peak_b", "image_px", "runtime_s", "epoch_s", FIT)
"""Columns that may be text or numbers; what is in neither is numbers alone."""


def read_training(
    path: str | Path, *, map: str | Path | Mapping[str, Any] | None = None,
    columns: Mapping[str, Any] | None = None,
) -> JobTable:  # fmt: skip
    """Training runs under our names where theirs are plain; a note says which were taken.

    Parameters
    ----------
    path : path
        CSV, parquet or JSON rows.
    map, columns
        As `read_runs` takes them; they go before what the names say.

    Returns
    -------
    JobTable
        A row per run: ``runtime_s`` is one step, ``memory_peak_b`` its memory where it is there.

    Raises
    ------
    DataError
        Nothing in it says how long a step took, though rows were run.
    """
    frame, _ = table_frame(path)
    given = load_mapping(map).columns if isinstance(map, (str, Path)) else (map or {})
    stated = {**given, **(columns or {})}
    taken, notes = plain_names(frame, stated)
    speed = None if {"runtime_s", RATE} & {*taken, *stated, *frame.columns} else _speed(frame)
    if speed is not None:
        taken[RATE] = {"from": speed.theirs}
        notes.append(Note(f"taken as: {speed.words}"))
    each = taken.pop(BATCH_HERE, None)
    sources = {**taken, **({"batch_size": each} if each else {}), **(columns or {})}
    jobs = read_runs(path, map=map, columns=sources)
    if speed is not None:
        said = tuple(n for n in jobs.notes if not n.message.startswith(f"{speed.theirs}: "))
        jobs = replace(jobs.with_columns([OURS[speed.name]] if speed.name in OURS else [],
                                         **{speed.name: speed.values}), notes=said)  # fmt: skip
    jobs = jobs.with_columns([OURS[c] for c in jobs.columns if c in OURS])
    return completed(jobs, taken, batch_of_each=each is not None).noted(*notes)


@dataclass(frozen=True)
class Speed:
    """What a column of speeds tells: the time of a step, or samples per second."""

    name: str
    theirs: str
    values: pl.Series
    words: str


def _speed(frame: pl.DataFrame) -> Speed | None:
    """The one column whose cells are speeds, as tqdm prints them; None without one, or of two."""
    known = {c: s for c, s in speeds_in(frame).items() if s[1] in ("iteration", "sample")}
    if len(known) != 1:
        return None
    ((theirs, (seconds, piece)),) = known.items()
    if piece == "sample":
        return Speed(RATE, theirs, 1 / seconds, f"samples per second = {theirs}")
    return Speed("runtime_s", theirs, seconds, f"runtime_s = the time of a step, from {theirs}")


def plain_names(
    frame: pl.DataFrame, stated: Mapping[str, Any]
) -> tuple[dict[str, dict[str, Any]], list[Note]]:
    """Their column for each of ours that none has, as `read_runs` takes it, and notes.

    >>> runs = pl.DataFrame({"GPU type": ["T4"], "#GPUs": [2], "ms/step": [80], "mem [GiB]": [2]})
    >>> taken, notes = plain_names(runs, {})
    >>> taken["runtime_s"], taken["memory_peak_b"]["scale"]
    ({'from': 'ms/step', 'scale': 0.001, 'inverse': False}, 1073741824.0)
    >>> notes[0].message
    'taken as: device = GPU type, gpus = #GPUs, runtime_s = ms/step, memory_peak_b = mem [GiB]'
    """
    taken: dict[str, dict[str, Any]] = {}
    notes = []
    there = {*frame.columns, *stated}
    for ours in (o for o in THEIRS if not {o, INSTEAD.get(o)} & {*there, *taken}):
        fits = {c: s for c in frame.columns if c not in OURS and (s := _source(frame, ours, c))}
        if len(fits) == 1:
            taken[ours] = next(iter(fits.values()))
        elif fits:
            either = " or ".join(fits)
            notes.append(Note(f"{ours} may be {either}: say which, as --column {ours}=NAME"))
    if taken:
        words = ", ".join(f"{ours} = {s['from']}" for ours, s in taken.items())
        notes.insert(0, Note(f"taken as: {words}"))
    return taken, notes


def _source(frame: pl.DataFrame, ours: str, theirs: str) -> dict[str, Any] | None:
    """How ours is made from a column of theirs whose name fits."""
    stem, suffix, _, scale = split_unit(theirs)
    words = stem.lower().replace("#", " num ").replace("/", " per ") + suffix
    match = re.fullmatch(THEIRS[ours], re.sub(r"\W+|_+", "_", words).strip("_"))
    text = frame[theirs].dtype == pl.String
    if match is None or (ours not in ANY and text != (ours in TEXT)):
        return None
    said = match.groupdict()
    if each := said.get("each"):
        scale = 1e-6 if each == "us" else 1e-3 if each.startswith(("ms", "milli")) else 1.0
    if unit := said.get("unit"):
        scale *= BYTES[unit]
    return {"from": theirs, "scale": scale, "inverse": said.get("rate") is not None}
