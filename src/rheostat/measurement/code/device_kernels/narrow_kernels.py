"""Counters and sums in kernels for devices that hold less than the original's.

That is bytes, parts of a word, and 32 bits where the original sums in 64.  Most kernels are not
marked, so that how near they come to their end is not known; where CUDA runs on the host, runs keep
what a plain ``int`` sums, and its text is no question.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.parsing.blocks import closed, opened
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.races.simd_updates import without_comments
from rheostat.measurement.code.reached.marked_runs import is_marked
from rheostat.measurement.code.surroundings.same_text import without_blanks
from rheostat.measurement.code.verdict import Finding

LANGUAGES = ("opencl", "cuda")
TYPE = r"(?:u?char|u?short|unsigned\s+(?:char|short)|u?int(?:8|16)_t|half)"
DECLARED = re.compile(rf"\b{TYPE}\s+(?P<name>\w+)\s*(?:\[|=|;|,)")
PACKED = re.compile(r"(?:\+=|atom\w*[aA]dd\w*\s*\([^;,]*,)\s*\(?\s*1[uUlL]*\s*<<")
"""Bits that are set (`|=`, `atomicOr`) run into no other."""
WIDE = re.compile(
    r"\b(?:u?long|(?:unsigned\s+)?long\s+long(?:\s+int)?|u?int64_t|double|size_t|cl_u?long)\s+"
    r"\**(?:restrict\s+)?(?P<name>\w+)"
)
SHORT = re.compile(
    r"\b(?<!long )(?:unsigned\s+int|unsigned(?!\s+(?:long|char|short))|u?int(?:32_t)?|float)\s+"
    r"(?P<names>\w+\s*(?:\[[^\]]*\])?(?:\s*=[^;,()]*)?(?:,\s*\w+(?:\s*=[^;,()]*)?)*)\s*;"
)
UNKEPT = re.compile(SHORT.pattern.replace("u?int(?:32_t)?", "uint(?:32_t)?"))
"""Those whose sums wrap or round where they leave 32 bits, which no run keeps."""
SHORT_ARRAY = re.compile(
    r"\b__(?:local|global|shared__)\s+(?:volatile\s+)?(?:unsigned(?:\s+int)?|u?int(?:32_t)?|float)\s*\*\s*"
    r"(?:restrict\s+)?(?P<name>\w+)"
)
"""Of work items together, whose type stands in the head of a kernel."""
PLACE = r"\s*(?:\[(?:[^;=\[\]]|\[[^;=\[\]]*\])*\]\s*)*"
"""Subscripts that end where they began: in ``rain[tile[i]] += 9`` the tile counts nothing."""
SUMMED = rf"(?<![\w.>]){{0}}{PLACE}\+=\s*(?![\d]+\s*;)(?P<what>[^;]+)"
FUNCTION = re.compile(r"(?:\)|\belse|\bdo)(?:\s|\\n|\")*\Z")
"""Behind which a block begins that is none of a record; also in strings."""
BODY = re.compile(r"(?:\s|\\n|\")*\{")
HIDES = re.compile(
    r"""\\"|'|<%|%>|%:|\?\?[<>=]|#(?!\s*pragma\b)|"""
    r'"(?:[^"\\\n]|\\.)*[{}](?:[^"\\\n]|\\.)*"\s*[,)]'
)
"""What may open or end a block otherwise than its braces say: in quotes, in a branch left out."""
MACRO = re.compile(r"#\s*define\b(?:\\\n|.)*")
COUNTS = re.compile(r"[<>=!]=|(?<!<)<(?!<)|(?<!>)>(?!>)|&&|\|\|")
"""A truth, which only counts."""
KEPT = "is counted in a narrow type, which what it counts may leave"
SHORTER = "is summed in 32 bits, the original sums in 64, and what it sums may leave them"
PACKED_WORD = "several counts share a word, and one may run into the next"


def narrow_counters(case: Case) -> list[Finding]:
    """Narrow counters in kernels of a candidate, on lines that the original has not.

    Parameters
    ----------
    case : Case
        The candidate on its way.
    """
    if case.candidate.language not in LANGUAGES:
        return []
    known = {without_blanks(row) for row in case.original.text.splitlines()}
    narrow = _narrow(case.candidate)
    if wide := _sums(case.original.text, WIDE):
        kept = case.original.inputs.ranges and is_marked(case, case.candidate)
        narrow += _shorter(case.candidate, UNKEPT if kept else SHORT, _as_short(case))
        narrow += _arrays_for(case, wide)
    return [f for f in narrow
            if without_blanks(case.candidate.row(f.file, f.line)) not in known]  # fmt: skip


def _narrow(program: Program) -> list[Finding]:
    made = []
    for file, text in program.files.items():
        for m in DECLARED.finditer(text):
            name = re.escape(m["name"])
            counted = rf"\b{name}{PLACE}(?:[-+*|]=|\+\+)|\+\+\s*{name}\b"
            if re.search(counted, _scope(text, m.start())):
                made.append((file, text, m.start(), f"{m['name']}: {KEPT}"))
        made += [(file, text, m.start(), PACKED_WORD) for m in PACKED.finditer(text)]
    return [Finding("calls", file, text.count("\n", 0, at) + 1, said)
            for file, text, at, said in made]  # fmt: skip


def _scope(text: str, at: int) -> str:
    """The text in which a variable that is declared at a place of it has its name.

    Of a function, that is the rest of the block; of a parameter, the function; of anything else,
    and where braces may not be what they seem, the rest of the text.

    >>> _scope("void f() { uchar v; { g(v); } } int v;", 11)
    'uchar v; { g(v); } '
    >>> _scope("struct S { uchar v; }; s.v++;", 11), _scope("f(uchar v) { g(v); } v", 2)
    ('uchar v; }; s.v++;', 'uchar v) { g(v); ')
    >>> _scope("f(uchar v) { g('}'); v++; }", 2), _scope("f(uchar v); v++;", 2)
    ("uchar v) { g('}'); v++; }", 'uchar v); v++;')
    """
    plain = without_comments(text)
    begin = opened(plain, at)
    if begin < 0:
        begin = _body(plain, at)
    elif not FUNCTION.search(plain[:begin]):
        begin = -1
    end = closed(plain, begin) if begin >= 0 else len(text)
    line_end = plain.find("\n", end) % (len(plain) + 1)
    hidden = HIDES.search(plain, at, line_end) or any(
        m[0].count("{") != m[0].count("}") for m in MACRO.finditer(plain)
    )
    return text[at:] if hidden else text[at:end]


def _body(text: str, at: int) -> int:
    """Where the block begins of the function whose parameters a place is among; -1 for none."""
    deep = 1
    for i in range(at, len(text)):
        deep += (text[i] == "(") - (text[i] == ")")
        if deep == 0:
            m = BODY.match(text, i + 1)
            return m.end() - 1 if m else -1
        if text[i] in ";{}":
            return -1
    return -1


def _as_short(case: Case) -> set[str]:
    """What the original sums in 32 bits, too, where all that it sums in 64 still has them."""
    ours, theirs = case.original.text, case.candidate.text
    wide, still = ({name for name, _ in _sums(text, WIDE)} for text in (ours, theirs))
    return {name for name, _ in _sums(ours, SHORT)} if wide <= still else set()


def _shorter(
    program: Program, declared: re.Pattern[str], known: Collection[str]
) -> list[Finding]:  # fmt: skip
    """Sums of 32 bits that are no index and no step of a loop."""
    return [Finding("calls", file, text.count("\n", 0, at) + 1, f"{name}: {SHORTER}")
            for file, text in program.files.items()
            for name, at in _sums(text, declared) if name not in known]  # fmt: skip


def _arrays_for(case: Case, wide: list[tuple[str, int]]) -> list[Finding]:
    """Arrays of 32 bits that take the place of wide ones: so many more, and fewer wide ones."""
    ours, theirs = case.original.text, case.candidate.text
    more = len(_sums(theirs, SHORT_ARRAY)) - len(_sums(ours, SHORT_ARRAY))
    if more <= 0 or len(_sums(theirs, WIDE)) >= len(wide):
        return []
    known = {name for name, _ in _sums(ours, SHORT_ARRAY)}
    return [Finding("calls", file, text.count("\n", 0, at) + 1, f"{name}: {SHORTER}")
            for file, text in case.candidate.files.items()
            for name, at in _sums(text, SHORT_ARRAY) if name not in known]  # fmt: skip


def _sums(text: str, declared: re.Pattern[str]) -> list[tuple[str, int]]:
    r"""Names that are declared so and to which something is added, and where they are declared.

    >>> [n for n, _ in _sums("int s = 0, i; for (i = l; i < n; i += 64) s += x[i] * x[i];", SHORT)]
    ['s']
    >>> _sums("int many = 0; many += x[i] > 3;", SHORT)
    []
    >>> _sums("void f() { uint s = 0; g(s); } void h() { long s = 0; s += x[i]; }", SHORT)
    []
    """
    made = []
    for m in declared.finditer(text):
        said = m.groupdict()
        for name in re.findall(r"(?:^|,)\s*(\w+)", said.get("names") or said.get("name") or ""):
            here = _scope(text, m.start())
            if any(not COUNTS.search(s["what"]) for s in re.finditer(SUMMED.format(name), here)):
                made += [(name, m.start())] if not _steps(name, text) else []
    return made


def _steps(name: str, text: str) -> bool:
    """Whether it is an index, or what a loop counts."""
    return bool(
        re.search(rf"\[[^\]]*\b{name}\b[^\]]*\]|\bfor\s*\([^;]*;[^;]*;[^)]*\b{name}\b", text)
    )
