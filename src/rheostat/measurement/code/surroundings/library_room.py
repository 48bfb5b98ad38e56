"""What a container of C++ answers as its library likes: how much room it has, where it puts a key.

A ``vector`` doubles its room with one library and takes half more with another.
"""

from __future__ import annotations

import re

from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.races.simd_updates import without_comments
from rheostat.measurement.code.verdict import Finding

ANSWERS = r"capacity|bucket_count|bucket|max_bucket_count|load_factor|max_load_factor|max_size"
ASKED = re.compile(rf"(?:\.|->)\s*(?P<what>{ANSWERS})\s*\((?!\s*\d)")
OWN = re.compile(rf"[\w&>]\s+(?P<what>{ANSWERS})\s*\([^()]*\)\s*(?:const\b|noexcept\b|\s)*\{{")
"""A function of that name which the program defines."""
SAID = "{0}() answers as a library likes, another one makes other room"


def library_room(program: Program) -> list[Finding]:
    r"""Each question of that kind, by its line.

    Examples
    --------
    >>> text = "std::vector<int> v;\nint mask = v.capacity() - 1;"
    >>> [f.words for f in library_room(Program({"a.cpp": text}))]
    ['a.cpp:2: capacity() answers as a library likes, another one makes other room']
    >>> library_room(Program({"a.cpp": "int capacity() const { return n; }" + text}))
    []
    """
    own = {m["what"] for m in OWN.finditer(program.text)}
    return [
        Finding("calls", name, text.count("\n", 0, m.start()) + 1, SAID.format(m["what"]))
        for name, text in program.files.items()
        for m in ASKED.finditer(without_comments(text))
        if m["what"] not in own
    ]
