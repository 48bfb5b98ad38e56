"""Scalars that the teams of a league share and to which each team writes.

Teams are run as threads of one team where races are looked for, and Archer leaves out what a
reduction writes: a team that reduces among its own threads into a variable of all teams is no race
there.  Nor does `critical` keep one team from another.  The text shows both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from rheostat.measurement.code.parsing.blocks import statement_end
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.races.declared_names import ARGUMENTS, declares
from rheostat.measurement.code.races.simd_updates import without_comments
from rheostat.measurement.code.races.unordered_sums import DIRECTIVE, no_directives, reduced
from rheostat.measurement.code.verdict import Finding

TEAMS = re.compile(r"\bteams\b")
ONE_TEAM = re.compile(r"\bnum_teams\s*\(\s*1\s*\)")
OWN = re.compile(r"\b(?:(?:first|last)?private|linear|reduction)\s*\(([^()]*)\)")
WRITTEN = re.compile(
    r"(?<![\w.\])*&>])(?P<name>[A-Za-z_]\w*)\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)"
    r"|(?:\+\+|--)\s*(?P<other>[A-Za-z_]\w*)(?!\s*(?:[\w\[.(]|->))"
)
SHARED = "is written by each team of a league, and no clause of the teams names it"
Place = tuple[re.Match[str], int]
"""A directive and where its statement ends."""


def league_writes(program: Program) -> list[Finding]:
    r"""Each scalar that teams write together, by the line of what writes it.

    Examples
    --------
    >>> inner = "#pragma omp parallel for reduction(+ : s)\nfor (int j = 0; j < n; j++) s += a[j];"
    >>> outer = "#pragma omp target teams distribute map(s)\nfor (int i = 0; i < n; i++)\n"
    >>> [f.words for f in league_writes(Program({"a.c": outer + inner}))]
    ['a.c:3: s is written by each team of a league, and no clause of the teams names it']
    >>> league_writes(Program({"a.c": outer.replace("map(s)", "reduction(+ : s)") + inner}))
    []
    """
    return each_scalar(program, _shared, SHARED)


def each_scalar(
    program: Program, written: Callable[[str], Iterator[tuple[int, str]]], said: str
) -> list[Finding]:
    """A finding for each scalar that is written somewhere in a text without comments.

    Parameters
    ----------
    program : Program
        Its texts are looked at.
    written : callable
        Given a text, where something is put into a scalar, and its name.
    said : str
        What is wrong with it.
    """
    return [
        Finding("races", name, plain.count("\n", 0, at) + 1, f"{scalar} {said}")
        for name, text in program.files.items()
        for plain in [without_comments(text)]
        for at, scalar in sorted(set(written(plain)))
    ]


def _shared(text: str) -> Iterator[tuple[int, str]]:
    every = [(m, statement_end(text, m.end())) for m in DIRECTIVE.finditer(text)]
    for league, end in every:
        words = ARGUMENTS.sub("", f"{league['what']}{league['clauses']}")
        if not TEAMS.search(words) or ONE_TEAM.search(league["clauses"]):
            continue
        inner = [(m, e) for m, e in every if league.end() <= m.start() < end]
        for at, name in _writes(text, league.end(), end, inner):
            around = [league, *(m for m, e in inner if m.end() <= at < e)]
            own = any(_keeps(m, name) for m in around)
            if not (own or declares(no_directives(text[league.end() : end]), name)):
                yield at, name


def _writes(text: str, start: int, end: int, inner: Sequence[Place]) -> Iterator[tuple[int, str]]:
    """Where something is put into a scalar: by an assignment, or by the end of a reduction."""
    yield from ((m.start(), name) for m, _ in inner for name in reduced(m))
    body = no_directives(text[start:end])
    yield from ((start + m.start(), m["name"] or m["other"]) for m in WRITTEN.finditer(body))


def _keeps(around: re.Match[str], name: str) -> bool:
    """Whether each team, or thread, has its own of that name, or they wait for each other."""
    named = re.findall(r"\w+", " ".join(OWN.findall(around["clauses"])))
    return around["what"] == "atomic" or name in named
