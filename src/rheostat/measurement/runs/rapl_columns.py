"""Columns of RAPL's energies: ``Package, Core(s), GPU`` are parts of a processor, no counts."""

from __future__ import annotations

import re

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.runs.guess import guess_name
from rheostat.measurement.runs.header_units import split_unit

DOMAINS = {"package": ("package", "pkg", "package0", "pkg0"), "core": ("core", "cores", "pp0"),
           "uncore": ("uncore", "gpu", "igpu", "pp1"), "dram": ("dram", "ram")}  # fmt: skip
"""What columns of RAPL's energies are named."""
PLAUSIBLE_W = (0.3, 3000.0)
"""Mean power of a processor package."""


def domains(frame: pl.DataFrame) -> dict[str, str]:
    """Columns of RAPL's energies by domain; none where they may be counts, or energy stands apart.

    >>> domains(pl.DataFrame({"Package": [2.5], "Core(s)": [1.1], "Time(sec)": [0.1]}))
    {'package': 'Package', 'core': 'Core(s)'}
    >>> domains(pl.DataFrame({"package": [2], "cores": [16], "Time(sec)": [0.1]}))
    {}
    """
    own: dict[str, str] = {}
    for column in (c for c in frame.columns if frame[c].dtype.is_numeric()):
        stem, suffix, _, _ = split_unit(column)
        for said in (column, stem if suffix == "_j" else ""):
            word = re.sub(r"[^a-z0-9]", "", said.lower()).replace("energy", "")
            for domain in (d for d, names in DOMAINS.items() if word in names):
                own.setdefault(domain, column)
    whole = "package" not in own or (frame[own["package"]].drop_nulls() % 1 == 0).all()
    if whole or not {"core", "dram"} & set(own) or "energy_j" in map(guess_name, frame.columns):
        return {}
    return own


def as_energies(frame: pl.DataFrame, own: dict[str, str]) -> tuple[pl.DataFrame, list[Note]]:
    """Energies of the processor's parts under such names, and what package and memory took."""
    columns = ", ".join(own.values())
    counted = [own[d] for d in ("package", "dram") if d in own]
    known = _as_joules(frame, own["package"], counted)
    named = {c: f"{d}_energy{'_J' if known else ''}" for d, c in own.items()}
    if not known:
        said = f"{columns}: energies of RAPL of what unit, over times of what unit? as J and s, no "
        said += f"processor draws so much or so little: write them, as {own['package']}_J"
        return frame.rename(named), [Note(said)]
    total = pl.sum_horizontal(pl.col(c).cast(pl.Float64) for c in counted)
    said = f"{columns}: taken as joules of RAPL; energy is {' + '.join(counted)}"
    return frame.with_columns(energy_J=total).rename(named), [Note(said)]


def _as_joules(frame: pl.DataFrame, package: str, counted: list[str]) -> bool:
    """Whether their unit is said, or what a processor draws follows where they are joules."""
    if split_unit(package)[1] == "_j":
        return True
    times = [c for c in frame.columns if guess_name(c) == "runtime_s"]
    if len(times) != 1 or not frame[times[0]].dtype.is_numeric():
        return False
    total = frame.select(pl.sum_horizontal(counted)).to_series()
    power = (total / (frame[times[0]] * split_unit(times[0])[3])).median()
    return isinstance(power, float) and PLAUSIBLE_W[0] < power < PLAUSIBLE_W[1]
