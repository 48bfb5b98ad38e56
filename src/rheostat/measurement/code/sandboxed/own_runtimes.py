"""This package's own runtimes as objects, compiled once for all that they are linked to."""

from __future__ import annotations

from rheostat.measurement.code.bundled import bundled
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.toolchain import BuildKind

KIND = BuildKind("object", "clang", ("-c", "-fopenmp"), "-O1")
"""Fast also where the program that it is linked to is not."""


def runtime(name: str) -> Program:
    """The source of a runtime by its name, as ``lock_sets``."""
    file = f"{name}.c"
    return Program({file: bundled("runtimes", file)}, is_ours=True)
