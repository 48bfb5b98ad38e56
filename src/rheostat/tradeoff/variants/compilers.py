"""A serial program as compilers share its loops among threads: baselines of a search, and variants.

Not a line is changed, so that a rewriting is worth its lines only where it is faster than these.
"""

from __future__ import annotations

from rheostat.measurement.code.programs.program import CXX, C, Program
from rheostat.measurement.code.toolchain import POLLY, absent, polly_absent
from rheostat.tradeoff.variants.variant import Variant

GCC_SHARES = "gcc"
POLLY_SHARES = "Polly"
COMPILERS = (GCC_SHARES, POLLY_SHARES)
"""Who proposes them."""


def shared_by_compilers(program: Program, threads: int) -> list[Variant]:
    """The program with the flags that share loops, of each compiler that can here.

    Parameters
    ----------
    program : Program
        What is searched; only a serial one in C or C++ has such variants.
    threads : int
        Among so many; gcc fixes the number when it compiles.

    Returns
    -------
    list of Variant
        With the program's own text and flags, and those added.

    Examples
    --------
    >>> [v.change for v in shared_by_compilers(Program({"a.c": ""}, "openmp"), 2)]
    []
    """
    source = program.sources[0]
    if program.language != "serial" or not source.endswith((*C, *CXX)):
        return []
    gcc = (f"-ftree-parallelize-loops={threads}",)
    every = ((GCC_SHARES, gcc, absent("g++" if program.is_cxx else "gcc")),
             (POLLY_SHARES, POLLY, polly_absent()))  # fmt: skip
    return [
        Variant(program.files[source], name, "loops shared by the compiler",
                (*program.flags, *flags), program.language)
        for name, flags, missing in every if not missing
    ]  # fmt: skip
