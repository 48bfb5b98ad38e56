"""Programs of LLVM's texts, as they are and with marks: which builds make them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rheostat.measurement.code import toolchain
from rheostat.measurement.code.altered.hash_texts import factors_in
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.device_kernels.cuda_on_host import objects_of
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.reached.compared_numbers import numbers_in
from rheostat.measurement.code.reached.constant_values import RECORD
from rheostat.measurement.code.reached.marks import ARRAY, Marked, still_asked
from rheostat.measurement.code.reached.runs_for_marks import FEW, MarkedRuns
from rheostat.measurement.code.sandboxed.capture import SandboxLimits
from rheostat.measurement.code.toolchain import TEXT, BuildKind, object_file, quick_linker
from rheostat.measurement.code.workbench import Built, Workbench

RUNTIME = "reached"
ARRAYS, PAGE_B = "arrays.s", 4096
NO_STACK = '.section .note.GNU-stack,"",%progbits\n'
"""Nothing on the stack is executed."""
MOST_S = 60.0
"""CPU seconds of many inputs where nobody limits them."""
MEETS = re.compile(r"\s*%\S+ = (?:cmpxchg |call i32 @__kmpc_dispatch_next_)")
TURN = "@rheostat_reached_turn()"
LINKED = BuildKind("reached", "clang", (), "-O1")


def compiler_texts(case: Case, program: Program, kind: BuildKind = TEXT) -> Iterator[Built]:
    """Each source as the compiler's own text; built once."""
    return case.bench.compiler_texts(program, kind)


def factors_of_original(case: Case) -> set[int]:
    """Factors modulo 2**32 of the original: its numbers, and what it multiplies by.

    Those of its text have nine digits at most, those of its digests and hashes any number.
    """
    texts = [made.said.stdout for made in compiler_texts(case, case.original) if made.ok]
    return {n % 2**32 for n in numbers_in(case.original.text)}.union(*map(factors_in, texts))


def linked(
    program: Program, texts: dict[str, str], *checks: str, runtime: str = ""
) -> Program:  # fmt: skip
    """A program that is built of LLVM's texts and assembler; with flags of checks.

    An own ``runtime`` is linked to it.
    """
    objects = (*objects_of(program), *([runtime] if runtime else []))
    command = _command(replace(program, objects=objects), texts, checks)
    made_of = program.made_of or program.text
    return replace(program, files=texts, language="serial", made_of=made_of, objects=objects,
                   build=("sh", "-c", command))  # fmt: skip


def _command(program: Program, texts: Iterable[str], checks: Sequence[str]) -> str:
    """What builds it; gcc links, as clang takes a start of its own, unless checks are clang's."""
    parallel = ["-fopenmp"] * (program.language in ("openmp", "target"))
    codes, others = ([t for t in texts if t.endswith(".ll") is own] for own in (True, False))
    driver, quick = "{cxx}" if program.is_cxx else "{cc}", quick_linker(program.flags)
    compiled = ["-O1", "-w", "-pthread", *parallel, *checks]
    others += map(object_file, program.objects)
    others += [f for f in program.flags if f.startswith("-l")]
    others += ["-o", "program"]
    linker = "" if checks else toolchain.tool("g++" if program.is_cxx else "gcc")
    if not linker:
        return f"{driver} {shlex.join([*compiled, *quick, *codes, *others])}"
    made = [f"{code.removesuffix('.ll')}.o" for code in codes]
    own = ["-L", toolchain.llvm_libraries(), "-lomp"] if parallel else []
    return (f"{driver} -c {shlex.join([*compiled, *codes])} && "
            f"{linker} {shlex.join(['-pthread', *quick, *made, *others, *own])}")  # fmt: skip


def array(name: str, size_b: int, held: Iterable[int] = (), align: int = 8) -> str:
    """An array in assembler, with what 8-byte words it holds; and NAME_b, how large it is.

    >>> print(array("a", 16, [1, 2]), end="")
    .data
    .balign 8
    .globl a, a_b
    .type a, %object
    .size a, 16
    a: .8byte 1, 2
    a_b: .8byte 16
    """
    words = ", ".join(map(str, held))
    of_zeros = f".zero {-(-size_b // align) * align}"  # whole pages have nothing else beside them
    where = [".data"] if words else [".bss"]
    rows = [*where, f".balign {align}", f".globl {name}, {name}_b", f".type {name}, %object",
            f".size {name}, {size_b}", f"{name}: {f'.8byte {words}' if words else of_zeros}",
            *([] if words else [".data", ".balign 8"]), f"{name}_b: .8byte {size_b}"]  # fmt: skip
    return "\n".join([*rows, ""])


def with_marks(
    program: Program, whole: Sequence[Marked], seen: bytes, numbers: Collection[int]
) -> Program:
    """A program of its marked texts, as far as they are still asked, and what keeps their bytes.

    Parameters
    ----------
    program : Program
        What was marked.
    whole : sequence of Marked
        Its sources.
    seen : bytes
        Marks that are set need not be set again.
    numbers : collection of int
        The values that are kept.
    """
    texts = {f"{ARRAY}{i}.ll": "\n".join([*with_turns(still_asked(m.text, seen, numbers)), ""])
             for i, m in enumerate(whole)}  # fmt: skip
    return keeping(program, texts, whole[-1].end, sum(len(m.values) for m in whole))


def keeping(program: Program, texts: dict[str, str], count: int, values: int) -> Program:
    """A program of LLVM's texts with what keeps ``count`` marks and ``values``."""
    made = (array(ARRAY, count, align=PAGE_B) +
            array("rheostat_values", RECORD.size * max(1, values)) + NO_STACK)  # fmt: skip
    return linked(program, texts | {ARRAYS: made}, runtime=RUNTIME)


def with_turns(rows: Iterable[str]) -> Iterator[str]:
    """LLVM's text in which another thread may come before each exchange, which else never fails.

    Also before the next part of a loop is taken, which else may all be one thread's.

    >>> [*with_turns(["  %0 = cmpxchg ptr %p, i32 %1, i32 %2 seq_cst seq_cst"])][0]
    '  call void @rheostat_reached_turn()'
    >>> len([*with_turns(["  %7 = call i32 @__kmpc_dispatch_next_4(ptr @1, i32 %6)"])])
    3
    """
    meets = False
    for row in rows:
        if MEETS.match(row):
            meets = True
            yield f"  call void {TURN}"
        yield row
    if meets:
        yield f"declare void {TURN}"


def run_marked(
    bench: Workbench, built: Built, runs: MarkedRuns, limits: SandboxLimits, most_cpu_s: float,
    place: Path,
) -> None:  # fmt: skip
    """Run a program on inputs so that it leaves its marks in a folder.

    Where many are run on one thread they share memory: what they print is not asked, and the
    marks lie in a file.
    """
    environment = dict(runs.environment)
    if runs.threads == 1 and len(runs.inputs) > FEW:
        bench.run_many(built, runs.inputs, limits, most_cpu_s or MOST_S, environment, kept=place)
    else:
        bench.run_each(built, runs.inputs, limits, threads=runs.threads, kept=place,
                       most_cpu_s=most_cpu_s, environment=environment)  # fmt: skip


def bytes_left(path: Path, size: int) -> bytes:
    """What runs left in a file; nothing where they left no plain one."""
    known = path.read_bytes()[:size] if path.is_file() and not path.is_symlink() else b""
    return known.ljust(size, b"\0")
