"""A CSV file as a frame: types found after reading, lines of another length noted, never guessed.

Python's csv module splits (it knows quotes and embedded newlines); a column becomes numeric when at
least nine of ten of its non-empty cells are numbers, the others become null and are noted.  A file
whose cells are not separated by commas may write ``1621,5``; where some cell shows that its comma
is not one of thousands, all such columns are read so, and that is noted.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

import polars as pl

from rheostat.core.jobs import Note
from rheostat.core.storage.bounded_read import check_columns
from rheostat.core.texts.formulas import unmarked
from rheostat.errors import DataError, FileKindError
from rheostat.measurement.checks import ROW, note_rows
from rheostat.measurement.lines import LONGEST, beginning, raw_lines
from rheostat.measurement.runs.diverged import parted_results, with_no_number
from rheostat.measurement.runs.ends import with_state
from rheostat.measurement.runs.grouped_numbers import EMPTY, plain_numbers
from rheostat.measurement.runs.languages import SUMMARY
from rheostat.measurement.runs.pair_lines import rows_of_pairs
from rheostat.measurement.runs.report_rows import rows_of_reports
from rheostat.measurement.runs.table_shapes import (
    columns_by_blanks,
    heads,
    is_number,
    levels_joined,
    titled_blocks,
    uncommented,
    unframed,
    units_row,
    untitled,
    without_prose,
    without_rulers,
)
from rheostat.measurement.runs.units_above import with_units_above
from rheostat.measurement.runs.words_among_numbers import parted

DELIMITERS = ",;\t|"
UNMERGED = re.compile(r"(<{7}|>{7})( |$)")
CLOCKED = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d"
NO_HEADINGS = (
    "expected names of columns in the first line, got those of a job ({}): write them above; "
    "where sacct wrote it, leave out its -n (--noheader)"
)
RETURNS = "carriage returns within {} lines are read as blanks"
END = "\x03"
"""A line put behind the last one: where it is no row of its own, a quote was never closed."""
NO = "none"
"""A word like others in a column of words (no preconditioner), nothing in one of numbers."""


def read_delimited(path: str | Path, encoding: str = "utf-8") -> tuple[pl.DataFrame, list[Note]]:
    """(frame with the row number in `ROW`, notes); header-only and undecodable files are errors."""
    decoded, returned = without_returns(_decode(Path(path), encoding))
    lines, around = rows_of_reports(decoded)
    lines = without_rulers(lines)
    _refuse_unmerged(path, lines)
    (rows, lost), titles, broken = rows_of_pairs(lines), list[str](), list[int]()
    delimiter = ";" if rows else ""  # no comma stands between pairs
    if not rows:
        rows, delimiter, titles, broken = _table(path, lines)
    rows, titles, cases = titled_blocks(rows, titles)
    again = sum(r == rows[0] for r in rows[1:])
    header, body = [h.strip() for h in rows[0]], [r for r in rows[1:] if r != rows[0]]
    check_columns(path, len(header))
    names = [h or ("row" if i == 0 else f"column_{i}") for i, h in enumerate(header)]
    named = all(r and not is_number(r[0].strip()) for r in rows)  # a quantity in each row
    if sum(is_number(h) for h in header) > len(header) / 2 and not (header[0] and named):
        raise DataError(str(path), ["the first line is numbers, expected column names"])
    if moments := [h for h in header if re.match(CLOCKED, h)]:
        raise DataError(str(path), [NO_HEADINGS.format(moments[0])])
    twice = sorted(n for n, times in Counter(names).items() if times > 1)
    if twice:
        raise DataError(str(path), [f"column {n} comes twice" for n in twice])
    with_units = units_row(names, body)
    names, body = (with_units, body[1:]) if with_units else (names, body)
    odd = [i for i, r in enumerate(body) if len(r) != len(names)]
    good = [i for i, r in enumerate(body) if len(r) == len(names)]
    sums = _sums([body[i] for i in good])
    sums = [good[i] for i in sums]
    good = [i for i in good if i not in set(sums)]
    if not good:
        raise DataError(
            str(path), [f"has a header of {len(names)} columns but no row that fits it"]
        )
    notes = [Note(RETURNS.format(returned))] if returned else []
    notes += [Note(f"tables of {', '.join(cases)}: titles are in a column case")] if cases else []
    notes += [Note(f"around the table, not read: {'; '.join(titles)}")] if titles else []
    notes += [Note(f"headings stand again in {again} lines: files put together")] if again else []
    notes += [Note(f"lines without names and values left out: {lost}")] if lost else []
    notes += [Note(f"lines around the rows of a report left out: {around}")] if around else []
    notes += [Note(f"units stand in the second line: {', '.join(names)}")] if with_units else []
    notes += [note_rows(f"row has not {len(names)} cells", odd, dropped=True)] if odd else []
    if sums:
        notes.append(note_rows("row sums up others (total, mean): no run", sums, dropped=True))
    if broken:
        notes.append(note_rows("a cell with a line break: is a quote open before it?", broken))
    cells = {name: [body[i][k] for i in good] for k, name in enumerate(names)}
    notes += plain_numbers(cells, delimiter)
    frame, said = typed_frame(cells, good)
    commented = itertools.takewhile(lambda x: x.lstrip()[:1] in ("#", ""), lines)
    frame, read_above = with_units_above(frame, [*commented, *titles])
    return frame, [*notes, *said, *read_above]


def _refuse_unmerged(path: str | Path, lines: Sequence[str]) -> None:
    """Refuse both sides of a conflict, whose rows would count as repeats."""
    marked = [x.strip() for x in lines if UNMERGED.match(x)]
    if len(marked) > 1:
        said = f"has marks of a conflict that git could not merge, the first {marked[0]!r}"
        raise DataError(str(path), [f"{said}: keep the rows of one side and remove the marks"])


def _table(path: str | Path, lines: list[str]) -> tuple[list[list[str]], str, list[str], list[int]]:
    """Rows below one line of headings, what stands between cells, titles, and broken rows."""
    text, titles = untitled(headed(lines), DELIMITERS)
    if not text:
        raise DataError(str(path), ["has no text in it"])
    delimiter = _delimiter(text[0])
    text, below = without_prose(text) if delimiter == "|" else (text, list[str]())
    titles = [*titles, *below]
    rows, broken = ([] if delimiter in text[0] else columns_by_blanks(text)), list[int]()
    if not rows:
        rows, broken = _rows(path, text, delimiter)
    rows = unframed(rows) if delimiter == "|" else rows
    return levels_joined(rows), delimiter, titles, broken


def _sums(rows: Sequence[Sequence[str]]) -> list[int]:
    """Rows behind all others that say they sum up, as ``Total,,2075``: cells that others fill lack.

    >>> _sums([["a", "1", "9"], ["sum", "2", "7"], ["Total:", "", "16"], ["Mean", "", "8"]])
    [2, 3]
    """
    behind: list[int] = []
    for i in range(len(rows) - 1, -1, -1):
        words = [c.strip().rstrip(":").lower() for c in rows[i]]
        if not (set(words) & set(SUMMARY) and "" in words):
            break
        behind.insert(0, i)
    return behind


def _rows(path: str | Path, text: list[str], delimiter: str) -> tuple[list[list[str]], list[int]]:
    """The rows, header first, and which (from the first behind it) take more than one line.

    An error where all lines behind an open quote would be a cell.
    """
    reader = csv.reader([*text, END], delimiter=delimiter)
    rows: list[list[str]] = []
    broken, begins = [], 1
    try:
        for row in reader:
            if row == [END]:
                break
            if row and row[-1].endswith(END) and reader.line_num > len(text):
                problem = f"line {begins} opens a quote that nothing closes: all lines behind it"
                raise DataError(str(path), [f"{problem} would be one cell; close or remove it"])
            if row and reader.line_num > begins:
                broken.append(max(0, len(rows) - 1))
            begins = reader.line_num + 1
            rows += [row] if row else []
    except csv.Error as error:
        problem = f"is not a readable CSV file: {error} (in the row that begins in line {begins})"
        raise DataError(str(path), [problem]) from error
    return rows, broken


TASK = r"^\d+(_(\d+|\[.*\]?)|\.[a-z]+)$"
"""A task of a job array or a step: its column holds identifiers, however few of them are such."""


LABEL = re.compile(r"(.*[ _.-])?(version|release|revision|commit|sha|script([_ ]?hash)?"
                   r"|checksum|md5|digest)", re.IGNORECASE)  # fmt: skip
"""Columns of names that may look like numbers: 2023.10 is no 2023.1, the checksum 12e4 none."""


def typed_frame(
    cells: Mapping[str, Sequence[str]], rows: Sequence[int]
) -> tuple[pl.DataFrame, list[Note]]:
    """Columns of text as numbers where they are, with their ``rows``; a note where one is not.

    >>> frame, notes = typed_frame({"nodes": ["1", "2"], "app": ["lbm", "-"]}, [0, 2])
    >>> frame.rows(), notes
    ([(0, 1, 'lbm'), (2, 2, None)], [])
    """
    made = {ROW: pl.Series(rows)}
    cells, diverged = parted_results(cells)
    cells, ends, notes = parted(cells, rows)
    for name, column in cells.items():
        made[name], bad = _typed(column) if not LABEL.fullmatch(name) else (_words(column), [])
        made[name] = with_no_number(made[name], diverged.get(name, ()))
        if bad:
            notes.append(note_rows(f"{name}: not a number, null", [rows[i] for i in bad]))
    return with_state(pl.DataFrame(made), ends), notes


def _decode(path: Path, encoding: str) -> list[str]:
    """All lines as text; says which line is not, or is too long to be a record."""
    lines, problems, remedy = [], [], ""
    for i, raw in enumerate(raw_lines(path)):
        if len(raw) > LONGEST:
            problems.append(f"line {i + 1} is {len(raw):,} bytes long, expected a table row")
            continue
        try:
            lines.append(raw.decode(encoding))
        except UnicodeDecodeError as error:
            remedy = remedy or _remedy(path, raw)
            problems.append(f"line {i + 1} is not {encoding} (byte {raw[error.start]:#04x})")
    if problems:
        more = [f"and {len(problems) - 5} more lines"] if len(problems) > 5 else []
        raise DataError(str(path), [*problems[:5], *more, *([remedy] if remedy else [])])
    if not "".join(lines).strip():
        raise DataError(str(path), ["has no text in it"])
    return lines


def without_returns(lines: list[str]) -> tuple[list[str], int]:
    r"""Lines without carriage returns but at their ends, and how many had one.

    A file of one line has them as its line ends.

    >>> without_returns(["a,b\r\n", "1,2 kWh\r \r\n"])
    (['a,b\r\n', '1,2 kWh  \r\n'], 1)
    >>> without_returns(["a,b\r1,2\r3,4"])
    (['a,b\r', '1,2\r', '3,4'], 0)
    """
    if len(lines) == 1:
        return re.findall(r"[^\r]*\r\n?|[^\r]+", lines[0]), 0
    inner = [re.sub(r"\r(?!\n?$)", " ", line) for line in lines]
    return inner, sum(a != b for a, b in zip(inner, lines, strict=True))


def _remedy(path: Path, raw: bytes) -> str:
    """What to do about bytes that are no text in the encoding."""
    if b"\0" in raw:
        return "it is no text: expected a CSV or parquet file"
    old, new = quote(path.name), quote(f"utf8-{path.name}")
    return f"if it is cp1252: `iconv -f cp1252 -t utf-8 {old} > {new}`"


def _delimiter(first: str) -> str:
    return max(DELIMITERS, key=first.count)


def headed(lines: list[str]) -> list[str]:
    """Lines of a table from its headings on, which may stand in a comment above its rows.

    >>> headed(["# made by bench.sh", "# nodes wall_s", "1 79.3", "2 41.0"])[0]
    'nodes wall_s'
    >>> headed(["# made by bench.sh", "nodes,wall_s", "1,79.3"])[0]
    'nodes,wall_s'
    """
    bare = uncommented(lines)
    if bare == lines or len(bare) < 3 or heads(bare[0], bare[1:]):
        return bare
    named, first, second = (_cells(line) for line in bare[:3])
    return bare[1:] if named != first and first == second else bare


def _cells(line: str) -> int:
    """How many cells a line has, whatever stands between them."""
    apart = max(line.count(d) for d in DELIMITERS)
    return apart + 1 if apart else len(line.split())


def _typed(cells: Sequence[str]) -> tuple[pl.Series, list[int]]:
    """(values, indices of cells that are not numbers though the column is numeric)."""
    text = pl.Series(cells, dtype=pl.String).str.strip_chars()
    text = text.set(text.str.to_lowercase().is_in(list(EMPTY)), None)
    there = len(text) - text.null_count()
    for dtype in (pl.Int64, pl.Float64):
        number = text.cast(dtype, strict=False)
        bad = (number.is_null() & text.is_not_null()).arg_true()
        allowed = 0 if dtype == pl.Int64 else 0.1 * there
        if there and len(bad) <= allowed and not text[bad].str.contains(TASK).any():
            return number, bad.to_list()
    text = _words(cells)
    low = text.str.to_lowercase()
    if there and low.drop_nulls().is_in(["true", "false"]).all():
        return low == "true", []
    return text, []


def _words(cells: Sequence[str]) -> pl.Series:
    """Words; what says that there is none is null, but the word ``none`` beside others."""
    text = pl.Series(cells, dtype=pl.String).str.strip_chars()
    empty = text.str.to_lowercase().is_in(list(EMPTY))
    return unmarked(text.set(empty if empty.all() else empty & (text != NO), None))


def knobs_as_numbers(frame: pl.DataFrame, keep: Sequence[str]) -> pl.DataFrame:
    """Labels that are turned, as ``version``, as the numbers they look like: so they are typed."""
    turned = [frame[k] for k in keep if k in frame.columns and frame[k].dtype == pl.String]
    numbers = [values.cast(pl.Float64, strict=False) for values in turned]
    return frame.with_columns(
        n for v, n in zip(turned, numbers, strict=True) if n.null_count() == v.null_count()
    )


def head(path: str | Path, size: int = 65536) -> bytes:
    """The first bytes of a file, unpacked; nothing where gzip is damaged."""
    try:
        return beginning(Path(path), size)
    except FileKindError:
        raise
    except DataError:
        return b""
