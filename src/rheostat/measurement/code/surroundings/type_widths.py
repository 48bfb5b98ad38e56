"""A program's text as machines read it whose types have other widths, as the standards allow.

`long` has 32 bits on Windows, also with 64-bit processors, `wchar_t` has 16 there, and
`int_fast16_t` and `int_fast32_t` have 16 and 32 with some libraries.  `long double` is no wider
than `double` there, and on Apple's processors.  A kernel of OpenCL has a `long` of 64 bits.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from rheostat.measurement.code.programs.program import CXX, C

HEADERS = (".h", ".hh", ".hpp", ".hxx", ".inc", ".inl")
OF_CUDA = (".cu", ".cuh")
PIECE = re.compile(
    r'(?P<raw>R"(?P<tag>[^()\s"]*)\(.*?\)(?P=tag)")|(?P<text>"(?:[^"\\\n]|\\.)*")|'
    r"(?P<other>//[^\n]*|/\*.*?\*/|'(?:[^'\\\n]|\\.)+'|#[^\S\n]*include[^\n]*)|"
    r"(?P<code>[^\"'/#R]+|.)",
    re.DOTALL,
)
WORDS = r"(?:\b(?:long|int|unsigned|signed|double|const|volatile|static)\b\s*)*"
TYPE = re.compile(rf"\b(?:long\b|(?:int|unsigned|signed|double)\s+{WORDS}\blong\b)\s*{WORDS}")
FORMAT = re.compile(r"%(?P<how>[-+ #0'*]*[\d.*]*)(?:l(?P<whole>[diouxX])|L(?P<real>[aefgAEFG]))")
WHOLE = re.compile(
    r"(?<![\w.])(?P<number>0[xX][\da-fA-F]+|0[bB][01]+|\d+)"
    r"(?:(?P<sign>[uU])[lL]|[lL](?P<last>[uU]?))(?![\w.])"
)
REAL = re.compile(r"(?<![\w.])((?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)[lL]\b")
NAMES = (
    (re.compile(r"\b(u?int)_fast(8|16|32)_t\b"), r"\1\2_t"),
    (re.compile(r"\b(U?INT)_FAST(8|16|32)_(MIN|MAX)\b"), r"\1\2_\3"),
    (re.compile(r"\b((?:PRI|SCN)[diouxX])FAST(8|16|32)\b"), r"\1\2"),
    (re.compile(r"\b(U?)LONG_(MIN|MAX)\b"), r"\1INT_\2"),
    (re.compile(r"\batomic_(u?)long\b"), r"atomic_\1int"),
    (re.compile(r"\b(__builtin_(?:clz|ctz|popcount|ffs|parity|clrsb))l(?=\s*\()"), r"\1"),
    (re.compile(r"\b(__builtin_[su](?:add|sub|mul))l(_overflow)\b"), r"\1\2"),
    (re.compile(r"\b(?:std::|__builtin_)?labs(?=\s*\()"), "__builtin_abs"),
    (re.compile(r"((?:\bstd::)?\b(?:atol|strtol|stol|l(?:round|rint)[fl]?))(?=\s*\()"), r"(int)\1"),
    (re.compile(r"((?:\bstd::)?\b(?:strtoul|stoul))(?=\s*\()"), r"(unsigned)\1"),
    (re.compile(r"\bwchar_t\b"), "unsigned short"),
)
NARROWED = re.compile(
    r"\blong\b(?!\s+long\b)|_fast(?:8|16|32)_t\b|\bwchar_t\b|\batomic_u?long\b|\blabs\s*\(|"
    r"\b(?:atol|strtou?l|stou?l|l(?:round|rint)[fl]?)\s*\(|"
    r"\b__builtin_(?:clz|ctz|popcount|ffs|parity|clrsb)l\s*\(|\dU?L\b(?!L)"
)
"""What of a text may be narrower elsewhere."""


def narrowed(text: str, kept: Collection[int] = ()) -> str:
    r"""A text whose types are as narrow as they are anywhere; strings keep all but formats.

    >>> print(narrowed("unsigned long a = 1UL << k; long long b; const long c; long double d;"))
    unsigned int a = 1U << k; long long b; const int c; double d;
    >>> print(narrowed('printf("%5ld %lld a long %Lf", labs(x), y, 0.5L); // long'))
    printf("%5d %lld a long %f", __builtin_abs(x), y, 0.5); // long
    >>> print(narrowed("long a;\nlong b;", kept={1}))
    long a;
    int b;

    Parameters
    ----------
    text : str
        Of C or C++.
    kept : collection of int
        Lines that stay as they are, from 1.
    """
    made = "".join(_piece(m) for m in PIECE.finditer(text))
    both = zip(text.split("\n"), made.split("\n"), strict=True)
    return "\n".join(row if n in kept else other for n, (row, other) in enumerate(both, 1))


def narrow_lines(files: Mapping[str, str]) -> list[tuple[str, int, str]]:
    """Lines with a type or function that may be narrower elsewhere: file, number and text.

    Parameters
    ----------
    files : mapping of str to str
        A program's.
    """
    return [
        (name, number, row) for name, text in files.items() if is_text_of_c(name)
        for number, row in enumerate(text.split("\n"), 1) if NARROWED.search(row)
    ]  # fmt: skip


def is_text_of_c(name: str) -> bool:
    """Whether a file is C, C++ or CUDA by its name, and no kernel of OpenCL."""
    return name.endswith((*C, *CXX, *HEADERS, *OF_CUDA))


def _piece(m: re.Match[str]) -> str:
    if m["text"]:
        return FORMAT.sub(lambda f: "%" + f["how"] + (f["whole"] or f["real"]), m[0])
    return m[0] if m["raw"] or m["other"] else _code(m[0])


def _code(text: str) -> str:
    for pattern, by in NAMES:
        text = pattern.sub(by, text)
    text = WHOLE.sub(lambda m: m["number"] + (m["sign"] or m["last"] or ""), text)
    return REAL.sub(r"\1", TYPE.sub(_type, text))


def _type(m: re.Match[str]) -> str:
    """The words of a type with `int` in the place of a single `long`; lines stay lines."""
    words = re.findall(r"\w+", m[0])
    if words.count("long") != 1:
        return m[0]
    by = "" if {"int", "double"} & set(words) else "int"
    made = re.sub(r"\blong\b", by, m[0])
    return made if by else re.sub(r"[^\S\n]{2,}", " ", made).lstrip(" ")
