"""Text of names and values, ``nodes=4 time=12.3 s``, as a table: a row a line, or a row a block.

A block is lines of one name and value each, as tools print them; it ends where a name comes again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from rheostat.core.vocabulary import VOCABULARY
from rheostat.measurement.runs.guess import guess_name
from rheostat.measurement.runs.header_units import split_unit

EQUAL = re.compile(
    r"""(?<![\w=.])([A-Za-z_][\w.()\[\]/%-]*)\s*=\s*("[^"]*"|'[^']*'|\([^)]*\)|[^\s,;|"']+)"""
    r"(?:\s(?P<unit>[A-Za-zµ]{1,7})(?=[\s,;|]|$))?"
)
PART = re.compile(r"\s*([A-Za-z][\w .()\[\]/%#-]*?)\s*[:=]\s*(\S.*?)\s*")
APART = re.compile(r"[,;|\t]|\s{2,}")
LINE = re.compile(r"\s*([A-Za-z#][^\t=]{0,70}?)\s*(?::\s|=|:$)\s*(.*?)\s*")
ITEM = re.compile(r"(?P<indent>\s*)-\s+(?=[A-Za-z#])")
"""A dash before the first name of a row, as in YAML."""
NESTED = re.compile(r"\s*(-\s+)?[\w .()\[\]/%-]+:(\s*[{\[|>&*].*|\s*)")
"""A name whose value is a list or a mapping of its own."""
SHELL = re.compile(r"^(real|user|sys)\s+(\d+m[\d.,]+s)\s*$")
"""What the shell's ``time`` prints."""
SECTION = re.compile(r"\s*\[[^\[\]]+\]\s*")
"""The name of a block, in an ini file."""
TIMED = re.compile(r"[\d.]+\s?[munµ]?s")
"""A value that says its unit of time."""
MOST_LINES = 0.8
"""Of the lines of a text in blocks that name a value."""
LOOKED_AT = 2000
AMOUNTS = ("runtime_s", "energy_j", "power_w")
Pairs = dict[str, str]


def rows_of_pairs(lines: Sequence[str]) -> tuple[list[list[str]], int]:
    """Headings and rows, and how many lines hold none; no rows where a text is something else.

    >>> rows_of_pairs(["nodes=1 time=9 s", "starting", "nodes=2 time=5.5 s"])
    ([['nodes', 'time'], ['1', '9 s'], ['2', '5.5 s']], 1)
    >>> rows_of_pairs(["nodes: 1", "time: 9 s", "", "nodes: 2", "time: 5.5 s"])
    ([['nodes', 'time'], ['1', '9 s'], ['2', '5.5 s']], 0)
    >>> rows_of_pairs(["runs:", "- nodes: 1", "  time: 9 s", "- nodes: 2", "  time: 5.5 s"])
    ([['nodes', 'time'], ['1', '9 s'], ['2', '5.5 s']], 0)
    >>> rows_of_pairs(["nodes,args", "1,a=1 b=2", "2,a=1 b=3"])
    ([], 0)
    >>> rows_of_pairs(['<case name="a" time="1">', '<case name="b" time="2">'])
    ([], 0)
    """
    some = [SHELL.sub(r"\1: \2", x) for x in lines if x.strip()]
    if is_yaml(some):
        return (_table_of(_items(some)), 0) if is_flat(some) else ([], 0)
    marked = bool(some) and some[0].lstrip().startswith("<")
    if marked or not any(map(_holds_pair, some[:LOOKED_AT])) or _has_headings(some):
        return [], 0
    each = [_pairs(x) for x in some]
    common = _common([p for p in each if len(p) > 1])
    own = [p for p in each if common and len(common & set(p)) > len(common) / 2]
    lost = len(some) - len(own)
    if not own:
        own, lost = _blocks(some), 0
    if not own or not _measured(own[0]) or not _in_numbers(own):
        return [], 0
    return _table_of(own), lost


def _table_of(rows: Sequence[Pairs]) -> list[list[str]]:
    """Headings, and the cells of each row below them."""
    names = list(dict.fromkeys(k for p in rows for k in p))
    return [names, *([p.get(k, "") for k in names] for p in rows)]


def is_yaml(lines: Sequence[str]) -> bool:
    """Whether lines are a list of rows as YAML writes it, maybe below its name.

    >>> is_yaml(["# runs", "runs:", "  - nodes: 1", "    time: 9"]), is_yaml(["- a: 1"])
    (True, True)
    >>> is_yaml(["nodes: 1", "time: 9"])
    False
    """
    first = [x for x in lines[:LOOKED_AT] if not x.lstrip().startswith("#")][:2]
    named = len(first) > 1 and re.fullmatch(r"\w+:\s*", first[0]) is not None
    return len(first) > 0 and ITEM.match(first[named]) is not None and ":" in first[named]


def is_flat(lines: Sequence[str]) -> bool:
    """Whether rows of a YAML list hold names with plain values alone."""
    begins = next(i for i, x in enumerate(lines) if ITEM.match(x))
    body = [x for x in lines[begins:] if not x.lstrip().startswith("#")]
    starts = {m["indent"] for x in body if (m := ITEM.match(x))}
    return len(starts) == 1 and not any(map(NESTED.fullmatch, body)) and all(
        LINE.fullmatch(ITEM.sub("", x)) for x in body)  # fmt: skip


def _items(lines: Sequence[str]) -> list[Pairs]:
    """Rows of a flat YAML list, each from its dash on."""
    rows: list[Pairs] = []
    for line in lines:
        rows += [{}] if ITEM.match(line) else []
        match = LINE.fullmatch(re.sub(r"\s#.*$", "", ITEM.sub("", line)))
        if rows and match and not line.lstrip().startswith("#"):
            rows[-1][match[1]] = match[2].strip("\"'")
    return rows


def _holds_pair(line: str) -> bool:
    return "=" in line or ":" in line


def _has_headings(lines: Sequence[str]) -> bool:
    """Whether the first line names columns: it has no pair, and lines have as many cells."""
    if _pairs(lines[0]) or LINE.fullmatch(lines[0]):
        return False
    apart = max(",;\t|", key=lines[0].count)
    count = lines[0].count(apart)
    alike = sum(x.count(apart) == count for x in lines[1:LOOKED_AT])
    return count > 0 and alike >= 0.9 * len(lines[1:LOOKED_AT])


def _pairs(line: str) -> Pairs:
    """Names and values of a line of several."""
    parts = [PART.fullmatch(x) for x in APART.split(line.strip()) if x.strip()]
    if len(parts) > 1 and all(parts):
        return {p[1]: p[2].strip("\"'") for p in parts if p}
    pairs = {}
    for match in EQUAL.finditer(line):
        unit = match["unit"] or ""
        known = bool(split_unit(f"time [{unit}]")[2]) if unit else False
        pairs[match[1]] = match[2].strip("\"'") + f" {unit}" * known
    return pairs


def _common(each: Sequence[Pairs]) -> set[str]:
    """The names of the kind of line that is most frequent among those that measure something."""
    kinds = Counter(tuple(sorted(p)) for p in each if _measured(p))
    return set(kinds.most_common(1)[0][0]) if kinds else set()


def _measured(names: Sequence[str] | Pairs) -> bool:
    """Whether there is a time, energy or power, or else two names that are known."""
    ours = {guess_name(n) for n in names}
    values = names.values() if isinstance(names, dict) else ()
    if any(split_unit(n)[2] == "s" for n in names) or any(map(TIMED.fullmatch, values)):
        return True
    power = any(re.search(r"power|energy|watt|joule", n.lower()) for n in names)
    return power or bool(ours & {*AMOUNTS}) or len(ours & {*VOCABULARY}) > 1


def _in_numbers(rows: Sequence[Pairs]) -> bool:
    """Whether most rows begin some value with a digit, of what a name says is an amount."""
    said = [any(v[:1].isdigit() for k, v in p.items() if _measured([k])) for p in rows]
    return sum(said) > len(said) / 2 or not any(_measured([k]) for p in rows for k in p)


def _blocks(lines: Sequence[str]) -> list[Pairs]:
    """Lines of one name and value each; a name that comes again, or a section, begins another."""
    matches = [LINE.fullmatch(x) for x in lines]
    parts = [SECTION.fullmatch(x) is not None for x in lines]
    if sum(m is not None for m in matches) < MOST_LINES * (len(lines) - sum(parts)):
        return []
    blocks: list[Pairs] = [{}]
    for match, begins in zip(matches, parts, strict=True):
        if begins and blocks[-1]:
            blocks.append({})
        if match is None:
            continue
        name, value = match[1].lstrip("# "), match[2]
        if name in blocks[-1]:
            blocks.append({})
        blocks[-1][name] = value
    return blocks
