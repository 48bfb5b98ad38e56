"""Columns of RAPL's energies: ``Package, Core(s), GPU`` are parts of a processor, no counts.

What the cores and an integrated GPU take is part of the package; memory comes on top of it.  A GPU
that takes more than the package in some run is no part of it, and comes on top, too.
"""

from __future__ import annotations

import re

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.runs.guess import guess_name
from rheostat.measurement.runs.header_units import split_unit

DOMAINS = {"package": r"(package|pkg)\d*", "core": r"(cores?|pp0)\d*",
           "uncore": r"(uncore|i?gpu|pp1)\d*", "dram": r"d?ram\d*"}  # fmt: skip
"""What columns of RAPL's energies are named; a number behind is that of a socket."""
TOTAL = ("package", "dram")
PLAUSIBLE_W = (0.3, 3000.0)
"""Mean power of a processor package."""
Domains = dict[str, list[str]]


def domains(frame: pl.DataFrame) -> Domains:
    """Columns of RAPL's energies by domain; none where they may be counts, or energy stands apart.

    >>> domains(pl.DataFrame({"Package": [2.5], "Core(s)": [1.1], "Time(sec)": [0.1]}))
    {'package': ['Package'], 'core': ['Core(s)']}
    >>> domains(pl.DataFrame({"PKG0 (J)": [25], "PKG1 (J)": [21], "PP0_0 (J)": [11]}))
    {'package': ['PKG0 (J)', 'PKG1 (J)'], 'core': ['PP0_0 (J)']}
    >>> domains(pl.DataFrame({"package": [2], "cores": [16], "Time(sec)": [0.1]}))
    {}
    """
    own: Domains = {}
    for column in (c for c in frame.columns if frame[c].dtype.is_numeric()):
        stem, suffix, _, _ = split_unit(column)
        words = [re.sub(r"[^a-z0-9]", "", column.lower()), re.sub(r"[\W_]", "", stem.lower())]
        for domain, pattern in DOMAINS.items():
            said = words[suffix == "_j"].replace("energy", "")
            if re.fullmatch(pattern, said):
                own.setdefault(domain, []).append(column)
    if "energy_j" in map(guess_name, frame.columns) or not {"core", "dram"} & set(own):
        return {}
    packages = own.get("package", [])
    sure = [split_unit(c)[1] == "_j" or (frame[c].drop_nulls() % 1 != 0).any() for c in packages]
    return own if sure and all(sure) else {}


def as_energies(frame: pl.DataFrame, own: Domains) -> tuple[pl.DataFrame, list[Note]]:
    """Energies of the processor's parts under such names, and what package and memory took.

    >>> runs = pl.DataFrame({"time_s": [2.0], "PKG (J)": [50.0], "PP0 (J)": [41.0], "DRAM": [3.0]})
    >>> as_energies(runs, domains(runs))[0].columns
    ['time_s', 'package_energy_J', 'core_energy_J', 'dram_energy_J', 'energy_J']
    """
    every = [c for columns in own.values() for c in columns]
    counted = [c for d in TOTAL for c in own.get(d, [])]
    counted += [c for c in own.get("uncore", []) if _apart(frame, c, own["package"])]
    known = _as_joules(frame, own["package"], counted)
    unit = "_J" if known else ""
    named = {
        c: f"{domain}{i if len(columns) > 1 else ''}_energy{unit}"
        for domain, columns in own.items()
        for i, c in enumerate(columns)
    }
    if not known:
        said = f"{', '.join(every)}: energies of RAPL of what unit, over times of what unit? no "
        said += f"processor draws so many J in a s: write them, as {own['package'][0]}_J"
        return frame.rename(named), [Note(said)]
    joules = frame.with_columns(pl.col(c) * split_unit(c)[3] for c in every if _said(c))
    total = pl.sum_horizontal(pl.col(c).cast(pl.Float64) for c in counted)
    said = f"{', '.join(every)}: taken as energies of RAPL; energy is {' + '.join(counted)}"
    return joules.with_columns(energy_J=total).rename(named), [Note(said)]


def _apart(frame: pl.DataFrame, gpu: str, packages: list[str]) -> bool:
    """Whether a GPU takes more than the packages somewhere, so that it is no part of them.

    >>> runs = pl.DataFrame({"gpu_j": [9.0, 8.0], "package_j": [8.5, 9.0]})
    >>> _apart(runs, "gpu_j", ["package_j"]), _apart(runs[:1], "package_j", ["gpu_j"])
    (True, False)
    """
    total = pl.sum_horizontal(pl.col(c).cast(pl.Float64) for c in packages)
    return bool((frame[gpu] > 1.01 * frame.select(total).to_series()).any())


def _said(column: str) -> bool:
    return split_unit(column)[1] == "_j"


def _as_joules(frame: pl.DataFrame, packages: list[str], counted: list[str]) -> bool:
    """Whether their unit is said, or what a processor draws follows where they are joules."""
    if _said(packages[0]):
        return True
    times = [c for c in frame.columns if guess_name(c) == "runtime_s"]
    if len(times) != 1 or not frame[times[0]].dtype.is_numeric():
        return False
    total = frame.select(pl.sum_horizontal(counted)).to_series() / len(packages)
    power = (total / (frame[times[0]] * split_unit(times[0])[3])).median()
    return isinstance(power, float) and PLAUSIBLE_W[0] < power < PLAUSIBLE_W[1]
