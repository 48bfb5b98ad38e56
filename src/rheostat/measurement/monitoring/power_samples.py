"""Watts written down again and again: nvidia-smi, its dmon, or a table of a clock and watts.

A row of such a file is a sample, no run.  Each device becomes one row: how long it was watched, the
integral of its watts over that time, and their mean over time.  A meter that counts energy on has
what it grew by.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment, Note
from rheostat.core.outcome import Array
from rheostat.errors import DataError
from rheostat.measurement.checks import ROW, as_jobs
from rheostat.measurement.monitoring.counted_once import counted_once, named_totals
from rheostat.measurement.monitoring.glitches import without_glitches, without_sums
from rheostat.measurement.monitoring.integrate import counter_energy, gauge_energy
from rheostat.measurement.monitoring.sample_lines import (
    DATED,
    PowerSamples,
    looks_sampled,
    looks_side_by_side,
    samples_in,
)
from rheostat.measurement.monitoring.stuck_meters import stuck_meters

GAPS = 5.0
"""Samples further apart than so many usual steps have nothing known between them."""
LEAST_COVERED = 0.8
COARSE, STANDING = 0.02, 0.2
"""Share of a counter's growth that one of its steps is at most, and of readings that are as the one
before where its steps are seen."""
STRAIGHT = "a straight line over the gap stands for them"
INTEGRAL = "energy_j is the integral of power over time (trapezoids), power_w energy over time"
GROWTH = "energy_j is its growth; energies of an interval each would be to sum"
ASIDE = ("step_s", "step_j", "covered", "covered_j", "bridged_j")
"""What notes are made of, and no table has."""
TOGETHER = " together: "
COLUMNS = (
    Column("device", "", Moment.SUBMIT, "what was watched"),
    Column("gpu_model", "", Moment.SUBMIT, "its name"),
    Column("samples", "", Moment.END, "readings of power"),
    Column("utilisation_mean", "", Moment.END, "mean share of time in use"),
    Column("frequency_mean_hz", "Hz", Moment.END, "mean clock"),
)


def read_power_samples(
    path: str | Path, *, zone: str = "", columns: Mapping[str, str] | None = None
) -> JobTable:
    """Read samples of power: energy is their integral over time, a row for each device.

    Parameters
    ----------
    path : path
        ``nvidia-smi --query-gpu=timestamp,index,power.draw --format=csv -l 1``, ``nvidia-smi dmon``
        (``-s p``, with ``-o DT`` for its times), ``dcgmi dmon``, or a table of a clock and watts:
        a column for each node or series, as Grafana exports it, too.  What ``ipmitool dcmi power
        reading`` printed again and again, also of several nodes by ``pdsh``.  Or a clock beside the
        energy that a meter counts on (``total_Wh``).
    zone : str
        Of its clock, where that has none: ``Europe/Paris``; else it is taken as UTC.

    columns : mapping
        The columns of watts, where headings do not say so: ``{"power_w": "node01+node02"}``.

    Returns
    -------
    JobTable
        ``runtime_s`` from the first to the last sample, ``energy_j``, mean ``power_w``, and
        ``power_max_w``.

    Raises
    ------
    DataError
        No device has two samples of power with their times.
    """
    samples = _drawn(samples_in(path, zone, _named(path, columns or {})))
    rows = [row for part in samples.frame.partition_by("device", maintain_order=True)
            if (row := _device(part, counts=bool(samples.counters)))]  # fmt: skip
    if not rows:
        raise DataError(str(path), ["expected two samples of power with their times, got fewer"])
    frame = pl.DataFrame(rows, infer_schema_length=None).with_row_index(ROW)
    known = [c for c in frame.columns if frame[c].null_count() < frame.height]
    notes = (*samples.notes, *_notes(frame, samples))
    return as_jobs(
        frame.select(known).drop("step_s", "step_j", "covered", "covered_j", "bridged_j"),
        COLUMNS,
        notes,
    )


def _drawn(samples: PowerSamples) -> PowerSamples:
    """Samples without readings that nothing drew and series that add up others, and notes."""
    if samples.counters:
        return samples
    frame, sums, adds = without_sums(samples.frame)
    frame, glitches = without_glitches(frame)
    return replace(
        samples,
        frame=frame,
        notes=(*samples.notes, *sums, *glitches, *stuck_meters(frame)),
        parts_add=samples.parts_add and adds,
    )


def _named(path: str | Path, columns: Mapping[str, str]) -> list[str]:
    """Their columns of watts; an error about any other column."""
    if other := [c for c in columns if c != "power_w"]:
        said = f"samples have power_w alone, got --column {other[0]}=...: a row is no run"
        raise DataError(str(path), [said])
    return [c.strip() for c in columns.get("power_w", "").split("+") if c.strip()]


def _device(part: pl.DataFrame, *, counts: bool) -> dict[str, object] | None:
    """A device's row; None with fewer than two samples."""
    held = part.drop_nulls(["t", "reading"]).unique("t", maintain_order=True).sort("t")
    if held.height < 2:
        return None
    t, reading = held["t"].to_numpy(), held["reading"].to_numpy()
    usual = float(np.median(np.diff(t)))
    energy = counter_energy if counts else gauge_energy
    known = energy(t, reading, t[0], t[-1], GAPS * usual)
    watts = np.diff(reading) / np.diff(t) if counts else reading
    seconds, covered = float(t[-1] - t[0]), known.covered_s / float(t[-1] - t[0])
    bridged_j = energy(t, reading, t[0], t[-1], np.inf).energy_j
    mean_j = known.energy_j / max(known.covered_s, 1e-9) * seconds
    energy_j = (mean_j if counts else bridged_j) if covered >= LEAST_COVERED else None
    return {
        "device": held["device"][0], "gpu_model": held["model"][0],
        "gpus": 1 if held["gpu"][0] else None, "samples": held.height,
        "start_s": t[0] if t[0] > DATED else None, "end_s": t[-1] if t[0] > DATED else None,
        "runtime_s": seconds, "energy_j": energy_j,
        "power_w": None if energy_j is None else energy_j / seconds,
        "power_max_w": float(watts.max()),
        "utilisation_mean": _mean(t, held["busy"].to_numpy()),
        "frequency_mean_hz": _mean(t, held["hz"].to_numpy()),
        "step_s": usual, "covered": covered, "covered_j": known.energy_j,
        "bridged_j": bridged_j, "step_j": _counted_by(reading) if counts else 0.0,
    }  # fmt: skip


def _counted_by(reading: Array) -> float:
    """The joules by which a counter goes on where readings show that; else 0.

    >>> [_counted_by(np.array(joules)) for joules in ([0.0, 0.0, 4e5, 4e5, 8e5], [0.0, 5.0, 9.0])]
    [400000.0, 0.0]
    """
    grown = np.diff(reading)
    seen = (grown == 0).mean() >= STANDING and (grown > 0).any()
    return float(grown[grown > 0].min()) if seen else 0.0


def _mean(t: Array, values: Array) -> float | None:
    """The mean over time, by the trapezoid, of samples that are all known."""
    whole = np.isfinite(values).all()
    return float(np.trapezoid(values, t) / (t[-1] - t[0])) if whole else None


def _notes(rows: pl.DataFrame, samples: PowerSamples) -> Iterator[Note]:
    ours = "a GPU" if rows["gpus"].null_count() == 0 else "a device"
    count, step_s = int(rows["samples"].sum()), float(rows["step_s"].to_numpy().mean())
    kind, taken = ("samples of power", INTEGRAL) if not samples.counters else (
        f"readings of a counter ({', '.join(samples.counters)})", GROWTH)  # fmt: skip
    yield Note(
        f"{count} {kind} about every {step_s:.3g} s, no jobs: a row is {ours} from its first "
        f"sample to its last, idle time included; {taken}"
    )
    each = rows.filter(pl.col("energy_j").is_not_null())
    if each.height:
        yield Note("; ".join(map(_taken, each.iter_rows(named=True))))
    if samples.parts_add and each.height == rows.height > 1:
        yield from _in_sum(rows)
    yield from named_totals(dict(rows.select("device", "power_w").iter_rows()))
    for row in rows.filter(pl.col("covered") < 1.0 - 1e-9).iter_rows(named=True):
        counts = ("a counter that counts on", "the mean stands for them")
        yield Note(_uncovered(row, *(counts if samples.counters else ("samples", STRAIGHT))))
    for row in rows.filter(pl.col("step_j") > COARSE * pl.col("energy_j")).iter_rows(named=True):
        off = f"{100 * row['step_j'] / row['energy_j']:.0f} %"
        said = f"{row['device']}: the counter goes on by {row['step_j']:.6g} J at a time"
        yield Note(f"{said}: its growth is off by up to one of these, {off}; watts are finer")
    known = samples.frame.drop_nulls(["t", "reading"])
    if again := known.height - count:
        said = "of one device at the moment of another: the first of a moment counts"
        yield Note(f"{again} {kind.split(' (')[0]} {said}", count=again)
    if lost := samples.frame.filter(pl.col("reading").is_null()).height:
        yield Note(f"{lost} samples without a reading: left out")


def _in_sum(rows: pl.DataFrame) -> Iterator[Note]:
    """What devices come to that contain nothing of each other."""
    counted, why = counted_once(rows["device"].to_list())
    each = rows.filter(pl.col("device").is_in(counted))
    begins = f"all {rows.height}" if not why else f"{each.height} of {rows.height}"
    if each.height > 1 or not why:
        joules, watts = float(each["energy_j"].sum()), float(each["power_w"].sum())
        said = f"{begins}{TOGETHER}{joules:.6g} J, {watts:.4g} W in the mean"
        yield Note(f"{said} ({why}: not added)" if why else said)


def _taken(row: Mapping[str, Any]) -> str:
    amounts = f"{row['energy_j']:.6g} J, {row['power_w']:.4g} W"
    return f"{row['device']}: {amounts} for {row['runtime_s']:.4g} s"


def _uncovered(row: Mapping[str, Any], lacking: str, stands: str) -> str:
    away = (1.0 - row["covered"]) * row["runtime_s"]
    said = f"{row['device']}: {away:.4g} s of {row['runtime_s']:.4g} s without {lacking}"
    if row["energy_j"] is not None:
        return f"{said}, {stands}"
    rest = row["runtime_s"] - away
    known = f"{row['covered_j']:.6g} J, {row['covered_j'] / rest:.4g} W in the other {rest:.4g} s"
    straight = f"{row['bridged_j']:.6g} J with a straight line over the gap"
    return f"{said}, its energy is not known: {known}; {straight}"


def is_power_samples(start: bytes) -> bool:
    """Whether a file begins as samples of power do."""
    return looks_sampled(start.decode("utf-8", "replace").splitlines())


def is_side_by_side(start: bytes) -> bool:
    """Whether a file begins as a clock beside columns of nodes or series, as Grafana exports."""
    return looks_side_by_side(start.decode("utf-8", "replace").splitlines())


def is_sampled(jobs: JobTable) -> bool:
    """Whether rows are devices that were watched, as this module makes them, and no jobs.

    >>> from rheostat import table
    >>> is_sampled(table({"runtime_s": [9.0]}))
    False
    """
    return {"device", "samples", "runtime_s", "power_max_w"} <= set(jobs.columns)


def together(jobs: JobTable) -> str:
    """What is noted of all devices together; "" where they do not add up."""
    begins = rf"(all|\d+ of) {len(jobs)}{TOGETHER}"
    return next((n.message for n in jobs.notes if re.match(begins, n.message)), "")
