"""This package's own runtimes as objects, compiled once for all that they are linked to."""

from __future__ import annotations

from rheostat.measurement.code.bundled import bundled, with_included
from rheostat.measurement.code.programs.program import KERNELS, Program
from rheostat.measurement.code.toolchain import BuildKind

KIND = BuildKind("object", "clang", ("-c", "-fopenmp"), "-O1")
"""Fast also where the program that it is linked to is not."""
CUDA = "cuda_on_host"
OF_CUDA = BuildKind("object of CUDA", "gcc", ("-c", "-fno-omit-frame-pointer"))
"""Of what CUDA programs have alike; also where clang is not installed."""
OF_KERNELS = ("opencl_builtins",)
FUNCTIONS = BuildKind(
    "functions of kernels", "clang",
    ("-c", "-w", "-cl-no-stdinc", "-include", "opencl-c-base.h", "-ffunction-sections"), "-O0",
)  # fmt: skip
"""Of OpenCL C, whose functions none may be known beforehand; soon compiled."""


def runtime(name: str) -> tuple[Program, BuildKind]:
    """The source of a runtime by its name, as ``lock_sets``, and how it is built."""
    if name in OF_KERNELS:
        text = bundled("runtimes", f"{name}.cl")
        return Program({f"{KERNELS}.cl": text}, flags=(), is_ours=True), FUNCTIONS
    if name == CUDA:
        return Program(with_included(f"{CUDA}.cc"), is_ours=True), OF_CUDA
    return Program(with_included(f"{name}.c"), is_ours=True), KIND
