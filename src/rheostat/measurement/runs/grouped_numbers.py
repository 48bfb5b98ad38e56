"""Numbers with separators of thousands or decimal commas, as plain ones, where it is sure which.

Where commas may be either in a file whose cells are separated by commas, the watts that a table's
times and energies come to may tell: of a run that draws half a watt nobody makes a table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rheostat.core.jobs import Note
from rheostat.measurement.runs.cell_units import AROUND_SPREAD, seconds_of_cell
from rheostat.measurement.runs.guess import guess_name
from rheostat.measurement.runs.header_units import split_unit
from rheostat.measurement.runs.table_shapes import is_number

COMMA_NUMBER = re.compile(r"[-+]?\d+(,\d+)?(e[-+]?\d+)?", re.IGNORECASE)
THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+")
ENGLISH = re.compile(r"[-+]?\d{1,3}((,\d{3})+\.\d+|(,\d{3}){2,})")
"""Commas that can only be those of thousands."""
GROUPED = re.compile(r"[-+]?\d{1,3}(['\u2019 \u00a0\u202f]\d{3})+([.,]\d+)?")
"""An apostrophe or a space between digits is no decimal sign anywhere."""
POINTED = re.compile(r"[-+]?\d{1,3}(\.\d{3})+,\d+")
"""Points of thousands before a decimal comma, which can mean nothing else: 1.234,5."""
WHOLE_POINTED = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+")
PLAIN = re.compile(r"[-+]?\d+([.,]\d+)?")
LEAST_W = 1.0
"""No run draws less, not on a small board either."""
NEARER = 30.0
"""By this factor numbers of a column lie nearer together in the one reading than in the other."""
EMPTY = ("", "nan", "na", "n/a", "null", "none", "-")


def plain_numbers(cells: dict[str, list[str]], delimiter: str) -> list[Note]:
    """Cells without separators of thousands and with decimal points, in place; what was done."""
    notes = _ungrouped(cells, delimiter)
    if delimiter != ",":
        return [*notes, *_with_points(cells)]
    return [*notes, *_by_watts(cells), *_unclear(cells)]


def _ungrouped(cells: dict[str, list[str]], delimiter: str = ";") -> list[Note]:
    """Numbers as 17'237 or 17 237 are written whole, in place, where a column holds only numbers.

    So are 12,300.0 and 4,305,000, and then 6,300 in the same file; in one with decimal points; or
    where commas stand between cells and numbers below a thousand have none.

    >>> cells = {"s": ["17'237", "980.5"], "app": ["a 100", "b"]}
    >>> [note.message for note in _ungrouped(cells)], cells["s"]
    (['separators of thousands left out: s'], ['17237', '980.5'])
    """
    grouped = []
    for name, column in cells.items():
        written = [c for c in map(str.strip, column) if c.lower() not in EMPTY]
        numbers = [n for c in written for n in AROUND_SPREAD.split(c) if n]
        if any(map(GROUPED.fullmatch, numbers)) and all(
            GROUPED.fullmatch(n) or PLAIN.fullmatch(n) for n in numbers
        ):
            cells[name] = [re.sub(r"['\u2019 \u00a0\u202f]", "", c) for c in column]
            grouped.append(name)
    english = {n: [c for c in map(str.strip, column) if "," in c] for n, column in cells.items()}
    known = any(any(map(ENGLISH.fullmatch, written)) for written in english.values())
    known = known or any(map(_has_points, cells.values()))
    for name, written in english.items():
        whole = all(ENGLISH.fullmatch(c) or THOUSANDS.fullmatch(c) for c in written)
        sure = known or (
            delimiter == "," and (_small_without(cells[name]) or _nearer_whole(cells[name]))
        )
        if written and whole and sure:
            cells[name] = [c.replace(",", "") for c in cells[name]]
            grouped.append(name)
    return [Note(f"separators of thousands left out: {', '.join(grouped)}")] if grouped else []


def _has_points(column: Sequence[str]) -> bool:
    """Whether all cells are numbers, some with a decimal point that is none of thousands."""
    written = [c for c in map(str.strip, column) if c.lower() not in EMPTY]
    points = [c for c in written if "." in c and not THOUSANDS.fullmatch(c.replace(".", ","))]
    return bool(points) and all(is_number(c) for c in written)


def _small_without(column: Sequence[str]) -> bool:
    """Whether there are cells without a comma, all of them numbers below a thousand."""
    plain = [c for c in map(str.strip, column) if "," not in c and c.lower() not in EMPTY]
    return bool(plain) and all(is_number(c) and abs(float(c)) < 1000 for c in plain)


def _nearer_whole(column: Sequence[str]) -> bool:
    """Whether cells with commas are like the other whole numbers only if these are of thousands.

    >>> _nearer_whole(["5,097", "9322"]), _nearer_whole(["5,097", "4.8"]), _nearer_whole(["5,097"])
    (True, False, False)
    """
    written = [c for c in map(str.strip, column) if c.lower() not in EMPTY]
    if not any(c.isdecimal() for c in written) or not _either(column):
        return False
    whole, parted = ([float(c.replace(",", by)) for c in written] for by in ("", "."))
    spread = [max(v) / min(v) if min(v) > 0 else 1.0 for v in (whole, parted)]
    return spread[0] * NEARER < spread[1]


def _by_watts(cells: dict[str, list[str]]) -> list[Note]:
    """The one column of commas that may be either, as its run's watts can be only one, in place.

    >>> cells = {"time": ["03:51:29", "01:59:49"], "Energy (kJ)": ["7,524", "6,247"]}
    >>> _by_watts(cells)[0].message, cells["Energy (kJ)"]
    ('separators of thousands left out, as 0.542 W is no power: Energy (kJ)', ['7524', '6247'])
    """
    commas = [n for n, column in cells.items() if _either(column)]
    if len(commas) != 1:
        return []
    name = commas[0]
    whole, parted = ({**cells, name: [c.replace(",", by) for c in cells[name]]} for by in ("", "."))
    watts = [_watts(t) for t in (whole, parted)]
    sure = [w >= LEAST_W for w in watts]
    if sum(sure) != 1 or min(watts) <= 0:
        return []
    cells[name] = (whole if sure[0] else parted)[name]
    said = "separators of thousands left out" if sure[0] else "commas read as decimal ones"
    return [Note(f"{said}, as {watts[sure[0]]:.3g} W is no power: {name}")]


def _either(column: Sequence[str]) -> bool:
    """Whether some cells are numbers with commas that may be either, and all others plain."""
    written = [c for c in map(str.strip, column) if c.lower() not in EMPTY]
    commas = [c for c in written if "," in c]
    return bool(commas) and all(THOUSANDS.fullmatch(c) or is_number(c) for c in written)


def _watts(cells: Mapping[str, Sequence[str]]) -> float:
    """The least of what a table's energies come to in its times, or of its powers; 0 unknown."""
    power = _amounts(cells, "power_w")
    times, energies = _amounts(cells, "runtime_s"), _amounts(cells, "energy_j")
    power = power or [e / t for e, t in zip(energies, times, strict=False) if e and t]
    return min((p for p in power if p), default=0.0)


def _amounts(cells: Mapping[str, Sequence[str]], ours: str) -> list[float]:
    """The numbers of the one column of a quantity in base units; 0 where a cell is none."""
    named = [n for n in cells if guess_name(n) == ours]
    if len(named) != 1:
        return []
    factor = split_unit(named[0])[3]
    return [
        float(c) * factor if is_number(c.strip()) else seconds_of_cell(c) or 0.0
        for c in cells[named[0]]
    ]


def _unclear(cells: Mapping[str, Sequence[str]]) -> list[Note]:
    """A note on columns of numbers with commas that may be either, left as text."""
    notes = []
    for name, column in cells.items():
        written = [c for c in map(str.strip, column) if c.lower() not in EMPTY]
        commas = [c for c in written if "," in c]
        if _either(column):
            said = f"left as text, {commas[0]} may be a decimal or thousands"
            notes.append(Note(f"{said}: {name}"))
    return notes


def _with_points(cells: dict[str, list[str]]) -> list[Note]:
    """Decimal commas become points, in place; a note says where, or that it cannot be known.

    >>> cells = {"s": ["1.234,5", "640,2", "1.200"]}
    >>> [note.message for note in _with_points(cells)], cells["s"]
    (['commas read as decimal ones: s'], ['1234.5', '640.2', '1200'])
    >>> cells = {"W": ["412", "1.540"], "gflops": ["12,5", "44,6"]}
    >>> [note.message[:15] for note in _with_points(cells)], cells["W"]
    (['commas read as ', 'points left out'], ['412', '1540'])
    """
    for name, column in cells.items():
        if any(POINTED.fullmatch(c.strip()) for c in column):
            grouped = re.compile(r"(?<=\d)\.(?=\d{3}(\D|$))")
            cells[name] = [grouped.sub("", c) for c in column]
    written = {n: [c for c in map(str.strip, column) if c.lower() not in EMPTY]
               for n, column in cells.items()}  # fmt: skip
    comma = [
        n
        for n, column in written.items()
        if any("," in c for c in column)
        and sum(COMMA_NUMBER.fullmatch(c) is not None for c in column) >= 0.9 * len(column)
    ]
    if not comma:
        return []
    if all(THOUSANDS.fullmatch(c) for n in comma for c in written[n] if "," in c):
        example = next(c for c in written[comma[0]] if "," in c)
        return [Note(f"left as text, {example} may be a decimal or thousands: {', '.join(comma)}")]
    points = _points_of_thousands(written)
    for n in comma:
        cells[n] = [c.replace(",", ".") for c in cells[n]]
    for n in points:
        cells[n] = [c.replace(".", "") for c in cells[n]]
    notes = [Note(f"commas read as decimal ones: {', '.join(comma)}")]
    said = "points left out as those of thousands, beside decimal commas"
    return [*notes, Note(f"{said}: {', '.join(points)}")] if points else notes


def _points_of_thousands(written: Mapping[str, Sequence[str]]) -> list[str]:
    """Columns of whole numbers, some with points as 1.540 beside 412: no file has both signs.

    >>> _points_of_thousands({"s": ["3.612", "598"], "W": ["4.1", "1.540"], "v": ["0.125"]})
    ['s']
    """
    return [
        n
        for n, column in written.items()
        if any("." in c for c in column)
        and all(c.isdecimal() or WHOLE_POINTED.fullmatch(c) for c in column)
    ]
