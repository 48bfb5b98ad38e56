"""The project's own small kernels: serial, with OpenMP by hand, and some written carelessly.

Each is a C program of one file that takes n, steps and a seed and prints several numbers, so that
inputs can be hidden and no single checksum stands for the result.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from rheostat.errors import DataError
from rheostat.measurement.code.bundled import bundled
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs

FILE = "main.c"
FLAGS = ("-O2", "-lm")
VERSIONS = ("serial", "openmp", "naive", "target", "cuda", "opencl")
SEEDS = InputRange(1, 1e6, kind="seed")


@dataclass(frozen=True)
class SuiteKernel:
    """A kernel and the versions of it that there are.

    Parameters
    ----------
    name : str
        As its folder.
    meaning : str
        What it computes.
    n, steps : tuple of int
        Least and most of its two sizes.
    versions : tuple of str
        Of serial, openmp, naive, target, cuda and opencl.
    """

    name: str
    meaning: str
    n: tuple[int, int]
    steps: tuple[int, int]
    versions: tuple[str, ...]

    @property
    def inputs(self) -> ProgramInputs:
        """What its inputs are drawn from."""
        ranges = {"n": InputRange(*self.n), "steps": InputRange(*self.steps), "seed": SEEDS}
        return ProgramInputs(ranges, ("{n}", "{steps}", "{seed}"))

    def program(self, version: str = "serial") -> Program:
        """One version of it.

        Parameters
        ----------
        version : str
            One of ``versions``.

        Returns
        -------
        Program
            With its ranges of inputs.
        """
        if version not in self.versions:
            raise DataError(self.name, [f"expected {', '.join(self.versions)}, got {version!r}"])
        ending = {"cuda": "cu"}.get(version, "c")
        text = bundled("suite", self.name, f"{version}.{ending}")
        name = FILE if ending == "c" else f"main.{ending}"
        language = "serial" if version == "naive" else version
        return Program({name: text}, language, flags=FLAGS, inputs=self.inputs,
                       name=f"{self.name}/{version}")  # fmt: skip


def suite_kernels() -> dict[str, SuiteKernel]:
    """All kernels by name.

    Returns
    -------
    dict of str to SuiteKernel
        In order of their names.

    Examples
    --------
    >>> kernels = suite_kernels()
    >>> len(kernels) > 20, kernels["dot"].meaning
    (True, 'inner products of two vectors')
    """
    folder = files("rheostat.measurement.code") / "suite"
    listed = tomllib.loads((folder / "manifest.toml").read_text())
    return {name: _kernel(name, listed[name]) for name in sorted(listed)}


def _kernel(name: str, facts: dict[str, Any]) -> SuiteKernel:
    folder = files("rheostat.measurement.code") / "suite" / name
    there = {x.name.split(".")[0] for x in folder.iterdir()}
    versions = tuple(v for v in VERSIONS if v in there)
    (n, most_n), (steps, most_steps) = facts["n"], facts["steps"]
    return SuiteKernel(name, str(facts["meaning"]), (n, most_n), (steps, most_steps), versions)
