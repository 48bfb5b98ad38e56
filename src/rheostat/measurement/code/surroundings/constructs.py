"""Parallel and device constructs of which no rung sees a wrong use.

Which rung sees which stands in ``constructs.toml``, each with a wrong program of it that was
verified.  What the original uses, too, was taken by its author; what it does not use and no rung
sees is named, and never accepted by silence.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from typing import Any

from rheostat.measurement.code.bundled import bundled
from rheostat.measurement.code.case import FOR_DEVICES, Case
from rheostat.measurement.code.programs.program import PRAGMA, Program
from rheostat.measurement.code.races.simd_updates import without_comments
from rheostat.measurement.code.verdict import Finding

DIRECTIVE = re.compile(PRAGMA + r"\b(?P<words>(?:[^\n\\\"]|\\[\s\S])*)")
WORD = re.compile(r"(?P<word>[A-Za-z_]\w*)\s*(?P<given>\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?")
NESTED = re.compile(r"\[[^\[\]]*\]|\((?:[^()]|\([^()]*\))*\)")
BALANCED = re.compile(r"^\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)")
COMPOUND = re.compile(r"^\s*(?:begin\s+|end\s+)?(?P<words>declare\s+\w+)\s*")
MODIFIED = ("map", "depend", "lastprivate", "device", "schedule", "reduction", "order")
ALONE = ("order", "depend")
"""Clauses whose argument may be such a word without a colon behind it."""
NEVER_TRIED = "no wrong use of it was ever tried here"
UNSEEN = "no rung sees a wrong use of it: {}"


def unseen_constructs(case: Case) -> list[Finding]:
    """Each construct of the candidate's own that no rung sees, by its line.

    Parameters
    ----------
    case : Case
        The candidate on its way.
    """
    language = case.candidate.language
    known = {name for name, *_ in _unseen(case.original, language)}
    return [Finding("calls", file, line, f"{name}: {UNSEEN.format(why)}")
            for name, why, file, line in _unseen(case.candidate, language)
            if name not in known]  # fmt: skip


def _unseen(program: Program, language: str) -> Iterator[tuple[str, str, str, int]]:
    """Constructs that no rung sees: name, why, file and line."""
    patterns = _table()[language]["unseen"] if language in FOR_DEVICES else {}
    for file, text in program.files.items():
        plain = without_comments(text)
        for m in DIRECTIVE.finditer(plain):
            for word in directive_words(m["words"]):
                if why := _why(word):
                    yield word, why, file, plain.count("\n", 0, m.start()) + 1
        for pattern, why in patterns.items():
            if use := re.search(pattern, plain):
                line = plain.count("\n", 0, use.start()) + 1
                words = re.findall(r"\w+", use[0])
                yield words[-1] if words[0] == "if" else words[0], why, file, line


def _why(word: str) -> str:
    """Why nothing shows whether a word of OpenMP is used rightly; empty if a rung does."""
    of = _table()["openmp"]
    if word in of["seen"] or word in of["harmless"]["words"]:
        return ""
    return str(of["unseen"].get(word, NEVER_TRIED))


def directive_words(text: str) -> list[str]:
    """The words of a directive and of its clauses, each modifier behind its clause.

    >>> directive_words(" target map(always, to: a[0:n]) depend(out: b) reduction(+: s)")
    ['target', 'map', 'map:always', 'map:to', 'depend', 'depend:out', 'reduction']
    >>> directive_words("declare reduction(plus : long : omp_out = f(g(omp_in))) initializer(f())")
    ['declare reduction', 'initializer']
    """
    compound = COMPOUND.match(text)
    made = [" ".join(compound["words"].split())] if compound else []
    text = text[compound.end() :] if compound else text
    if text.startswith("("):  # what is declared
        text = BALANCED.sub("", text, count=1)
    for m in WORD.finditer(text.replace("\\\n", " ")):
        made += [m["word"], *_modifiers(m["word"], (m["given"] or "")[1:-1])]
    return made


def _modifiers(clause: str, given: str) -> list[str]:
    if clause not in MODIFIED:
        return []
    flat = NESTED.sub("", given)
    before, colon, _ = flat.partition(":")
    if clause == "reduction":  # what stands behind its last comma is the operation
        before = before.rpartition(",")[0]
    elif not colon and clause not in ALONE:
        return []
    return [f"{clause}:{w}" for w in re.findall(r"[A-Za-z_]\w*", before)]


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(bundled("surroundings", "constructs.toml"))
