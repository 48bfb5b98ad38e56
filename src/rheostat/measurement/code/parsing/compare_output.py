"""Two outputs as numbers and words: relative, absolute and ULP tolerance, timing left out."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from rheostat.errors import DataError
from rheostat.measurement.code.parsing import linear_regex

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
TIMING_WORD = (
    r"(?:time|times|timing|elapsed|runtime|wall|seconds?|secs?|duration|took|gflops?|gflop/s|"
    r"mflops?|bandwidth|throughput|speed-?up|gb/s|mb/s|clock|cycles|"
    r"tiempo|tempo|duración|durée|laufzeit|dauer|время|czas|süre)"
)
UNIT = r"(?:s|secs?|seconds?|ms|msecs?|milliseconds?|us|usecs?|microseconds?|ns|сек|мс|[gmt]flops?(?:/s)?|[gm]i?b/s)"  # noqa: E501
TIMING = (
    re.compile(rf"(?i)\b{TIMING_WORD}\b[^0-9\n]{{0,40}}?(?P<number>{NUMBER})"),
    re.compile(rf"(?i)(?<![\w.])(?P<number>(?>{NUMBER}))\s*[(\[]?{UNIT}\b"),  # of long numbers, too
)
TOKEN = re.compile(rf"(?<![A-Za-z_]){NUMBER}(?![A-Za-z_])|[^\W\d]\w*|[^\s\w]")
MOST_DIFFERENCES = 5
LEAST_DIGITS, LEAST_REPEATED, LEAST_INPUTS, LEAST_TOGETHER = 6, 3, 4, 6
"""Of a time that repeats: no clock shows six twice, nor three for each of four inputs, nor on
more inputs six in all beside each one's first."""
SINGLE, DOUBLE = 1e-6, 1e-9
"""Relative tolerance of outputs that are computed in single, and in double precision: another
order of sums moves them by less, unless most of the digits cancel."""


@dataclass(frozen=True)
class Tolerance:
    """How far numbers may differ: any of relative, absolute or ULP suffices; whole ones not at all.

    Parameters
    ----------
    relative : float, optional
        Of a number with a fraction or exponent; by default that of double precision, in an
        original with ``float`` of single precision, in one of whole numbers none
        (`Reference.agreed`).
    absolute : float
        The same, of numbers near 0.
    ulps : int
        Steps of double precision.
    masked : tuple of str
        Regular expressions of what is left out in addition to times, as in a printed host name;
        without look-around and back-references (`linear_regex`).
    outputs : tuple of str
        Regular expressions; where there are any, only their first groups are compared.
    computed : frozenset of str
        Lines, their numbers as #, whose times are results and not measured: they are compared.

    Examples
    --------
    >>> Tolerance().close("1.0000001", "1.0"), Tolerance().close("101", "100")
    (True, False)
    >>> cents = Tolerance(relative=0.0, absolute=0.0, ulps=0)
    >>> cents.close("90071992547409.93", "90071992547409.92"), cents.close("1.50", "1.5")
    (False, True)
    """

    relative: float | None = None
    absolute: float = 1e-12
    ulps: int = 4
    masked: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    computed: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        problems = [
            f"{name}: expected 0 or more, got {value!r}"
            for name in ("relative", "absolute", "ulps")
            if not (isinstance(value := getattr(self, name), (int, float)) and value >= 0)
            and not (value is None and name == "relative")
        ]
        patterns = (*self.masked, *self.outputs)
        problems += [said for p in patterns if (said := linear_regex.problem(p))]
        if problems:
            raise DataError("tolerance", problems)

    def close(self, value: str, expected: str) -> bool:
        """Whether two numbers as printed agree."""
        if value == expected:
            return True
        if re.fullmatch(r"[-+]?\d+", value) and re.fullmatch(r"[-+]?\d+", expected):
            return Decimal(value) == Decimal(expected)  # of as many digits as there are
        if not (self.relative or self.relative is None or self.absolute or self.ulps):
            return Decimal(value) == Decimal(expected)
        a, b = float(value), float(expected)
        if not (math.isfinite(a) and math.isfinite(b)):
            return False
        apart = abs(a - b)
        largest = max(abs(a), abs(b))
        relative = SINGLE if self.relative is None else self.relative
        return apart <= max(self.absolute, relative * largest, self.ulps * math.ulp(largest))


@dataclass(frozen=True)
class OutputDifference:
    """Where two outputs disagree: the line of the output (from 1), what came, what was expected."""

    line: int
    got: str
    expected: str


@dataclass(frozen=True)
class OutputLine:
    """A line without its timing numbers, as text and in tokens."""

    line: int
    text: str
    tokens: tuple[str, ...]


def output_lines(text: str, tolerance: Tolerance) -> list[OutputLine]:
    r"""The lines that count, as tokens; a line of times alone is left out.

    >>> lines = output_lines("sum 3.5 in 0.2 s\nTime: 1.5\n", Tolerance())
    >>> [line.tokens for line in lines]
    [('sum', '3.5', 'in', '#', 's')]
    """
    if tolerance.outputs:
        text = "\n".join(m for p in tolerance.outputs for m in linear_regex.matches(p, text))
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        kept, masked = _without_times(line, tolerance)
        tokens = tuple(re.findall(TOKEN, kept))
        if not tokens or (masked and not any(_is_number(t) for t in tokens)):
            continue
        lines.append(OutputLine(number, kept.strip(), tokens))
    return lines


def _without_times(line: str, tolerance: Tolerance) -> tuple[str, bool]:
    before = line
    for pattern in () if re.sub(NUMBER, "#", line) in tolerance.computed else TIMING:
        line = pattern.sub(lambda m: m[0].replace(m["number"], "#"), line)
    for mask in tolerance.masked:
        line = linear_regex.masked(mask, line)
    return line, line != before


def repeated_times(one: str, other: str) -> dict[str, int]:
    r"""Lines of one run that name a time, and in how many digits all stands in another of the same.

    >>> repeated_times("mean wait 1.250731 s\ntook 0.125 s\n", "mean wait 1.250731 s\ntook 0.1 s\n")
    {'mean wait # s': 7, 'took # s': -1}
    >>> repeated_times("time 48200\n0 ms", "time 48200\n0 ms")
    {'time #': 3, '# ms': 0}
    """
    there = set(other.splitlines())
    known: dict[str, int] = {}
    for line in one.splitlines():
        times = [m["number"] for pattern in TIMING for m in pattern.finditer(line)]
        if times:
            name = re.sub(NUMBER, "#", line)
            digits = max(map(_digits, times)) if line in there else -1
            known[name] = min(known.get(name, digits), digits)
    return known


def _digits(number: str) -> int:
    """How many digits of a number tell something: a whole number's last zeros may be its unit's."""
    digits = re.sub(r"[eE].*|\D", "", number).lstrip("0")
    return len(digits if "." in number else digits.rstrip("0"))


def computed_times(digits: Mapping[str, Sequence[int]]) -> frozenset[str]:
    """Lines whose times are results and not measured, by the digits that repeat of each input.

    >>> some = {"wait #": [7, 6], "took #": [4, 4, -1, 4], "mean #": [3, 4, 4, 4],
    ...         "time #": [2, 2, 0, 3, 3, 4], "cpu #": [2, 2, 1, 1, 2]}
    >>> sorted(computed_times(some))
    ['mean #', 'time #', 'wait #']
    """
    return frozenset(name for name, some in digits.items() if _repeats(some))


def _repeats(digits: Sequence[int]) -> bool:
    least, many = min(digits), len(digits) >= LEAST_INPUTS
    together = sum(max(d - 1, 0) for d in digits) if least >= 0 and many else 0
    return least >= (LEAST_REPEATED if many else LEAST_DIGITS) or together >= LEAST_TOGETHER


def _is_number(token: str) -> bool:
    return re.fullmatch(NUMBER, token) is not None


def differences(got: str, expected: str, tolerance: Tolerance) -> list[OutputDifference]:
    """Where an output is not the expected one; the first few.

    Parameters
    ----------
    got, expected : str
        Standard outputs.
    tolerance : Tolerance
        For numbers; words have to be the same.

    Returns
    -------
    list of OutputDifference
        Empty where they agree.

    Examples
    --------
    >>> differences("sum 2.0", "sum 3.0", Tolerance())
    [OutputDifference(line=1, got='sum 2.0', expected='sum 3.0')]
    """
    if got == expected:  # of a long output each line takes its time
        return []
    left, right = output_lines(got, tolerance), output_lines(expected, tolerance)
    apart = []
    for a, b in zip(left, right, strict=False):
        if not _same(a.tokens, b.tokens, tolerance):
            apart.append(OutputDifference(a.line, a.text, b.text))
    if len(left) > len(right):
        extra = left[len(right)]
        apart.append(OutputDifference(extra.line, extra.text, "(no further line)"))
    if len(right) > len(left):
        lost = right[len(left)]
        apart.append(OutputDifference(lost.line, "(no further line)", lost.text))
    return apart[:MOST_DIFFERENCES]


def _same(got: Sequence[str], expected: Sequence[str], tolerance: Tolerance) -> bool:
    return len(got) == len(expected) and all(
        tolerance.close(a, b) if _is_number(a) and _is_number(b) else a == b
        for a, b in zip(got, expected, strict=True)
    )


def spread(one: str, other: str) -> float:
    """Largest relative difference of numbers at the same place of two outputs; NaN if unlike.

    >>> spread("a 1.0", "a 1.1") > 0.09, spread("a", "b 1")
    (True, nan)
    """
    loose = Tolerance()
    left, right = output_lines(one, loose), output_lines(other, loose)
    if [len(a.tokens) for a in left] != [len(b.tokens) for b in right]:
        return math.nan
    most = 0.0
    for a, b in zip(left, right, strict=True):
        for x, y in zip(a.tokens, b.tokens, strict=True):
            if _is_number(x) and _is_number(y):
                p, q = float(x), float(y)
                most = max(most, abs(p - q) / max(abs(p), abs(q), 1e-300) if p != q else 0.0)
    return most
