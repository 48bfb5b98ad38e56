"""What the compiler proves that no stated input reaches: ways of comparisons, blocks, indexes.

Each argument becomes any number of its range, and clang optimises the marked text.  A mark that is
gone then cannot be set, whatever is drawn, so that no run has to show it: the rest of a loop by
fours where a size is a multiple of four, the early end of a size that is never 0.  A value that
comes near an end of what is kept of it is one more mark, of being beyond that.

Nothing rests on what overflows or on a promise: sums wrap (but for `own_counters`), attributes,
`restrict` and assumptions are left out, and a mark may be the last thing that a program does.  That
pointers stay within what they point to, and go to what they are of, is taken as every build takes
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInputs
from rheostat.measurement.code.reached.constant_values import Narrowing
from rheostat.measurement.code.reached.constants import POINTER
from rheostat.measurement.code.reached.held_ranges import held_ranges, range_said
from rheostat.measurement.code.reached.marked_builds import LINKED
from rheostat.measurement.code.reached.marks import Marked, still_asked
from rheostat.measurement.code.reached.open_marks import Left, left_by
from rheostat.measurement.code.reached.own_counters import own_counters
from rheostat.measurement.code.reached.room import ArrayRoom
from rheostat.measurement.code.reached.stated_ranges import (
    OWN,
    REGION,
    Ends,
    Stated,
    stated_ends,
)
from rheostat.measurement.code.reached.sums import Digits
from rheostat.measurement.code.reached.wrapping_counters import Counter

ON_DEVICE = "$ompvariant"
"""In the name of a function that is another one on a device, such as `omp_is_initial_device`."""
FILE = "ways.ll"
BUILD = ("sh", "-c", "{cc} -O2 -w -fno-vectorize -fno-slp-vectorize -fno-unroll-loops "
         f"-mllvm -replexitval=always -S -emit-llvm -o - {FILE}")  # fmt: skip
AS_WRITTEN = (*BUILD[:2], BUILD[2].replace(
    " -S ", " -mllvm -disable-lftr -mllvm -indvars-widen-indvars=false -S "))  # fmt: skip
"""Loops compare what their text compares, so that what bounds it bounds their variable."""
PEELED = (*BUILD[:2], BUILD[2].replace(
    "-fno-unroll-loops", "-mllvm -unroll-peel-count=1").replace(
    f"-o - {FILE}", f"-o first.ll {FILE} && " + BUILD[2].replace(FILE, "first.ll")))  # fmt: skip
"""The first turn of each loop by itself: behind it a count is not 0, and something was seen."""
UNROLLED = (*BUILD[:2], BUILD[2].replace(
    "-fno-unroll-loops", "-mllvm -unroll-threshold=2000 -mllvm -unroll-full-max-count=16"
))  # fmt: skip
"""All turns of short loops: what a sum of five parts comes to."""
OF_BYTE = re.compile(r"  store i8 1, ptr getelementptr \(i8, ptr @rheostat_reached, i64 (\d+)\)")
OF_WAY = re.compile(r"  store i8 1, ptr (%rheostat_reached\.(\d+)(?:\.too)?)\.at$")
OF_TRUTH = re.compile(r"  (%rheostat_reached\.\d+) = zext i1 ")
OF_VALUE = re.compile(r"  call void @rheostat_reached_(?:value|digit)\(i32 (\d+), i64 ([^,)]+)[,)]")
OF_ROOM = 1 << 28
"""The first byte of those that a value beyond its ends would set; there are fewer marks."""
MARK = re.compile(r"@rheostat_(at|way|part)\(i32 ([^,)]+)(?:, i64 (?:\w+ )*([^,)]+))?\)")
DECLARED = """
@rheostat_thread = external global i32
declare void @rheostat_end()
declare void @rheostat_shared(ptr)
declare i32 @rheostat_any_i32()
declare i64 @rheostat_any_i64()
declare void @rheostat_at(i32) #9999
declare void @rheostat_way(i32, i64) #9999
declare void @rheostat_part(i32, i64) #9999
attributes #9999 = { nounwind nomerge memory(inaccessiblemem: readwrite) }
"""
"""A mark changes nothing that the program sees, and may not come back: it is asked before what
follows, which may be undefined."""
ASSUMES = re.compile(r"\bcall .*@llvm\.(?:assume|experimental\.noalias\.scope\.decl)\(")
ATTRIBUTES = re.compile(r"attributes (#\d+) = ")
WRAPS = re.compile(r"\b(add|sub|mul|shl) (?:n[us]w )+")
PROMISED = re.compile(
    r", !(?:range|llvm\.loop|noalias|alias\.scope|invariant\.load|nonnull|dereferenceable|"
    r"align|noundef|prof|annotation) !\d+|"
    r"\b(?:noundef|nonnull|noalias(?! [^(]*@_Zn[aw])|returned|readonly|readnone|writeonly|"
    r"nocapture|dereferenceable(?:_or_null)?\(\d+\)) "
)
"""Memory that C++'s `new` gives is no other's."""
DEFINED = re.compile(r'define (?:[a-z_]+ )*?(?P<type>\S+ @(?P<name>[-\w.$]+|"[^"]*")\(.*)')
LINKAGE = re.compile(
    r"^define (?:(?:linkonce|weak)(?:_odr)? |internal |private |available_externally |dso_local |"
    r"hidden |protected )*"
)
COMDAT = re.compile(r" comdat(?:\(\$[^)]*\))?(?= )")
NUMBER = re.compile(r"\s*(%\S+) = (?:tail )?call (?:\w+ )*?(i32|i64) @")
MANY = re.compile(r"\s+store i32 (?P<value>%\S+), ptr (?P<place>[^\s,]+)")
SCALAR = re.compile(r"alloca (?:i\d+|float|double)\b")
WAYS = {"way": 2, "part": 3}
"""Bytes of which one is set: false, true, and for remainders what shows nothing."""


def without_proved(case: Case, whole: Sequence[Marked], left: Left) -> Left:
    """What runs leave open, without what no stated input reaches.

    Parameters
    ----------
    case : Case
        The candidate on its way.
    whole : sequence of Marked
        Its sources.
    left : Left
        What its runs left.
    """
    ends = _ends(whole, left)
    all_seen = b"\1" * len(left.seen)  # other marks would keep loops from being understood
    asked = [(left.seen, {}), *([(all_seen, ends)] if ends else [])]
    proved = {offset for m in whole for seen, some in asked
              for offset in _proved(case, m, seen, some, alone=len(whole) == 1)}  # fmt: skip
    if not proved:
        return left
    seen = bytes(max(byte, offset in proved) for offset, byte in enumerate(left.seen))
    values = [(n, said) for n, said in left.values if OF_ROOM + 2 * n.number + 1 not in proved]
    return replace(left_by(whole, seen, left, case.candidate, proved=True), values=values)


def _ends(whole: Sequence[Marked], left: Left) -> dict[int, Ends]:
    """Between what values have to stay that came near an end of what is kept of them."""
    whole_numbers = {int(m[1]) for one in whole for m in OF_VALUE.finditer(one.text)}
    ends = {}
    for n, _ in left.values:
        if n.number in whole_numbers and isinstance(n, Digits):
            ends[n.number] = (0, n.end(left.kept) - 1)
        elif n.number in whole_numbers and type(n) in (ArrayRoom, Counter, Narrowing):
            ends[n.number] = (n.least, n.most)
    return ends


def _proved(
    case: Case, m: Marked, seen: bytes, ends: Mapping[int, Ends], *, alone: bool
) -> set[int]:  # fmt: skip
    """The marks of a text that no stated input can set, also those of values beyond ``ends``."""
    if ON_DEVICE in m.text:
        return set()
    text = _for_any_input(m, seen, case.original.inputs, ends, alone=alone)
    asked = _bytes_of(text) or set()
    left = set(asked)
    for made in _compiled(case, text, alone=alone):
        some = _bytes_of(made) if made else None
        left = left if some is None else left & some
        if not any(offset >= len(seen) or not seen[offset] for offset in left):
            break
    return asked - left


def _compiled(case: Case, text: str, *, alone: bool) -> Iterator[str | None]:
    """What the compiler leaves of a text, by one way of looking at it after the other."""
    first = _optimised(case, BUILD, text)
    yield first
    if first is None:
        return
    yield _optimised(case, PEELED, text)
    if alone:
        stated = {end for pair in stated_ends(case.original.inputs).values() for end in pair}
        held = held_ranges(text, stated, partial(_optimised, case, AS_WRITTEN), _bytes_of)
        if held:
            yield held[1]
            yield _optimised(case, UNROLLED, held[0])


def _optimised(case: Case, build: Sequence[str], text: str) -> str | None:
    """What clang leaves of a text; None where it cannot."""
    own = Program({FILE: text}, "serial", build=tuple(build), made_of=case.candidate.text)
    built = case.bench.build(own, LINKED)
    return built.said.stdout if built.ok else None


def _bytes_of(text: str) -> set[int] | None:
    """Bytes that the marks of a text may set; None where a mark is not known."""
    made = set[int]()
    for kind, number, way in MARK.findall(text):
        if not number.isdecimal():
            if number.startswith("%"):
                return None
        elif kind == "at":
            made.add(int(number))
        elif way.isdecimal():
            made.add(int(number) + int(way))
        else:
            made |= set(range(int(number), int(number) + WAYS[kind]))
    return made


def _for_any_input(
    m: Marked, seen: bytes, inputs: ProgramInputs, ends: Mapping[int, Ends], *, alone: bool
) -> str:  # fmt: skip
    """A marked text whose marks are calls, and whose arguments are any of their ranges."""
    rows = still_asked(m.text, seen, ends.keys())
    made = "\n".join(_AnyInput(m.text, inputs, ends, alone=alone).rows(rows))
    return f"{made}\n{DECLARED}"


class _AnyInput:
    """Rows of a text as they are for any input: ``alone`` says that nothing else calls it."""

    def __init__(
        self, code: str, inputs: ProgramInputs, ends: Mapping[int, Ends], *, alone: bool
    ) -> None:  # fmt: skip
        self.stated = Stated(code, stated_ends(inputs))
        self.inputs, self.ends, self.alone = inputs, ends, alone
        self.truths, self.counters = set(OF_TRUTH.findall(code)), own_counters(code)
        self.numbers = 0

    def rows(self, every: Iterator[str]) -> Iterator[str]:
        function = ""
        for row in every:
            if m := DEFINED.match(row):
                function = m["name"]
            if not ASSUMES.search(row):
                yield from self._row(function, row)

    def _row(self, function: str, row: str) -> Iterator[str]:
        if m := OF_BYTE.match(row):
            yield f"  call void @rheostat_at(i32 {m[1]})"
        elif m := OF_WAY.match(row):
            kind = "way" if m[1] in self.truths else "part"
            yield f"  call void @rheostat_{kind}(i32 {m[2]}, i64 {m[1]})"
        elif m := OF_VALUE.match(row):
            yield from self._beyond(int(m[1]), m[2])
        elif (place := self.stated.argument_read(function, row)) and (m := NUMBER.match(row)):
            yield from self._any(place, m[1], m[2])
        elif (m := REGION.search(row)) and m[1] in self.stated.regions:
            yield from self._called(function, m)
        else:
            if re.match(r"\s+unreachable\b", row):
                yield "  call void @rheostat_end()"
            yield self._unpromised(function, row)

    def _beyond(self, number: int, value: str) -> Iterator[str]:
        """Whether a value is beyond its ends, as a mark."""
        name, (low, high) = f"%rheostat_room.{number}", self.ends[number]
        yield f"  {name}.from = sub i64 {value}, {low}"
        yield f"  {name} = icmp ugt i64 {name}.from, {high - low}"
        yield f"  {name}.way = zext i1 {name} to i64"
        yield f"  call void @rheostat_way(i32 {OF_ROOM + 2 * number}, i64 {name}.way)"

    def _any(self, place: int, value: str, type_: str) -> Iterator[str]:
        """Any number of a range: one, or so many steps behind its first."""
        low, high = self.stated.stated[place]
        step = self.inputs.ranges[self.inputs.arguments[place - 1][1:-1]].multiple_of
        made = f"call {type_} @rheostat_any_{type_}(), "
        if step == 1:  # comparisons with it are bounded by the range that stands at it
            yield f"  {value} = {made}{range_said(type_, low, high)}"
            return
        first = -(-low // step) * step
        self.numbers += 1
        name = f"%rheostat_any.{self.numbers}"
        last = max(0, (high - first) // step)
        yield f"  {name} = {made}{range_said(type_, 0, last)}"
        yield f"  {name}.steps = mul nuw nsw {type_} {name}, {step}"
        yield f"  {value} = add nsw {type_} {name}.steps, {first}"

    def _called(self, function: str, m: re.Match[str]) -> Iterator[str]:
        """A parallel region as a call; what its threads change may be anything at any call."""
        region, given = m[1], POINTER.findall(m[2])
        names, changed = self.stated.parameters[region][OWN:], self.stated.changed(region)
        for pointer, name in zip(given, names, strict=False):
            said = self.stated.defined[function].get(pointer, "")
            if name in changed or not said.startswith("alloca ptr"):
                if name in changed or not SCALAR.match(said):
                    yield f"  call void @rheostat_shared(ptr {pointer})"
                continue
            self.numbers += 1
            yield f"  %rheostat_held.{self.numbers} = load ptr, ptr {pointer}"
            yield f"  call void @rheostat_shared(ptr %rheostat_held.{self.numbers})"
        passed = "".join(f", ptr {p}" for p in ("@rheostat_thread", "@rheostat_thread", *given))
        yield f"  call void @{region}({passed[2:]})"

    def _unpromised(self, function: str, row: str) -> str:
        """A row without what it promises; functions that main alone leads to are its own."""
        if m := ATTRIBUTES.match(row):
            return f'attributes {m[1]} = {{ "of" }}'
        if self.alone and function != "main" and row.startswith("define "):
            row = COMDAT.sub("", LINKAGE.sub("define internal ", row))
        m = MANY.match(row) if function == "main" else None
        if m and m["value"] == next(iter(self.stated.parameters["main"]), ""):
            return f"  store i32 {len(self.inputs.arguments) + 1}, ptr {m['place']}"
        if (function, row.strip().partition(" = ")[0]) in self.counters:
            return row
        return PROMISED.sub("", WRAPS.sub(r"\1 ", row))
