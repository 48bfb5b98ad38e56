"""Updates that are taken apart: a variable read in one atomic step and written in another.

What another thread writes in between is lost, and no checker of races reports it: each access is
atomic by itself.  The text shows both.
"""

from __future__ import annotations

import re

from rheostat.measurement.code.programs.program import PRAGMA, Program
from rheostat.measurement.code.races.simd_updates import without_comments
from rheostat.measurement.code.surroundings.same_text import without_blanks
from rheostat.measurement.code.verdict import Finding

READ = re.compile(PRAGMA + r"\s+atomic\s+read\b[^\n]*\n[^=;{}]*=(?P<place>[^=;]+);")
WRITE = re.compile(PRAGMA + r"\s+atomic\s+write\b[^\n]*\n(?P<place>[^=;{}]+)=(?P<value>[^=;]+);")
LOST = "{} is read by one atomic and written by another: what is written in between is lost"


def split_updates(program: Program) -> list[Finding]:
    r"""Each write of what the same program reads so, but for one of a plain number.

    Examples
    --------
    >>> text = "#pragma omp atomic read\ns = busy;\ns++;\n#pragma omp atomic write\nbusy = {};"
    >>> [f.words for f in split_updates(Program({"a.c": text.format("s")}))]
    ['a.c:4: busy is read by one atomic and written by another: what is written in between is lost']
    >>> split_updates(Program({"a.c": text.format(1)}))
    []
    """
    return [f for name, text in program.files.items() for f in _in_file(name, text)]


def _in_file(name: str, text: str) -> list[Finding]:
    plain = without_comments(text)
    read = {without_blanks(m["place"]) for m in READ.finditer(plain)}
    return [
        Finding("races", name, plain.count("\n", 0, m.start()) + 1, LOST.format(m["place"].strip()))
        for m in WRITE.finditer(plain)
        if without_blanks(m["place"]) in read and not m["value"].strip().isdecimal()
    ]
