"""Whether every rung compiles the same text: what one compiler reads and another does not.

The build that is checked has other macros than the one that people use: another compiler's names,
other levels of optimisation, the sanitizers' own.  A candidate is preprocessed as each rung does,
and what stands in its own files has to come out the same; only names that headers define as
macros (NULL, omp_lock_hint_none) may differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from rheostat.measurement.code import toolchain
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.toolchain import CLANG, GCC, RACES, SANITIZED, BuildKind
from rheostat.measurement.code.verdict import Finding

KINDS = (GCC, CLANG, SANITIZED, RACES)
MARKER = re.compile(r'#\s*(?:line\s+)?(\d+)\s+"([^"]*)".*')
DEFINED = re.compile(r"(?m)^\s*#\s*define\s+(\w+)(.*)$")
NAME = re.compile(r"[A-Za-z_]\w*")
ENVIRONMENT = re.compile(r"\bmain\s*\([^(),]*,[^(),]*,[^()]*\)")
"""The third argument of main is the environment."""
DECIDED = (
    "compilers and checkers read this differently: a macro of the compiler decides it, "
    "the original has none"
)
SPLICE = re.compile(r"\\[^\S\n]*\n")
MAY_ASK = re.compile(
    r"\b_[_A-Z]|#(?![^\S\n]*(?:include|define|undef|pragma)\b)|%:|\?\?|\b(?:push|pop)_macro\b"
)
"""Names of a compiler's own, conditions, and what may hide one."""
Lines = dict[tuple[str, int], str]


def compiled_differently(case: Case) -> list[Finding]:
    """Lines that one rung's build reads otherwise than another's, where the original has none."""
    candidate = case.candidate
    if candidate.language in ("cuda", "opencl"):
        return []
    kinds = [k for k in _kinds(candidate) if not toolchain.compiler_absent(candidate, k.family)]
    texts = {k.name: t for k in kinds if (t := own_lines(case, candidate, k)) is not None}
    known = {without_blanks(x) for x in case.original.text.splitlines()}
    if environment := _environment(case, kinds[:1]):
        return environment
    made, apart = [], sorted(_apart(texts)) if len(texts) > 1 else []
    allowed = _macros_of_headers(case, kinds[0]) if apart else set()
    for file, line in apart:
        source = candidate.row(file, line)
        if without_blanks(source) in known or allowed & _reached(source, candidate):
            continue
        made.append(Finding("parse", file, line, DECIDED))
    return made[:3]


def _kinds(program: Program) -> tuple[BuildKind, ...]:
    r"""The builds that may read it otherwise; a compiler's own macros alone tell clang's apart.

    >>> [k.name for k in _kinds(Program({"a.c": "#include <stdio.h>\n#define N 3"}))]
    ['gcc', 'clang']
    >>> hidden = ("#if N", "#\\\nif N", "%:if N", "return __clang__;", "#define A __OPT\\\nIMIZE__")
    >>> {len(_kinds(Program({"a.c": "", "b.h": text}))) for text in hidden}
    {4}
    """
    asks = any(MAY_ASK.search(SPLICE.sub("", text)) for text in program.files.values())
    return KINDS if asks else (GCC, CLANG)


def _environment(case: Case, kinds: Iterable[BuildKind]) -> list[Finding]:
    """The candidate's main where it takes the environment, as the original's does not."""
    for kind in kinds:
        said = case.bench.build(case.candidate, kind, output=("-E",)).said.stdout
        places = [(name, number) for name, text in case.candidate.files.items()
                  for number, row in enumerate(text.splitlines(), 1)
                  if re.search(r"\bmain\b", row)]  # fmt: skip
        if ENVIRONMENT.search(said) and not ENVIRONMENT.search(case.original.text):
            return [Finding("parse", *(places or [("", 0)])[0],
                            "main takes the environment, the original's not")]  # fmt: skip
    return []


def own_lines(case: Case, program: Program, kind: BuildKind) -> Lines | None:
    """What stands on each line of the program's own files after preprocessing; None: it fails."""
    made = case.bench.build(program, kind, output=("-E",))
    return dict(_own(made.said.stdout, program.files)) if made.ok else None


def _own(text: str, files: Mapping[str, str]) -> Iterator[tuple[tuple[str, int], str]]:
    matched: Lines = {}
    file, line = "", 0
    for row in text.splitlines():
        if m := MARKER.fullmatch(row):
            line, file = int(m[1]), m[2].removeprefix("./")
            continue
        if file in files and row.strip():
            said = (
                _pragma(files[file], line) if row.lstrip().startswith("#") else without_blanks(row)
            )
            matched[file, line] = matched.get((file, line), "") + said
        line += 1
    yield from matched.items()


def _pragma(text: str, line: int) -> str:
    """That there is a pragma and where, not its words: only some compilers expand macros in it."""
    rows = text.splitlines()
    return f"#pragma{line}" if line <= len(rows) and "pragma" in rows[line - 1] else "#pragma"


def _apart(texts: Mapping[str, Lines]) -> set[tuple[str, int]]:
    """Places whose text is not the same everywhere.

    A call of a macro over several lines comes out on its first line or on all of them, so files
    that are the same from end to end are the same.
    """
    first, *others = texts.values()
    places: set[tuple[str, int]] = set()
    for other in others:
        for file in {f for f, _ in first} | {f for f, _ in other}:
            one, two = ({at: t for at, t in x.items() if at[0] == file} for x in (first, other))
            if "".join(one.values()) != "".join(two.values()):
                places |= {at for at in one.keys() | two.keys() if one.get(at) != two.get(at)}
    return places


def _macros_of_headers(case: Case, kind: BuildKind) -> set[str]:
    """Names that headers define, and neither the compiler nor the candidate itself does."""
    none = Program({"none.c": "\n"}, case.candidate.language, flags=case.candidate.flags,
                   is_ours=True)  # fmt: skip
    own = {m[1] for text in case.candidate.files.values() for m in DEFINED.finditer(text)}
    all_, built_in = (
        {m[1] for m in DEFINED.finditer(case.bench.build(p, kind, ("-dM", "-E")).said.stdout)}
        for p in (case.candidate, none)
    )
    return all_ - built_in - own


def _reached(source: str, program: Program) -> set[str]:
    """Names on a line, and those that stand in the bodies of the program's macros among them."""
    bodies: dict[str, set[str]] = {}
    for text in program.files.values():
        for m in DEFINED.finditer(SPLICE.sub("", text)):
            bodies.setdefault(m[1], set()).update(NAME.findall(m[2]))
    names, new = set[str](), set(NAME.findall(source))
    while new:
        names |= new
        new = {n for name in new for n in bodies.get(name, ())} - names
    return names


def without_blanks(text: str) -> str:
    """Without blanks.

    >>> without_blanks(" a  = b ;")
    'a=b;'
    """
    return re.sub(r"\s+", "", text)
