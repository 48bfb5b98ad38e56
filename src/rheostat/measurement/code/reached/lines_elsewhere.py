"""Lines of a program as a candidate in another language has them, which are the original's own.

What both programs have word for word and no run of either reaches, as a failure branch of the
host's code, a candidate cannot have made wrong.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from rheostat.measurement.code.bundled import bundled
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.surroundings.same_text import without_blanks

ERRORS = dict(re.findall(r"error\((\w+), (\d+),", bundled("runtimes", "cuda_on_host", "errors.h")))
"""Numbers of the runtime's errors by name."""
GIVEN = r"\(\s*(\w+)\s*\)"
ENDS = re.compile(r"\breturn\s*;")
INDEX = re.compile(r"(\w+)\s*=\s*[^;{}]*\bblockIdx\b")
"""A variable that kernels set by the number of a thread in the launch."""
KINDS = ("int", "unsigned", "long", "size_t")
ELSEWHERE = (
    (re.compile(r"\b__(?:device|host|forceinline|noinline)__\s*"), ""),
    (re.compile(r"\b__(?=ffs(?:ll)?\s*\()"), "__builtin_"),
    (re.compile(r"\b__popc(?=(?:ll)?\s*\()"), "__builtin_popcount"),
    (re.compile(r"<<<(.*?)>>>\s*\("), r"(\1, "),
    (re.compile(r"\bcudaError(?:_t)?\b"), "int"),
    (re.compile(r"\bcuda(?:Success|Error\w+)\b"), lambda m: ERRORS.get(m[0], m[0])),
    (re.compile(rf"\bcudaGetErrorString\s*(?:{GIVEN}|\(cudaGetLastError\(\)\))"), '"no error"'),
    (re.compile(rf"(?:\b\w+\s*\(\s*)?\bcudaFree(?:Host)?\s*{GIVEN}\s*\)?\s*;"), r"free(\1);"),
)
"""What CUDA writes, and what a translation to the host writes for it.

A launch is a call there, an error a number, and memory of the device, of which branches that end
with an error do the freeing alone, is memory.
"""


def lines_of(program: Program) -> set[str]:
    r"""Lines of a text without blanks; of CUDA also as they read elsewhere.

    There threads are a loop over all of a launch, and one that ends goes on with the next.

    >>> text = 'if (s != cudaSuccess) {\n  CHECK(cudaFree( p ));\n  return;'
    >>> made = lines_of(Program({"a.cu": text}, "cuda"))
    >>> "for(inti=0;i<(int)(gridDim.x*blockDim.x);i++)" in made
    False
    >>> made = {x for x in made if not x.startswith("for")}
    >>> sorted(made - lines_of(Program({"a.cc": text}, "openmp")))
    ['continue;', 'free(p);', 'if(s!=0){']
    """
    rows = program.text.splitlines()
    if program.language != "cuda":
        return {without_blanks(x) for x in rows}
    elsewhere = [_elsewhere(x) for x in rows]
    ends = [ENDS.sub("continue;", x) for x in elsewhere]
    loops = _loops_over_threads(program.text)
    return {without_blanks(x) for x in (*rows, *elsewhere, *ends, *loops)}


def _loops_over_threads(text: str) -> Iterator[str]:
    """Heads of loops over all threads of a launch, of which there may be one block alone."""
    names = {*(f"index_{axis}" for axis in "xyz"), *INDEX.findall(text)}
    for name, axis, kind in itertools.product(sorted(names), "xyz", KINDS):
        size = f"({kind})(gridDim.{axis} * blockDim.{axis})"
        yield f"for ({kind} {name} = 0; {name} < {size}; {name}++)"
        yield f"for ({kind} {name} = 0; {name} < {size}; {name}++) {{"


def _elsewhere(row: str) -> str:
    for pattern, new in ELSEWHERE:
        row = pattern.sub(new, row)
    return row
