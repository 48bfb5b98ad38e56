"""Work of a run by valgrind: instructions, data references, misses; the same under any load."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from rheostat.measurement.code.costs.flops import flops_of
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.sandboxed.capture import SandboxLimits
from rheostat.measurement.code.workbench import Built, Workbench, roomy

CACHES = ("--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64")
"""Fixed, so that counts do not depend on the machine."""
WRAPPER = ("valgrind", "--tool=cachegrind", "--cache-sim=yes", *CACHES,
           "--cachegrind-out-file=/dev/null")  # fmt: skip
PROFILE = "profile"
EACH_INSTRUCTION = (
    "valgrind", "--tool=callgrind", "--cache-sim=yes", *CACHES, "--dump-instr=yes",
    "--dump-line=no", "--compress-pos=no", "--compress-strings=no",
    f"--callgrind-out-file=%q{{XDG_CACHE_HOME}}/{PROFILE}",
)  # fmt: skip
BY_FILE = ("valgrind", "--tool=cachegrind", "--cache-sim=no",
           f"--cachegrind-out-file=%q{{XDG_CACHE_HOME}}/{PROFILE}")  # fmt: skip
MOST_PROFILE_B = 2**24
SLOWER = 100.0


@dataclass(frozen=True)
class WorkCounts:
    """Counts of one run, all processes and threads together; operations by `count_flops` alone."""

    instructions: float
    data_references: float
    level1_misses: float
    last_level_misses: float
    scalar_flops: float = 0.0
    vector_flops: float = 0.0


def count_work(
    bench: Workbench, built: Built, given: ProgramInput, limits: SandboxLimits
) -> WorkCounts | str:
    """The counts of a build on an input with one thread, or why there are none."""
    run = bench.run(built, given, limits=roomy(limits, SLOWER), wrapper=WRAPPER)
    if not run.ok:
        return f"under cachegrind the program {run.ending}"
    return counts_in(run.stderr) or "cachegrind printed no counts"


def count_flops(
    bench: Workbench, built: Built, given: ProgramInput, limits: SandboxLimits
) -> WorkCounts | str:
    """The same with floating-point operations by the width of their instructions."""
    with bench.run_folder("profile") as place:
        run = bench.run(built, given, limits=roomy(limits, SLOWER), wrapper=EACH_INSTRUCTION,
                        kept=place)  # fmt: skip
        counts = counts_in(run.stderr) if run.ok else None
        if counts is None:
            return f"under callgrind the program {run.ending if not run.ok else 'had no counts'}"
        profile = _text(place / PROFILE)
    name = PurePosixPath(built.binary).name
    scalar, vector = flops_of(profile, bench.code(built), name)
    return replace(counts, scalar_flops=scalar, vector_flops=vector)


def own_instructions(
    bench: Workbench, built: Built, given: ProgramInput, limits: SandboxLimits
) -> float:
    """Instructions of a program's own files alone, without those of libraries; 0 if unknown."""
    with bench.run_folder("profile") as place:
        bench.run(built, given, limits=roomy(limits, SLOWER), wrapper=BY_FILE, kept=place)
        return instructions_in(_text(place / PROFILE), set(built.program.files))


def instructions_in(profile: str, files: Collection[str]) -> float:
    r"""Instructions that stand below some of a profile's files.

    >>> instructions_in("fl=/w/a.c\nfn=main\n3 10\n4 20\nfl=???\nfn=sin\n0 900\n", {"a.c"})
    30.0
    """
    own, total = False, 0.0
    for line in profile.splitlines():
        key, _, said = line.partition("=")
        if key in ("fl", "fi", "fe"):
            own = any(said == name or said.endswith(f"/{name}") for name in files)
        elif own and (numbers := line.split())[1:] and line[0].isdigit():
            total += float(numbers[1])
    return total


def _text(path: Path) -> str:
    """What a run has left; nothing where that is no plain file."""
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open("rb") as file:
        return file.read(MOST_PROFILE_B).decode("utf-8", "replace")


def counts_in(text: str) -> WorkCounts | None:
    r"""The counts that cachegrind prints at its end.

    >>> counts_in("I refs: 1,200\nD refs: 500 (1 rd)\nD1 misses: 7\nLL misses: 3\n").instructions
    1200.0
    """
    totals = []
    for name in (r"I\s+refs", r"D\s+refs", r"D1\s+misses", r"LL\s+misses"):
        m = re.search(rf"\b{name}:\s+([\d,]+)", text)
        if m is None:
            return None
        totals.append(float(m[1].replace(",", "")))
    return WorkCounts(*totals)
