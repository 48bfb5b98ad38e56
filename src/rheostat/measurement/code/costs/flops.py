"""Floating-point operations of a run, by the width of their instructions.

callgrind counts how often each instruction runs, objdump says what it is.  Only the program's own
code counts, not that of libraries, and only x86's SSE and AVX.
"""

from __future__ import annotations

import re

INSTRUCTION = re.compile(
    r"(?m)^\s*(?P<at>[0-9a-f]+):\s+v?(?P<what>fn?m(?:add|sub)(?:\d{3})?|add|sub|mul|div|sqrt|min|max)"
    r"(?P<packed>[sp])(?P<type>[sd])\s+(?P<values>\S+)"
)
RUNS = re.compile(r"0x([0-9a-f]+) (\d+)")
REGISTER_B = {"z": 64, "y": 32, "x": 16}
TYPE_B = {"s": 4, "d": 8}


def flops_of(profile: str, code: str, binary: str) -> tuple[float, float]:
    r"""Operations in instructions of one value, and in those of several.

    Parameters
    ----------
    profile : str
        Of callgrind, with ``--dump-instr=yes`` and no line numbers.
    code : str
        The binary as objdump shows it.
    binary : str
        Its name in the profile.

    Returns
    -------
    tuple
        A fused multiplication and addition is two operations.

    Examples
    --------
    >>> code = " 10:\tvfmadd231pd %ymm0,%ymm1,%ymm2\n 14:\tmulsd  %xmm0,%xmm1\n"
    >>> flops_of("ob=/sandbox/program\n0x10 5\n0x14 3 1\nob=/lib/m.so\n0x14 99", code, "program")
    (3.0, 40.0)
    """
    known = {int(m["at"], 16): _operations(m) for m in INSTRUCTION.finditer(code)}
    scalar = vector = 0.0
    own = inclusive = False
    for line in profile.splitlines():
        if line.startswith("ob="):
            own = line.rpartition("/")[2] == binary
        elif line.startswith("calls="):
            inclusive = True  # the next line is what the function that is called takes
        elif inclusive:
            inclusive = False
        elif own and (m := RUNS.match(line)):
            each = known.get(int(m[1], 16), 0)
            scalar += int(m[2]) * (each if each > 0 else 0)
            vector -= int(m[2]) * (each if each < 0 else 0)
    return scalar, vector


def _operations(instruction: re.Match[str]) -> int:
    """Operations of one run of it; below zero of an instruction that takes several values."""
    fused = 2 if instruction["what"].startswith("f") else 1
    if instruction["packed"] == "s":
        return fused
    register = re.search(r"%([xyz])mm", instruction["values"])
    return -fused * REGISTER_B[register[1] if register else "x"] // TYPE_B[instruction["type"]]
