"""The same programs on data of few different values: what is taken among equals has to be the same.

Inputs that are drawn hold hardly ever two equal maxima, so that a reduction that takes any thread's
shows nothing.  Here original and candidate are built with the data made coarse: three bits are left
of whole numbers that become floats or come of them, and of what a shift or a remainder takes.  Only
a candidate that prints on one thread what the original prints then is asked for more threads.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

from rheostat.measurement.code.bundled import bundled
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.programs.expected import Expected
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.races.lock_sets import LOCKS, WAITING, gives_way, with_runtime
from rheostat.measurement.code.races.task_memory import RUNTIME as TASK_MEMORY
from rheostat.measurement.code.sandboxed.capture import SandboxRun
from rheostat.measurement.code.toolchain import BuildKind, object_file, quick_linker
from rheostat.measurement.code.verdict import Finding
from rheostat.measurement.code.workbench import roomy

HELPERS = "coarse_data.c"
PICKS = re.compile(
    r"\bcritical\b|\bdeclare\s+reduction\b|\b(?:omp|pthread|std)\w*(?::*mutex\w*|_lock)\b"
    r"|\bcompare_exchange|\batomic\s+compare\b|__sync_\w*compare|\bmutex\b"
)
"""How threads put together what each has found, in any order."""
PLAIN = BuildKind("coarse", "clang", (), "-O0")
THREADS, ORDERS = 8, 3
EQUALS = " where many values are equal, on 8 threads"
REPLACED = (
    r"s/= (uitofp|sitofp) (i32|i64) (\S+) to (double|float)/= call \4 @rheostat_\1_\2_\4(\2 \3)/",
    r"s/^  %(\S+) = (lshr|urem|srem)( exact)? (i32|i64) ([^,]+, [^,]+)(.*)$/"
    r"  %part.\1 = \2\3 \4 \5\6\n  %\1 = call \4 @rheostat_whole_\4(\4 %part.\1)\6/",
    r"s/^  %(\S+) = (fpto[us]i \S+ \S+ to|call) (i32|i64)((, | @(ll|l)(rint|round)\().*)?$/"
    r"  %part.\1 = \2 \3\4\n  %\1 = call \3 @rheostat_signed_\3(\3 %part.\1)/",
)
DECLARED = "\n".join(
    [f"declare {t} @rheostat_{o}_{i}_{t}({i})" for o in ("uitofp", "sitofp")
     for i in ("i32", "i64") for t in ("double", "float")]
    + [f"declare {i} @rheostat_{s}_{i}({i})" for i in ("i32", "i64") for s in ("whole", "signed")]
)  # fmt: skip


def picks(program: Program) -> bool:
    r"""Whether threads put together what they found in any order, and one command builds it.

    >>> picks(Program({"a.c": "#pragma omp critical\nif (mine > best) best = mine;"}))
    True
    """
    return bool(PICKS.search(program.text)) and not program.build


def among_equals(case: Case, program: Program) -> list[Finding]:
    """What is wrong where the data hold many equal values and threads come in another order.

    Parameters
    ----------
    case : Case
        The candidate on its way.
    program : Program
        What is built in its place, its loops dealt out in turn.

    Returns
    -------
    list of Finding
        Empty also where the original does not run on such data, or the candidate does something
        else with them on one thread: its text may take another way to the same numbers.
    """
    if case.original.build:
        return []
    ours = case.bench.build(coarse(case.original), PLAIN)
    theirs = case.bench.build(coarse(with_runtime(program)), LOCKS)
    for expected in case.reference.small if ours.ok and theirs.ok else ():
        run = case.bench.run(ours, expected.given, limits=case.limits(expected))
        known = replace(expected, output=run.stdout)

        def printed(count: int, seed: int, known: Expected = known) -> SandboxRun:
            given = gives_way(program, seed)
            return case.bench.run(theirs, known.given, threads=count, environment=given,
                                  limits=roomy(case.limits(known, count), 5.0))  # fmt: skip

        def wrong(run: SandboxRun, known: Expected = known) -> list[Finding]:
            return [] if run.stopped else case.wrong("races", run, known, EQUALS + WAITING)

        if not run.ok or (alone := printed(1, 1)).stopped or wrong(alone):
            continue
        for seed in range(1, ORDERS + 1):
            if findings := wrong(printed(THREADS, seed)):
                return findings
    return []


def coarse(program: Program) -> Program:
    """The program with a build that makes its data coarse, by way of LLVM's assembler text."""
    own = [s for s in program.sources if s != TASK_MEMORY]
    added = [s for s in (TASK_MEMORY,) if s in program.files]
    added += map(object_file, program.objects)
    text = bundled("runtimes", HELPERS)
    driver = "{cxx}" if program.is_cxx else "{cc}"
    linked = [f"coarse{i}.ll" for i in range(len(own))]
    script = shlex.join(x for rule in REPLACED for x in ("-e", rule))
    made = []
    for name, path in zip(own, linked, strict=True):
        one = program.alone(name) if program.own_flags else program
        words = [*program.own_flags.get(name, ()), "-S", "-emit-llvm", "-o", path, name]
        made.append(f"{'{cxx}' if one.is_cxx else '{cc}'} {{flags}} {shlex.join(words)}")
        made.append(f"sed -E -i {script} {path}")
        made.append(f"printf %s {shlex.quote(DECLARED)} >> {path}")
    libraries = [f for f in program.flags if f.startswith("-l")]
    last = shlex.join(["-O0", "-no-pie", "-fopenmp", *quick_linker(program.flags), *linked, HELPERS,
                       *added, *libraries])  # fmt: skip
    made.append(f"{driver} {last} -o program")
    return replace(program, files={**program.files, HELPERS: text},
                   build=("sh", "-c", " && ".join(made)))  # fmt: skip
