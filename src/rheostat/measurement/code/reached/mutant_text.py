"""LLVM's text of a program in which one decision can be made the same each time, one operand idle.

Mutant schemata: all mutants stand in one text, and a number that each run is given says which one
it is.  A site also counts how often it came out either way.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

from rheostat.measurement.code.reached.choices import LABEL
from rheostat.measurement.code.reached.compared_numbers import LEAST_NUMBER
from rheostat.measurement.code.reached.constant_values import NAME
from rheostat.measurement.code.reached.constants import (
    CONSTANT,
    asked_before,
    constant_loads,
    globals_set_once,
    set_once,
)
from rheostat.measurement.code.reached.error_ends import DataFlow
from rheostat.measurement.code.reached.idle_operations import COMPUTED, SIGNS, idle
from rheostat.measurement.code.reached.marks import At
from rheostat.measurement.code.reached.mutant_constants import (
    UsedNumber,
    constants_of,
    goes_by_factors,
    goes_by_steps,
    is_room,
    reaches_the_end,
    rows_with,
)
from rheostat.measurement.code.reached.operation_forms import OperationForms

DEFINED = re.compile(r"define .*?@(?P<name>[-\w.$]+|\"[^\"]*\")\(")
FUNCTIONS = re.compile(r"(?m)^define .*?@([-\w.$]+|\"[^\"]*\")\(")
DECIDED = re.compile(
    rf"(?P<head>\s*)(?P<value>{NAME}) = (?P<rest>[if]cmp [a-z ]+(?:i\d+|float|double) "
    r"(?P<one>[^\s,]+), (?P<other>[^\s,]+).*)$"
)
CHOSEN, GIVEN = re.compile(r" = (?:phi|select) "), re.compile(r"[\s\[](-?\d[\w.+-]*)(?=[ ,])")
EQUAL = ("icmp eq", "icmp ne", "fcmp oeq", "fcmp une")
LOOP = re.compile(r"(?:omp\.)?(?:inner\.)?(?:for|while|do)\.cond")
CALLED = re.compile(
    rf"\s*(?P<value>{NAME}) = (?:tail )?call (?P<type>double|float) "
    r"@(?:llvm\.)?(?P<name>(?:fma(?:uladd)?|pow|powi|ldexp|scalbl?n|hypot|fmod|copysign|remainder)f?)"
    r"(?:\.[\w.]+)?\((?:double|float) (?:noundef )?(?P<first>[^\s,]+), .*?"
    r"(?:double|float|i32|i64) (?:noundef )?(?P<last>[^\s,)]+)\)"
)
"""Functions of two numbers that may give one of them back."""
LEAST_SHOWN = {"double": "1.0e-9", "float": "0x3EB0000000000000"}
"""What part of a number outputs tell apart; of a float about a millionth."""
WAYS = 3
SITE = "%rheostat_mutant"
DECLARED = (
    "@rheostat_mutant = external global i32",
    "@rheostat_outcomes = external global [1 x i64]",
    "@rheostat_constants = external global [1 x i64]",
    "declare double @llvm.fabs.f64(double)",
    "declare float @llvm.fabs.f32(float)",
)


@dataclass(frozen=True)
class Site:
    """Where a decision or an operand stands, its number, and what an operand is called.

    ``said`` is empty for a decision, ``form`` for all but a part of an expression.  Mutant
    ``2 * number`` makes a decision false or an operation what it is without the operand, the next
    one makes a decision true.  ``wherever``: its constant is another one on all lines at once.
    """

    at: At
    number: int
    said: str = ""
    constant: UsedNumber | None = None
    in_loop: bool = False
    form: str = ""
    wherever: bool = False


def with_mutants(
    code: str, place: Callable[[str], At | None], first: int = 0, own: Collection[float] = ()
) -> tuple[str, list[Site]]:
    """The text with sites from number ``first`` on.

    Parameters
    ----------
    code : str
        What clang writes before it optimises.
    place : callable
        Where a row of it comes from if it is to have sites, else None.
    first : int
        The first free number.
    own : collection of float
        Sizes of numbers that are the candidate's own.
    """
    made = _Mutated(code, place, first, own)
    rows = list(made.rows())
    return "\n".join(
        [*rows, *(d for d in DECLARED if d.partition("(")[0] not in code), ""]
    ), made.sites


class _Mutated:
    def __init__(
        self, code: str, place: Callable[[str], At | None], first: int, own: Collection[float]
    ) -> None:
        self.code, self.place, self.first, self.own = code, place, first, own
        self.sites: list[Site] = []
        self.of_file, self.flow = globals_set_once(code), DataFlow(code)
        self.numbers: dict[tuple[str, int, str, str], int] = {}
        self.serial = itertools.count(first)
        self.functions = set(FUNCTIONS.findall(code))

    def rows(self) -> Iterator[str]:
        function: list[str] = []
        for row in self.code.splitlines():
            if function:
                function.append(row)
                if row == "}":
                    yield from self._function(function)
                    function = []
            elif m := DEFINED.match(row):
                self.name, function = m["name"], [row]
            else:
                yield row

    def _function(self, rows: list[str]) -> Iterator[str]:
        if not any(map(self.place, rows)):
            yield from rows
            return
        self.whole, self.text_of_function = rows, "\n".join(rows)
        self.given = {(*at[:2], n) for row in rows if CHOSEN.search(row) and (at := self.place(row))
                      for n in GIVEN.findall(row)}  # fmt: skip
        self.defined = dict(r.strip().split(" = ", 1) for r in rows[1:] if " = " in r)
        self.forms = OperationForms(self.defined)
        self.once = {p: v for p, v in set_once(rows).items() if CONSTANT.fullmatch(v)}
        self.known = self.of_file | self.once
        asked = asked_before(rows, self.defined)
        label = "entry"
        block: list[str] = []
        yield rows[0]
        for row in [*rows[1:], "end:"]:
            if m := LABEL.match(row):
                constant = constant_loads(block, self.defined, asked.get(label, {}))
                for one in block:
                    yield from self._row(label, one, constant)
                label, block = m[1], []
            block.append(row)

    def _row(self, label: str, row: str, constant: Collection[str]) -> Iterator[str]:
        at = self.place(row)
        if at is None:
            yield row
            return
        some = constants_of(row, self.own, self.once, self.functions)
        some = [c for c in some if not (c.compares and self._is_end(at, c, row))]
        if not some or is_room(row, self.whole):
            yield from self._with_sites(at, label, row, constant)
            return
        numbers = []
        factors = goes_by_factors(row, self.whole, self.defined)
        steps = goes_by_steps(row, self.whole, self.defined)
        for c in (replace(c, by_factors=factors, steps=steps) for c in some):
            key = (*at[:2], c.type_, c.text)  # both of `n < 64 ? n : 64`
            if key not in self.numbers:
                self.numbers[key], _ = self._site(at, "", c, in_loop=bool(LOOP.match(label)))
                yield from _reached(self.numbers[key], "0")
            numbers.append(self.numbers[key])
        *loads, other = rows_with(numbers, row, some, f"{SITE}.{next(self.serial)}")
        yield from loads
        said, instead = (r.rpartition(" = ")[2] for r in (row, other))
        for one in self._with_sites(at, label, row, constant):
            yield one.removesuffix(said) + instead if one.endswith(said) else one

    def _is_end(self, at: At, constant: UsedNumber, row: str) -> bool:
        """Whether a number compared with is an array's size, or what a value beyond it becomes."""
        if reaches_the_end(row, constant.value, self.whole, self.defined):
            return True
        of_array = f"[{constant.text} x " in self.text_of_function
        return of_array or (*at[:2], constant.text) in self.given

    def _with_sites(self, at: At, label: str, row: str, constant: Collection[str]) -> Iterator[str]:
        """The row, where its decision or an operand of it is asked with mutants of it."""
        if m := DECIDED.match(row):
            asked = not LOOP.match(label) and self._is_asked(m)
            yield from self._decision(at, m) if asked else [row]
        else:
            yield from self._operands(at, row, constant)

    def _is_asked(self, m: re.Match[str]) -> bool:
        """Whether it is with a number that somebody chose, or whether two data are equal."""
        sides = m["one"], m["other"]
        if all(side.startswith("%") for side in sides):
            equal = m["rest"].startswith(EQUAL)
            return equal and any(self.flow.on_data(self.name, side) for side in sides)
        return any(map(_is_own, sides))

    def _site(
        self, at: At, said: str = "", constant: UsedNumber | None = None, *, in_loop: bool = False,
        form: str = "",
    ) -> tuple[int, str]:  # fmt: skip
        number = self.first + len(self.sites)
        self.sites.append(Site(at, number, said, constant, in_loop, form))
        return number, f"{SITE}.{number}"

    def _decision(self, at: At, m: re.Match[str]) -> Iterator[str]:
        number, name = self._site(at)
        was = f"{name}.was"
        yield f"{m['head']}{was} = {m['rest']}"
        yield f"  {name}.outcome = zext i1 {was} to i64"
        yield from _counted(number, f"{name}.outcome")
        yield from _is(number, 2 * number + 1, "true")
        yield f"  {name}.other = select i1 {name}.false, i1 false, i1 {was}"
        yield f"{m['head']}{m['value']} = select i1 {name}.true, i1 true, i1 {name}.other"

    def _operands(self, at: At, row: str, constant: Collection[str]) -> Iterator[str]:
        """An operation whose result may be one of its operands; the other then changes nothing."""
        m = COMPUTED.match(row)
        some = idle(row, self.whole, self.defined, self.known, constant) if m else ()
        sides = [(one.side, m["right" if one.side == "left" else "left"], SIGNS[m["how"][-3:]])
                 for one in some if one.side and m]  # fmt: skip
        if m is None and (m := CALLED.match(row)):
            kept = m["last" if m["name"].startswith("fma") else "first"]
            sides = [("beside what it may give back", kept, m["name"])]
        if m is None or not sides:
            yield row
            return
        value, type_ = m["value"], m["type"]
        made = f"{SITE}.{self.first + len(self.sites)}.was"
        yield row.replace(value, made, 1)
        form = self.forms.of(value)
        for number_of, (side, other, sign) in enumerate(sides, 1):
            number, name = self._site(at, f"what stands {side} of {sign}", form=form)
            yield from _compared(name, type_, made, other)
            yield from _counted(number, f"{name}.outcome")
            last = value if number_of == len(sides) else f"{name}.now"
            yield f"  {last} = select i1 {name}.false, {type_} {other}, {type_} {made}"
            made = last


def _is_own(operand: str) -> bool:
    """Whether a comparison is with a number that somebody chose, not with an end.

    >>> [_is_own(x) for x in ("7", "-40", "0", "-1", "%n", "1.5e+00", "0x3FEF0", "0.0e+00")]
    [True, True, False, False, False, True, True, False]
    """
    if operand.startswith("0x"):
        return True
    known = CONSTANT.fullmatch(operand) and operand[-1].isdigit()
    most = 0 if "." in operand else LEAST_NUMBER - 1
    return bool(known) and abs(float(operand)) > most


def _compared(name: str, type_: str, made: str, other: str) -> Iterator[str]:
    """Whether a result is the operand (1), differs by less than shows (2), or by more (0)."""
    real = type_ in ("float", "double")
    yield f"  {name}.idle = {'fcmp oeq' if real else 'icmp eq'} {type_} {made}, {other}"
    yield f"  {name}.is = zext i1 {name}.idle to i64"
    if not real:
        yield f"  {name}.outcome = add i64 {name}.is, 0"
        return
    bits = "f64" if type_ == "double" else "f32"
    yield f"  {name}.apart = fsub {type_} {made}, {other}"
    yield f"  {name}.by = call {type_} @llvm.fabs.{bits}({type_} {name}.apart)"
    yield f"  {name}.size = call {type_} @llvm.fabs.{bits}({type_} {made})"
    yield f"  {name}.least = fmul {type_} {name}.size, {LEAST_SHOWN[type_]}"
    yield f"  {name}.below = fcmp ole {type_} {name}.by, {name}.least"
    yield f"  {name}.tiny = select i1 {name}.below, i64 2, i64 0"
    yield f"  {name}.outcome = select i1 {name}.idle, i64 1, i64 {name}.tiny"


def _counted(number: int, value: str) -> Iterator[str]:
    """Count how a site came out, and whether this run is its first mutant."""
    yield from _reached(number, value)
    yield from _is(number, 2 * number, "false")


def _reached(number: int, value: str) -> Iterator[str]:
    name = f"{SITE}.{number}"
    yield f"  {name}.place = getelementptr i64, ptr {_of(WAYS * number)}, i64 {value}"
    yield f"  {name}.before = load i64, ptr {name}.place"
    yield f"  {name}.after = add i64 {name}.before, 1"
    yield f"  store i64 {name}.after, ptr {name}.place"


def _is(number: int, mutant: int, word: str) -> Iterator[str]:
    name = f"{SITE}.{number}.{word}"
    yield f"  {name}.run = load i32, ptr @rheostat_mutant"
    yield f"  {name} = icmp eq i32 {name}.run, {mutant}"


def _of(index: int) -> str:
    return f"getelementptr (i64, ptr @rheostat_outcomes, i64 {index})"
