"""Guards that nobody can show to be needed: of a rounding, of an access, of a work-item too many.

The cell of a fraction is less than their number but where it rounds up.  A fraction is less than
one; times a number of cells it may round to that number, once in about 2**53 values, so that
whoever guards an index against it cannot show that the guard was needed.  Nor can who compares an
index with a container's own size before asking for that element, which would not be there.  That a
kernel leaves where its item is none of the data's is needed only where groups are not full, and so
is that a loop over groups asks whether an item of one is still among the loop's, or that an element
is read only below a size.  A number of which
a line takes both digits is whole in them, also where one of the two was always nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rheostat.measurement.code.parsing.blocks import statement_end
from rheostat.measurement.code.reached.idle_operations import UNCUT
from rheostat.measurement.code.reached.marks import Comparison

FRACTION = re.compile(
    r"\b(?P<cell>\w+)\s*=\s*\((?:int|long|unsigned|size_t)\)\s*\(\s*\(?\s*(?P<of>\w+(?:\[[^]]*\])?)"
    r"\s*-\s*(?:std::)?floorf?\s*\(\s*(?P=of)\s*\)\s*\)?\s*\*\s*(?P<many>\w+)\s*\)"
)
GUARDS = (
    r"(?<!\w){0}\s*<\s*{1}\s*\?\s*{0}\s*:\s*{1}\s*-\s*1\b",
    r"\bif\s*\(\s*{0}\s*(?:>=|==)\s*{1}\s*\)\s*{0}\s*=\s*{1}\s*-\s*1\b",
    r"\bif\s*\(\s*{0}\s*(?:>=|==)\s*{1}\s*\)\s*(?:{0}--|--{0})\s*;",
)
ACCESS = re.compile(
    r"(?<![\w.>])(?P<index>\w+)\s*<\s*(?P<of>\w+)\.(?:size|length)\(\)\s*&&"
    r"[^;?]*(?<![\w.>])(?P=of)\s*\[\s*(?P=index)\s*\]"
)
READ = re.compile(
    r"(?P<index>\w+(?:\s*\+\s*\w+)?)\s*<\s*(?P<of>[A-Za-z_]\w*)\s*(?:\?\s*\w+\[\s*(?P=index)\s*\]"
    r"\s*:|\)\s*\w+\[\w+\]\s*\+=\s*\w+\[\s*(?P=index)\s*\]\s*;)"
)
OF_KERNEL = (
    r"\b(?:__)?kernel\s+void\s+\w+\s*\([^)]*\b(?:u?int|u?long|size_t)\s+{0}\s*[,)]|"
    r"\b{0}\s*=\s*(?:\(\w+\)\s*)?get_(?:local|global)_size\s*\("
)

LEAVES = re.compile(r"\bif\s*\((?P<asked>[^;{}]*)\)\s*return\s*;")
ITEM = (
    r"get_global_id\s*\(\s*[0-2]\s*\)|"
    r"blockIdx\.[xyz]\s*\*\s*blockDim\.[xyz]\s*\+\s*threadIdx\.[xyz]"
)
BEYOND = re.compile(rf"\s*(?P<item>{ITEM}|\w+)\s*>=\s*[A-Za-z_]\w*(?:\s*\*\s*[A-Za-z_]\w*)*\s*")

SUM = r"(?:(?P<one>\w+)\s*\+\s*(?P<two>\w+))\s*<\s*(?P<bound>\w+)\s*"
CHOICE = re.compile(SUM + r"\?(?P<then>[^:;?]*):\s*0(?:\.0?)?[fFuUlL]*\s*[;,)]")
STATEMENT = re.compile(r"\bif\s*\((?:[^;{}|]*&&)?\s*" + SUM + r"\)")
LOOP = (
    r"\bfor\s*\([^;]*\b{0}\s*=[^;]*;\s*{0}\s*<\s*{1}\s*;"
    r"[^;{{}}()]*(?:\([^()]*\)[^;{{}}()]*)*\)"
)
ELSE = re.compile(r'(?:\s|\\n|")*else\b')
IN_STRINGS = re.compile(r'\\n"|"')
PARTS = re.compile(
    r"(?P<of>\w+(?:(?:\.|->)\w+|\[(?:[^][]|\[[^][]*\])*\])*|\([^()]*\))\s*"
    r"(?P<how>/|%|>>|&)\s*(?P<by>\w+)"
)
WHOLE = re.compile(UNCUT.format(r"(\d+)"))
SIZES: dict[str, Callable[[int], int]] = {
    "/": int, "%": int, ">>": lambda n: 1 << min(n, 63), "&": lambda n: n + 1,
}  # fmt: skip


def guards_groups(line: int, text: str) -> bool:
    r"""Whether a line asks if an item of a group is among those that the loop around goes over.

    That is so where the bound is the loop's own, and what hangs on the loop's variable is read or
    written at the guarded index alone; a step of several elements may drop the last ones.

    >>> loop = "for (int b = 0; b < n; b += w)\n  {}"
    >>> guards_groups(2, loop.format("if (b + t < n) y[b + t] += x[t + b];"))
    True
    >>> guards_groups(2, loop.format("if (b + t < n) y[b] += x[b + t];"))
    False
    >>> guards_groups(2, loop.format("z = b + t < n ? x[b + t] : 0;"))
    True
    >>> guards_groups(2, loop.format("z = b + t < n ? x[b + t] : 7;"))
    False
    """
    begin = sum(len(row) for row in text.splitlines(keepends=True)[: line - 1])
    end = text.find("\n", begin) % (len(text) + 1)
    for m in (*CHOICE.finditer(text, begin, end), *STATEMENT.finditer(text, begin, end)):
        behind = m.groupdict().get("then") or _guarded(text, m.end())
        if any(_goes_over(text, begin, sides[0], m["bound"]) and _at_index_alone(behind, *sides)
               for sides in ((m["one"], m["two"]), (m["two"], m["one"]))):  # fmt: skip
            return True
    return False


def _guarded(text: str, at: int) -> str:
    """The statement behind a condition; none where there is another one beside it."""
    end = statement_end(text, at)
    return "" if ELSE.match(text, end) else IN_STRINGS.sub(" ", text[at:end])


def _goes_over(text: str, at: int, counter: str, bound: str) -> bool:
    """Whether a loop around a place counts up to the bound."""
    loops = re.finditer(LOOP.format(counter, bound), text[:at])
    return any(at < statement_end(text, m.end()) for m in loops)


def _at_index_alone(behind: str, counter: str, other: str) -> bool:
    """Whether a statement has the counter in no other place than as that sum's index."""
    index = rf"\[\s*(?:{counter}\s*\+\s*{other}|{other}\s*\+\s*{counter})\s*\]"
    rest, times = re.subn(index, "[]", behind)
    return times > 0 and not re.search(rf"\b{counter}\b", rest)


def takes_both_digits(row: str, by: int) -> bool:
    """Whether a row takes the quotient by a number and the remainder, of the same, too.

    >>> takes_both_digits("word[r[j] / 64] |= 1ull << r[j] % 64;", 64)
    True
    >>> takes_both_digits("word[r[k] / 64] |= 1ull << r[j] % 64;", 64)
    False
    >>> takes_both_digits("bits[i >> 5] |= 1u << (i & 31);", 31)
    True
    """
    parts = [(m["of"], m["how"], int(m["by"]) if m["by"].isdecimal() else m["by"])
             for m in PARTS.finditer(row)]  # fmt: skip
    sizes = {(of, how in "/>>", SIZES[how](number) if isinstance(number, int) else number)
             for of, how, number in parts}  # fmt: skip
    both = [size for of, whole, size in sizes if whole and (of, False, size) in sizes]
    return any(isinstance(size, str) or size - by in (0, 1) for size in both)


def guards_items(row: str, text: str) -> bool:
    """Whether a kernel leaves by a row where its item is none of the data's.

    >>> text = "int i = get_global_id(0); if (i >= w * h) return;"
    >>> guards_items(text, text), guards_items("if (i >= w - 1) return;", text)
    (True, False)
    >>> guards_items("if (k >= n) return;", text)
    False
    """
    m = LEAVES.search(row)
    asked = [BEYOND.fullmatch(one) for one in m["asked"].split("||")] if m else [None]
    return all(
        one is not None and re.search(
            rf"{ITEM}" if not one["item"].isidentifier() else
            rf"\b{one['item']}\s*=\s*(?:\(\w+\)\s*)?\(?(?:{ITEM})\s*[;,)]", text)
        for one in asked
    )  # fmt: skip


def guards_read(row: str, text: str) -> bool:
    """Whether a row of a kernel reads an element only where its index is below a size.

    The size is given to the kernel, or is a group's.

    >>> text = "__kernel void f(__global int *a, int n) { int size = get_local_size(0);"
    >>> guards_read("t[k] = at < n ? a[at] : 0;", text), guards_read("at < n ? at : 0;", text)
    (True, False)
    >>> guards_read("if (l + step < size) part[l] += part[l + step];", text)
    True
    >>> guards_read("t[k] = at < m ? a[at] : 0;", text), guards_read("if (k < n) a[k] = at;", text)
    (False, False)
    """
    m = READ.search(row)
    return m is not None and bool(re.search(OF_KERNEL.format(m["of"]), text))


def guards_access(row: str) -> bool:
    """Whether a row keeps an index within a container whose element it then asks for.

    >>> guards_access("while (end < text.size() && text[end] != ' ')")
    True
    >>> guards_access("while (end < text.size() && other[end] != ' ')")
    False
    """
    return ACCESS.search(row) is not None


def guards_rounding(row: str, text: str) -> bool:
    r"""Whether a row keeps the cell of a fraction, which the text makes, below their number.

    >>> text = "int c = (int)((s - floor(s)) * m);\nin = c < m ? c : m - 1;"
    >>> guards_rounding(text.splitlines()[1], text), guards_rounding("c < m ? c : m - 1", "c = s;")
    (True, False)
    """
    return any(
        re.search(guard.format(re.escape(m["cell"]), re.escape(m["many"])), row)
        for m in FRACTION.finditer(text)
        for guard in GUARDS
    )


def is_guard(c: Comparison, row: str, text: str) -> bool:
    """Whether what a comparison asks is such a guard, on a row of a file's text."""
    if c.constant:
        cut = WHOLE.fullmatch(c.constant)
        return guards_rounding(row, text) or bool(cut and takes_both_digits(row, int(cut[1])))
    less = c.how == "lt" and (guards_groups(c.at[1], text) or guards_read(row, text))
    return less or guards_rounding(row, text) or guards_access(row) or guards_items(row, text)
