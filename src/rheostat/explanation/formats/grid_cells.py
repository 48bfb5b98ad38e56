"""Values of a `Grid` as words, and a `Grid` as tab-separated values.

Apart from the tables on terminals: a pipe needs none of what draws them, which takes a tenth of a
second to load.
"""

from __future__ import annotations

import math
from typing import Any

from rheostat.core.report import Grid
from rheostat.core.texts.formulas import FORMULA
from rheostat.core.texts.printable import printable
from rheostat.explanation.number_words import quantity, share, signed, spanned

DIGITS, MOMENT, MOMENT_DIGITS = 6, 1e9, 13
"""Of a float in a pipe, beside all of its whole part: nothing is measured or forecast to more.
What may be a time since 1970 keeps its milliseconds."""


def cell(value: Any, unit: str) -> str:
    """One value as drawn.

    ``"%"`` is a relative change, ``"share"`` a part of one, ``"rate"`` a small one, ``"+s"`` a
    time gained or lost, and ``"count"`` a number of things, by thousands.

    >>> cell((9.13e6, 8.7e6, 9.5e6), "J"), cell(-0.29, "%"), cell(None, "s"), cell(0.892, "share")
    ('9.13 MJ [8.7 9.5]', '−29 %', '', '89 %')
    >>> cell(7200.0, "+s"), cell(-7200.0, "+s")
    ('+2h', '−2h')
    >>> cell(11645, "count"), cell(0.25, "count")
    ('11,645', '0.25')
    """
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        drawn = {"%": change, "share": shares}.get(unit)
        return drawn(value) if drawn else spanned(value[0], value[1], value[2], unit)
    if isinstance(value, int) and unit in ("", "count"):
        return f"{value:,}" if unit else f"{value}"
    if unit in ("%", "share", "rate"):
        return signed(float(value)) if unit == "%" else share(float(value), 2 * (unit == "rate"))
    gained = "+" if unit == "+s" and value > 0 else ""
    return gained + quantity(float(value), "" if unit == "count" else unit.removeprefix("+"))


def change(value: tuple[float, float, float]) -> str:
    """A relative change with its interval in percent.

    >>> change((-0.29, -0.34, -0.24)), change((0.27, 0.21, 0.33))
    ('−29 % [−34 −24]', '+27 % [+21 +33]')
    """
    low, high = (signed(v).replace(" %", "") for v in value[1:])
    if not all(math.isfinite(v) for v in value[1:]) or value[1] == value[2]:
        return signed(value[0])
    return f"{signed(value[0])} [{low} {high}]"


def shares(value: tuple[float, float, float]) -> str:
    """A share of one with its interval in percent.

    >>> shares((0.2321, 0.201, 0.268))
    '23.2 % [20.1 26.8]'
    """
    low, high = (f"{100 * v:.1f}" for v in value[1:])
    return f"{share(value[0], 1)} [{low} {high}]" if math.isfinite(value[1]) else share(value[0], 1)


def tsv(grid: Grid) -> str:
    r"""Tab-separated values for pipes: base units, an interval as three columns.

    A value with an interval has the digits that its interval tells, others have `DIGITS`, or their
    whole part.

    >>> g = Grid(("nodes", "runtime_s"), ((4, (10.0, 9.0, 11.0)),))
    >>> tsv(g)
    'nodes\truntime_s\truntime_s_low\truntime_s_high\n4\t10.0\t9.0\t11.0\n'
    """
    heads: list[str] = []
    for i, head in enumerate(grid.heads):
        triple = any(isinstance(r[i], tuple) for r in grid.rows)
        heads += [head, f"{head}_low", f"{head}_high"] if triple else [head]
    lines = ["\t".join(map(_field, heads))]
    for row in grid.rows:
        flat = [x for v in row for x in (rounded(*v) if isinstance(v, tuple) else (v,))]
        lines.append("\t".join("" if _missing(v) else _field(v) for v in flat))
    return "\n".join(lines) + "\n"


def rounded(value: float, low: float, high: float) -> tuple[float, float, float]:
    """A value and its interval, rounded to three digits of its width; the value has three at least.

    >>> rounded(51234.56789, 48111.2345, 55000.9876), rounded(0.0702123, 0.05, 0.09)
    ((51230.0, 48110.0, 55000.0), (0.0702, 0.05, 0.09))
    >>> rounded(3.14159, 3.14159, 3.14159)
    (3.14159, 3.14159, 3.14159)
    """
    width = high - low
    if not (math.isfinite(width) and width > 10.0**-MOMENT_DIGITS * abs(value)):
        return value, low, high
    digits = 2 - math.floor(math.log10(width))
    own = max(digits, 2 - math.floor(math.log10(abs(value)))) if value else digits
    return round(value, own), round(low, digits), round(high, digits)


def with_told_digits(grid: Grid) -> Grid:
    """A grid whose columns NAME, NAME_low, NAME_high have the digits that the intervals tell.

    >>> grid = with_told_digits(Grid(("t", "t_low", "t_high"), ((3.14159, 2.0, 4.0),)))
    >>> grid.rows
    ((3.14, 2.0, 4.0),)
    """
    at = {h: i for i, h in enumerate(grid.heads)}
    spans = [(at[h], at[f"{h}_low"], at[f"{h}_high"]) for h in grid.heads
             if f"{h}_low" in at and f"{h}_high" in at]  # fmt: skip
    rows = [list(row) for row in grid.rows]
    for row in rows:
        for places in spans:
            if all(isinstance(row[k], float) for k in places):
                row[places[0]], row[places[1]], row[places[2]] = rounded(*(row[k] for k in places))
    return Grid(grid.heads, tuple(map(tuple, rows)), grid.units, grid.marked)


def _field(value: Any) -> str:
    r"""One value of a line: what is no letter is escaped, and no text is taken for a formula.

    >>> _field("a\tb"), _field("=HYPERLINK(1)"), _field(-0.5), _field("-0.5"), _field("C:\\x")
    ('a\\tb', "'=HYPERLINK(1)", '-0.5', '-0.5', 'C:\\\\x')
    >>> _field("\x1b[2J"), _field(152.8999999999998), _field(0.03589482074908)
    ('\\x1b[2J', '152.9', '0.0358948')
    >>> _field(11882.10590909), _field(51948123.4), _field(1795168800.125)
    ('11882.1', '51948123.0', '1795168800.125')
    """
    if isinstance(value, float):
        return f"{_short(value)}"
    if not isinstance(value, str):
        return f"{value}"
    text = printable(value.replace("\\", "\\\\")).replace("\n", "\\n")
    formula = len(text) > 1 and text[0] in FORMULA and not _is_number(text)
    return f"'{text}" if formula else text


def _short(value: float) -> float:
    if abs(value) >= MOMENT or not math.isfinite(value):
        return float(f"{value:.{MOMENT_DIGITS}g}")
    whole = math.floor(math.log10(abs(value))) + 1 if value else 0
    return float(f"{value:.{max(DIGITS, whole)}g}")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
