"""Tables as people lay them out: frames drawn with bars, a line of units, repeats side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.checks import ROW
from rheostat.measurement.runs.guess import guess_name
from rheostat.measurement.runs.header_units import split_unit
from rheostat.measurement.runs.words_among_numbers import no_number

RULER = re.compile(r"[\s|+:=-]*[-=]{2}[\s|+:=-]*")
"""A line that only rules: of a drawn frame, or below the headings of Markdown."""
LOOKED_AT = 200
"""Lines that tell whether columns stand apart by blanks."""
NUMBERED = re.compile(r"(.*?[A-Za-z])[ _.-]?(\d{1,3})((?:[ _]?[(\[]?[A-Za-zµ]+[)\]]?)?)")
RUN = re.compile(r"(run|rep(eat|etition)?|trial|try|iter(ation)?|sample|measurement|t)s?", re.I)
"""What repeats are numbered by."""
LETTERS = {"p": "power", "e": "energy"}
"""Beside the run times ``t1, t2, ...``."""
SETTING = re.compile(r"\d[\d.]*[ _-]?[A-Za-z]*|[A-Za-z]{1,10}[ _=-]?\d+")
"""A heading of a pivot table: ``4 nodes``, ``128``, ``n=4``."""
AGGREGATES = {"mean", "std", "var", "sem", "min", "max", "median", "count", "size", "sum"}
QUANTITIES = ("runtime_s", "energy_j", "power_w")
QUOTED_OR_NOT = r'(?:(?<![^@])"(?:[^"]|"")*"|[^@])+'
"""A cell between the delimiters @, which may stand in its quotes."""


def columns_by_blanks(lines: Sequence[str]) -> list[list[str]]:
    """Rows of a table whose columns stand apart by blanks; none where it is no such table.

    A heading may hold single blanks where columns are two apart; the numbers that pandas prints
    before its rows have no heading and are left out.

    >>> columns_by_blanks(["file time avg-energy", "row 31.9 1631.8", "map 20.1 1021.3"])[1]
    ['row', '31.9', '1631.8']
    >>> columns_by_blanks(["   nodes  wall_s", "0      1    79.3", "1      2    41.0"])[1:]
    [['1', '79.3'], ['2', '41.0']]
    >>> columns_by_blanks(["Some words of a log", "and more of them, no table"])
    []
    """
    for apart in (r"\s{2,}|\t", r"\s+"):
        if _by(apart, lines[:LOOKED_AT]):  # a long text that is no table is not split whole
            return _by(apart, lines)
    return []


def _by(apart: str, lines: Sequence[str]) -> list[list[str]]:
    """Rows whose columns stand ``apart``; none where too few have the headings' number of cells."""
    rows = [re.split(apart, line.strip()) for line in lines if line.strip()]
    if len(rows) < 3 or len(rows[0]) < 2 or any(map(is_number, rows[0])):
        return []
    width = {len(r) for r in rows[1:]}
    numbered = width == {len(rows[0]) + 1} and all(r[0].isdigit() for r in rows[1:])
    body = [r[1:] if numbered else r for r in rows[1:]]
    fit = [r for r in body if len(r) == len(rows[0])]
    good = len(fit) >= 0.9 * len(body) and any(map(_all_numbers, zip(*fit, strict=True)))
    return [rows[0], *body] if good else []


def _all_numbers(cells: Sequence[str]) -> bool:
    return all(map(is_number, cells))


def is_number(text: str) -> bool:
    """Whether a cell is a number as it stands."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def untitled(lines: Sequence[str], delimiters: str) -> tuple[list[str], list[str]]:
    """Lines from the headings on, and titles above them: lines of one cell where others have more.

    >>> untitled(["Use of October;;", ";;", "Job;Start;End", "1;2;3", "2;3;4"], ",;")
    (['Job;Start;End', '1;2;3', '2;3;4'], ['Use of October'])
    >>> untitled(["nodes", "1", "2"], ",;")
    (['nodes', '1', '2'], [])
    >>> untitled(['"lbm, October",,', "nodes,time,note", "1,9,x"], ",;")[1]
    ['lbm, October']
    """
    some = [x for x in lines[:50] if x.strip()]
    apart = max(delimiters, key=lambda d: sum(d in x for x in some))
    cell = re.compile(QUOTED_OR_NOT.replace("@", re.escape(apart)))
    cells = [[c for c in (x.strip().strip('"') for x in cell.findall(line)) if c] for line in some]
    first = next((i for i, c in enumerate(cells) if len(c) > 1), 0)
    if not first or len(cells) < first + 2 or len(cells[first + 1]) < 2:
        return list(lines), []
    begins = next(i for i, x in enumerate(lines) if x is some[first])
    return list(lines[begins:]), [c[0] for c in cells[:first] if c]


def uncommented(lines: Sequence[str]) -> list[str]:
    """Lines behind the leading ones that begin with ``#``, of which one names the columns.

    That is the last one, but where another has as many cells as the rows and the last has not.

    >>> uncommented(["# by bench.sh", "# nodes,time", "1,79.3"]), uncommented(["#GPUs,s", "1,2"])
    (['nodes,time', '1,79.3'], ['#GPUs,s', '1,2'])
    >>> uncommented(["# OSU Test v7", "# Size      Latency (us)", "# Datatype: CHAR.", "1   1.31"])
    ['Size      Latency (us)', '1   1.31']
    """
    lines = list(lines[next((i for i, x in enumerate(lines) if x.strip()), 0) :])
    first = next((i for i, x in enumerate(lines) if not x.lstrip().startswith("#")), 0)
    while first and first < len(lines) and not lines[first].strip():
        lines = [*lines[:first], *lines[first + 1 :]]
    above = [x.lstrip().lstrip("#").strip() for x in lines[:first]]
    if not first or (first == 1 and re.match(r"#(\w| of\b)", lines[0].lstrip())):
        return lines
    rows = lines[first : first + LOOKED_AT]
    fit = next((x for x in reversed(above) if heads(x, rows)), above[-1])
    return [fit, *lines[first:]]


def heads(line: str, rows: Sequence[str]) -> bool:
    """Whether a line has as many cells as each row below it has, and none of its own is a number.

    >>> heads("Size  Avg Latency(us)", ["1   1.31", "2   1.30"]), heads("by me", ["1,2", "2,1"])
    (True, False)
    """
    for apart in (r"\s*[,;|\t]\s*", r"\s{2,}", r"\s+"):
        cells = [c for c in re.split(apart, line.strip()) if c]
        wide = re.split(apart, rows[0].strip()) if rows else []
        if len(cells) == len(wide) > 1:
            return not any(map(is_number, cells)) and ":" not in line
    return False


def without_rulers(lines: Sequence[str]) -> list[str]:
    """Lines that hold cells; those of LaTeX with bars between them.

    >>> without_rulers(["+--+--+", "| a | b |", "|---|:-:|", "| 1 | - |"])
    ['| a | b |', '| 1 | - |']
    """
    return [line for line in _of_latex(lines) if not RULER.fullmatch(line)]


def _of_latex(lines: Sequence[str]) -> list[str]:
    r"""The cells of a LaTeX table without its commands; other lines as they are.

    >>> _of_latex([r"\begin{tabular}{rr}", r"n & \textbf{t (s)} \\ \hline", r"1 & $9.5$ \\"])
    ['n | t (s)', '1 | 9.5']
    """
    if not any(r"\begin{tab" in line for line in lines[:LOOKED_AT]):
        return list(lines)
    rows = [
        re.sub(r"\\\\.*$|(?<!\\)%.*$", "", line) for line in lines if re.search(r"(?<!\\)&", line)
    ]
    plain = [re.sub(r"\\(?:text\w+|mathrm|num|emph)\{([^{}]*)\}", r"\1", row) for row in rows]
    bare = [
        re.sub(r"\\(?:top|mid|bottom)rule|\\hline|\$|\\[,;]|\\(?=[%_&#])", "", row) for row in plain
    ]
    return [" | ".join(c.strip() for c in row.split("&")) for row in bare]


def unframed(rows: Sequence[list[str]]) -> list[list[str]]:
    """Rows without the empty cells that a bar at both ends of a line makes.

    >>> unframed([["", " a ", " b ", ""], ["", " 1 ", " 2 ", ""]])
    [[' a ', ' b '], [' 1 ', ' 2 ']]
    """
    if not (len(rows[0]) > 2 and not rows[0][0].strip() and not rows[0][-1].strip()):
        return list(rows)
    return [r[1:-1] if len(r) > 2 and not (r[0] + r[-1]).strip() else r for r in rows]


def units_row(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The headings with the units that the first row holds; none where it is a row like others.

    >>> units_row(["nodes", "time", "energy"], [["-", "min", "kJ"], ["1", "79.3", "1680"]])
    ['nodes', 'time [min]', 'energy [kJ]']
    >>> units_row(["app", "time"], [["s", "12"], ["b", "13"]])
    []
    """
    if len(rows) < 2 or len(rows[0]) != len(names):
        return []
    units = [c.strip().strip("()[]") for c in rows[0]]
    known = [bool(split_unit(f"time [{u}]" if u else "")[2]) for u in units]
    if not any(known) or not all(
        k or u in ("", "-", "1", "#") for k, u in zip(known, units, strict=True)
    ):
        return []
    return [f"{n} [{u}]" if k else n for n, u, k in zip(names, units, known, strict=True)]


def levels_joined(rows: Sequence[list[str]]) -> list[list[str]]:
    """Rows of a table with one line of headings, where two or three stand above its numbers.

    The upper one names groups (``Time,,Energy,`` over ``mean,std,CPU,GPU``), or pandas wrote it
    after ``groupby(...).agg(...)``, often with a line that only names the first columns.

    >>> levels_joined([["", "time", "time"], ["", "mean", "std"], ["n", "", ""], ["1", "9", ".2"]])
    [['n', 'time mean', 'time std'], ['1', '9', '.2']]
    >>> levels_joined([["", "Energy", ""], ["n", "CPU", "GPU"], ["1", "9", "2"], ["2", "8", "3"]])
    [['n', 'Energy CPU', 'Energy GPU'], ['1', '9', '2'], ['2', '8', '3']]
    """
    if len(rows) < 3 or len({len(r) for r in rows[:3]}) > 1:
        return list(rows)
    upper, lower = ([c.strip() for c in r] for r in rows[:2])
    whole = [next((u for u in upper[i::-1] if u), "") for i in range(len(upper))]
    if not _two_levels(upper, list(zip(whole, lower, strict=True)), rows[2:]):
        return list(rows)
    names = _joined(upper, whole, lower)
    made, below = [c.lower() for c in lower], rows[2]
    by_pandas = not made[0] and all(c in AGGREGATES for c in made if c)
    if by_pandas and not any(c and m for c, m in zip(below, made, strict=True)):
        return [[n or b.strip() for n, b in zip(names, below, strict=True)], *rows[3:]]
    return [names, *rows[2:]]


def _two_levels(
    upper: Sequence[str], pairs: Sequence[tuple[str, str]], body: Sequence[Sequence[str]]
) -> bool:
    """Whether two lines are headings: words alone, groups above, and numbers below the lower."""
    words = [c for c in (*upper, *(w for _, w in pairs)) if c]
    groups = not all(upper) or len(set(upper)) < len(upper)
    if any(map(is_number, words)) or not any(upper) or not groups:
        return False
    over = [w for i, (_, w) in enumerate(pairs)
            if any(is_number(r[i].strip()) for r in body if i < len(r))]  # fmt: skip
    if any(map(no_number, over)):  # a row of what was not measured
        return False
    below = list(map(bool, over))
    headed = [p for p in pairs if any(p)]
    return len(set(headed)) == len(headed) and sum(below) > len(below) / 2


def _joined(upper: Sequence[str], whole: Sequence[str], lower: Sequence[str]) -> list[str]:
    """One heading for each column: the lower alone where it is one of ours, else with its group."""
    alone = len(set(lower)) == len(lower) and all(
        not u or split_unit(w)[2] or (guess_name(w) and not guess_name(u))
        for u, w in zip(whole, lower, strict=True)
    )
    if alone and all(lower):
        return list(lower)
    return [
        " ".join(filter(None, (u if not w else g, w)))
        for u, g, w in zip(upper, whole, lower, strict=True)
    ]


def repeats_below(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Repeats that stand side by side (``run1``, ``run2``, ...) as rows, where no run time does.

    >>> wide = pl.DataFrame({ROW: [0], "nodes": [4], "run1": [9.0], "run2": [8.0]})
    >>> repeats_below(wide)[0].rows()
    [(0, 4, 9.0), (0, 4, 8.0)]
    """
    groups = _groups(frame)
    times = [g for g in groups if _quantity(g) == "runtime_s"]
    if len(times) != 1 or any(guess_name(c) == "runtime_s" for c in frame.columns if c != ROW
                              and not any(c in own for own in groups.values())):  # fmt: skip
        return frame, []
    numbers = set(groups[times[0]].values())
    alike = {g: own for g, own in groups.items() if set(own.values()) == numbers and _quantity(g)}
    rest = [c for c in frame.columns if not any(c in own for own in alike.values())]
    parts = []
    for number in sorted(numbers):
        own = {_named(g): c for g, cells in alike.items() for c, k in cells.items() if k == number}
        values = [pl.col(theirs).cast(pl.Float64).alias(ours) for ours, theirs in own.items()]
        parts.append(frame.select(*rest, *values))
    cells = list(groups[times[0]])
    said = f"{cells[0]} to {cells[-1]}: taken as the run times of {len(cells)} runs a row"
    unit = "" if split_unit(_named(times[0]))[2] else ", in s"
    return pl.concat(parts).sort(ROW, maintain_order=True), [Note(said + unit)]


Stem = tuple[str, str]


def _groups(frame: pl.DataFrame) -> dict[Stem, dict[str, int]]:
    """Columns of numbers by the words around their number, where it counts from 0 or 1 on."""
    groups: dict[Stem, dict[str, int]] = {}
    for name in (c for c in frame.columns if c != ROW and frame[c].dtype.is_numeric()):
        if match := NUMBERED.fullmatch(name):
            groups.setdefault((match[1], match[3]), {})[name] = int(match[2])
    return {
        stem: own for stem, own in groups.items()
        if len(own) > 1 and sorted(own.values()) in (
            list(range(len(own))), list(range(1, len(own) + 1)))
    }  # fmt: skip


def _quantity(stem: Stem) -> str:
    """What a group measures, "" where it is none of ours."""
    ours = guess_name(_named(stem)) or ""
    return ours if ours in QUANTITIES else ""


def _named(stem: Stem) -> str:
    """A heading of the group, as one column would have it."""
    word, unit = stem
    if letter := LETTERS.get(word.lower()):
        return letter + unit
    return ("runtime" if RUN.fullmatch(word) else word) + unit


def settings_across(columns: Sequence[str]) -> str:
    """What is wanted instead of a pivot table, whose headings are settings; "" of other tables.

    >>> settings_across(["Runtime (s)", "1 node", "2 nodes", "4 nodes"])
    'a row per run, and the settings (1 node, 2 nodes, 4 nodes) in a column'
    """
    own = [c for c in columns if SETTING.fullmatch(c)]
    named = ", ".join(own[:3]) + ", ..." * (len(own) > 3)
    return f"a row per run, and the settings ({named}) in a column" if len(own) > 1 else ""


def without_prose(text: list[str]) -> tuple[list[str], list[str]]:
    """Lines of a table between bars, and those behind its last row that have none.

    >>> without_prose(["| a | b |", "| 1 | 2 |", "", "Node 3 is new."])
    (['| a | b |', '| 1 | 2 |'], ['Node 3 is new.'])
    """
    last = max((i for i, line in enumerate(text) if "|" in line), default=len(text) - 1)
    return text[: last + 1], [x.strip() for x in text[last + 1 :] if x.strip()]


def titled_blocks(
    rows: list[list[str]], titles: list[str]
) -> tuple[list[list[str]], list[str], list[str]]:
    """Tables below each other, each with a title above the same headings, as one with a case.

    >>> rows = [["n", "s"], ["1", "9"], ["HPCG"], ["n", "s"], ["1", "7"]]
    >>> titled_blocks(rows, ["miniFE"])[0]
    [['n', 's', 'case'], ['1', '9', 'miniFE'], ['1', '7', 'HPCG']]
    """
    alone = [[c.strip() for c in row if c.strip()] for row in rows]
    again = [i for i, row in enumerate(rows) if i and row == rows[0]]
    named = [alone[i - 1][0] for i in again if len(alone[i - 1]) == 1 < len(rows[0])]
    if not again or len(named) < len(again) or not titles or "case" in rows[0]:
        return rows, titles, []
    made, case = [[*rows[0], "case"]], titles[-1]
    ends = {i - 1: name for i, name in zip(again, named, strict=True)}
    for i, row in enumerate(rows[1:], 1):
        case = ends.get(i, case)
        if i not in again and i not in ends:
            made.append([*row, case])
    return made, titles[:-1], [titles[-1], *named]
