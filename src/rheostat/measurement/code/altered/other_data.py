"""The same output on other data that both programs could have drawn: equal, great, few, in order.

A seed yields one kind of data, and what ties, overflows or is left out on another kind shows on
none of its runs.  Where original and candidate make their data by the same lines, what these keep
of random numbers is replaced alike in both, within its range.  A difference counts where the
original bears it: no overflow, no index beyond an array, and the same output when every rounded
operation is one step off.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rheostat.measurement.code.altered.data_sites import DataSite, data_sites
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.parsing.compare_output import differences
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.reached.marked_builds import LINKED, compiler_texts, linked
from rheostat.measurement.code.surroundings.same_text import without_blanks
from rheostat.measurement.code.toolchain import TEXT, compiler_absent
from rheostat.measurement.code.verdict import Finding
from rheostat.measurement.code.workbench import Built

HELPERS = "other_data"
KINDS = {
    1: "where the data that it draws are of few different values",
    2: "where the data that it draws are as great as they can be",
    3: "where the data that it draws are all equal",
    4: "where the data that it draws are of two values",
    5: "where the data that it draws are mostly 0",
    6: "where one in sixty of the data that it draws is nearly as great as it can be",
    7: "where each of the data that it draws is a step greater than the last",
    8: "where each of the data that it draws is a step less than the last",
    9: "where the data that it draws come in blocks of equal ones",
    10: "where each of the data that it draws has a narrow range",
    11: "where each of the data that it draws has a narrow range of its own",
}
GUIDED = 12
"""Data that a guided search makes (`guided_data`)."""
WHY = "the same lines draw the data of both, and the original bears them"
SOME, SMALL, MOST_CPU_S, RUN_CPU_S, MARKED_CPU_S = 24, 240, 0.09, 0.5, 0.5
"""Inputs of any size and small ones, CPU seconds, half for each; of one run; of all with marks."""
SMALL_SHARE = 5
"""One in so many of many inputs is small; these come first."""
DEAR_KINDS, DEAR_SOME, DEAR_CPU_S = (4,), 4, 4.0
"""The same where each start loads a library that compiles."""
DREW = "rheostat drew"
"""Behind it stands what tells the order of draws, where data go by it."""
OWN_DRAW = "keeps a part of a random number, and the original has no such line beside its data's"
NOISES, MOST_SUSPECT = 3, 6
"""Ways of rounding that are tried, and of how many inputs of a kind of data."""
STEADIER = 0.1
"""Of the tolerance, what the original's own rounding may move on such data."""
FLOATS = re.compile(r"\b(?:float|double|half)\d*\b")
NOT_FINITE = re.compile(r"(?i)\b(?:nan|inf(?:inity)?)\b")
CHECKED = replace(
    TEXT,
    name="other data",
    flags=(*TEXT.flags, "-fsanitize=signed-integer-overflow,shift,bounds,integer-divide-by-zero,"
           "float-cast-overflow", "-fsanitize-trap=all"),
)  # fmt: skip
CALCULATED = re.compile(
    r"  (?P<value>%\S+) = (?P<how>fadd|fsub|fmul|fdiv) (?:(?:fast|nnan|ninf|nsz|arcp|contract|afn|"
    r"reassoc) )*(?P<type>double|float) (?P<one>[^,]+), (?P<other>[^,]+?)(?:, !.*)?$"
)
OF_LIBRARY = re.compile(
    r"  (?P<value>%\S+) = (?P<call>(?:tail )?call [^@]*?(?P<type>double|float) @(?:llvm\.)?"
    r"(?:exp|log|sin|cos|tan|pow|atan|asin|acos|cbrt|hypot|erf|sinh|cosh|tanh|tgamma|lgamma)\w*(?:\.f\d+)?\(.*)"
)


def other_data(case: Case) -> list[Finding]:
    """Where the candidate prints something else on other data that both could have drawn.

    Parameters
    ----------
    case : Case
        The candidate on its way.

    Returns
    -------
    list of Finding
        Empty also where the candidate draws its data by lines of its own.
    """
    draws = shared_draws(case)
    if draws.more or not draws.lines:
        return [_drawn_by(case, text) for text in sorted(draws.more)]
    lines = draws.lines
    original = original_on_other_data(case, draws)
    candidate = case.bench.build(with_other_data(case.candidate, draws.theirs, lines), LINKED)
    if not (original.ok and candidate.ok):
        return []
    for kind in DEAR_KINDS if case.reference.starts_dearly else KINDS:
        known = known_on(case, original, kind)
        apart = _apart(case, candidate, known, kind)
        bears = borne(case, lines, [(g, o) for g, o, _ in apart], partial(_on_kind, case, kind))
        for suspect in (one for one, is_borne in zip(apart, bears, strict=True) if is_borne):
            return [_said(case, *suspect, kind)]
    return []


def original_on_other_data(case: Case, draws: SharedDraws) -> Built:
    """The original with what draws its data replaced."""
    return case.bench.build(with_other_data(case.original, draws.ours, draws.lines), LINKED)


def _can_be_built(case: Case) -> bool:
    """Whether both are built of LLVM's text; how OpenCL's kernels round is not known."""
    programs = (case.original, case.candidate)
    if case.shared_by_compiler or not case.original.inputs.ranges:
        return False
    if any(p.build or compiler_absent(p, "clang") for p in programs):
        return False
    if any(p.language == "cuda" for p in programs) and case.bench.gpu:
        return False
    return not any(p.language == "opencl" and FLOATS.search(p.text) for p in programs)


Sites = Sequence[Sequence[DataSite]]
Printed = Callable[[Built, Sequence[ProgramInput], int], list[str | None]]
Texts = tuple[list[str], list[list[DataSite]]]


@dataclass(frozen=True)
class SharedDraws:
    """Both programs' texts with what draws data in them, and the ``lines`` that draw in both.

    ``more`` are those by which the candidate draws beside them.
    """

    ours: Texts = ([], [])
    theirs: Texts = ([], [])
    lines: frozenset[str] = frozenset()
    more: frozenset[str] = frozenset()


def shared_draws(case: Case) -> SharedDraws:
    """Which lines draw the same data in both; none where one of them cannot be built so."""
    texts = _texts(case) if _can_be_built(case) else None
    if texts is None:
        return SharedDraws()
    ours, theirs = texts
    kept, given = _signs(ours[1], theirs[1])
    lines = _alike(*kept) or _alike(*given)
    return SharedDraws(ours, theirs, lines, frozenset(_more_draws(*kept)))


def _texts(case: Case) -> tuple[Texts, Texts] | None:
    """Both programs' texts with what draws data in them; None where one cannot be built."""
    made = []
    for program in (case.original, case.candidate):
        builds = list(compiler_texts(case, program))
        if not all(b.ok for b in builds):
            return None
        codes = [b.said.stdout for b in builds]
        made.append((codes, data_sites(codes, program, case.original.inputs)))
    return made[0], made[1]


Signs = dict[str, set[tuple[str, int, int | str]]]


def _signs(ours: Sites, theirs: Sites) -> tuple[tuple[Signs, Signs], tuple[Signs, Signs]]:
    """By what lines both keep parts of random numbers, and by what their generators give these.

    A line is a generator's where it is so in one of them.
    """
    made: tuple[tuple[Signs, Signs], tuple[Signs, Signs]] = ({}, {}), ({}, {})
    every = [[s for some in sites for s in some] for sites in (ours, theirs)]
    inner = {s.text for sites in every for s in sites if s.of_generator}
    for which, sites in enumerate(every):
        for site in sites:
            made[site.text in inner][which].setdefault(site.text, set()).add(site.sign)
    return made


def _more_draws(ours: Signs, theirs: Signs) -> set[str]:
    """Lines by which a candidate draws that has all of the original's, too.

    >>> draws, more = {("urem", 32, 9)}, {("and", 64, 8191)}
    >>> _more_draws({"a=draw()%10;": draws}, {"a=draw()%10;": draws, "b=t[state&8191];": more})
    {'b=t[state&8191];'}
    >>> _more_draws({"a=draw()%10;": draws}, {"b=draw()%10;": draws})
    set()
    """
    both = {text for text, signs in theirs.items() if ours.get(text) == signs}
    return set(theirs) - both if ours and both == set(ours) else set()


def _drawn_by(case: Case, text: str) -> Finding:
    """A line of the candidate, as it stands there, that keeps a part of a random number."""
    for name, whole in case.candidate.files.items():
        for number, row in enumerate(whole.splitlines(), 1):
            if without_blanks(row) == text:
                return Finding("output", name, number, OWN_DRAW)
    return case.finding("output", OWN_DRAW)


def _alike(ours: Signs, theirs: Signs) -> frozenset[str]:
    """Lines that draw data in both; none where the candidate draws by more, or by other parts.

    >>> draws, tail = {("urem", 32, 9)}, {("urem", 32, 4092)}
    >>> sorted(_alike({"a=draw()%10;": draws}, {"a=draw()%10;": draws, "t=seed%4093;": tail}))
    ['a=draw()%10;']
    >>> sorted(_alike({"a=draw()%10;": draws}, {"b=draw()%10;": draws}))
    ['a=draw()%10;', 'b=draw()%10;']
    >>> sorted(_alike({"a=draw()%10;": draws}, {"a=draw()%10;": draws, "b=draw()%10;": draws}))
    []
    """
    if ours and _all_of(ours) == _all_of(theirs):
        return frozenset(ours) | frozenset(theirs)
    both = {text for text, signs in theirs.items() if ours.get(text) == signs}
    own = [signs for text, signs in theirs.items() if text not in both]
    of_both = {s for text in both for s in theirs[text]}
    own_draws = any(signs & of_both for signs in own) or (own and both != set(ours))
    return frozenset() if own_draws else frozenset(both)


def _all_of(signs: Signs) -> Counter[tuple[str, int, int | str]]:
    return Counter(s for some in signs.values() for s in some)


def with_other_data(
    program: Program, texts: Texts, lines: frozenset[str], *, noisy: bool = False
) -> Program:
    """The program with calls in the place of what draws its data, and of what rounds."""
    made = {f"other{i}.ll": text for i, text in enumerate(replaced(texts, lines, noisy=noisy))}
    return linked(replace(program, objects=(HELPERS,)), made)


def replaced(texts: Texts, lines: frozenset[str], *, noisy: bool = False) -> Iterator[str]:
    """LLVM's texts with calls in the place of what draws data, and of what rounds.

    Parameters
    ----------
    texts : tuple of list
        They, with marks or without, and what draws data in each.
    lines : frozenset of str
        Those that draw the data of both.
    noisy : bool
        Whether what is rounded is one step off.
    """
    for code, sites in zip(*texts, strict=True):
        rows = {s.row: _replaced(s, n) for n, s in enumerate(sites) if s.text in lines}
        whole = [rows.get(row, row) for row in code.splitlines()]
        whole = [_rounded(n, row) for n, row in enumerate(whole)] if noisy else whole
        yield "\n".join([*whole, *_declared(code, noisy=noisy), ""])


def _declared(code: str, *, noisy: bool) -> list[str]:
    made = [f"declare i{b} @rheostat_{s}data_i{b}(i{b}, i{b})"
            for b in (32, 64) for s in ("", "signed_")]  # fmt: skip
    made += [f"declare i{b} @rheostat_base_i{b}(i{b})" for b in (32, 64)]
    for t in ("double", "float") if noisy else ():
        made += [f"declare {t} @rheostat_{how}_{t}({t}, {t})"
                 for how in ("fadd", "fsub", "fmul", "fdiv")]  # fmt: skip
        made.append(f"declare {t} @rheostat_near_{t}({t})")
    return made


def _replaced(site: DataSite, number: int) -> str:
    """A row whose part of a random number is another one."""
    kind, name = f"i{site.bits}", f"%rheostat.data.{number}"
    function = f"@rheostat_{'signed_' * (site.how in ('srem', 'sitofp'))}data_{kind}"
    value, _, said = site.row.strip().partition(" = ")
    rows, greatest = [], str(site.greatest)
    if isinstance(site.greatest, str):
        greatest = f"{name}.greatest"
        rows.append(f"  {greatest} = sub {kind} {site.greatest}, 1")
    if site.how.endswith("fp"):
        of = said.split()[2]
        rows.append(f"  {name} = call {kind} {function}({kind} {of}, {kind} {greatest})")
        rows.append(f"  {value} = {said.replace(of + ' to', name + ' to', 1)}")
    else:
        rows.append(f"  {name} = {said}")
        rows.append(f"  {value} = call {kind} {function}({kind} {name}, {kind} {greatest})")
    return "\n".join(rows)


def _rounded(number: int, row: str) -> str:
    """A row whose floating-point result is one step off where it is rounded."""
    if m := CALCULATED.match(row):
        kind = m["type"]
        return (f"  {m['value']} = call {kind} @rheostat_{m['how']}_{kind}"
                f"({kind} {m['one']}, {kind} {m['other']})")  # fmt: skip
    if m := OF_LIBRARY.match(row):
        name, kind = f"%rheostat.near.{number}", m["type"]
        near = f"  {m['value']} = call {kind} @rheostat_near_{kind}({kind} {name})"
        return f"  {name} = {m['call']}\n{near}"
    return row


def known_on(case: Case, original: Built, kind: int) -> list[tuple[ProgramInput, str]]:
    """Inputs on which the original ends well and prints finite numbers on such data."""
    reference = case.reference
    many = [given for given, _ in case.many]
    of_any_size = [e.given for e in (*reference.small, *reference.edges)]
    of_any_size += many[:: len(many) // SOME + 1]
    groups = [many[: len(many) // SMALL_SHARE][:SMALL], of_any_size]
    groups = [of_any_size[:DEAR_SOME]] if reference.starts_dearly else groups
    known = list[tuple[ProgramInput, str]]()
    for inputs in filter(None, groups):
        outputs = printed_on(case, original, inputs, kind, share=1 / len(groups))
        known += [(g, o) for g, o in zip(inputs, outputs, strict=False)
                  if o is not None and not NOT_FINITE.search(o)]  # fmt: skip
        if not known:  # on such data it may never end
            break
    return known


def _apart(
    case: Case, candidate: Built, known: Sequence[tuple[ProgramInput, str]], kind: int
) -> list[tuple[ProgramInput, str, str]]:
    """Inputs on which the candidate prints something else; runs that share memory prove nothing."""
    apart: list[tuple[ProgramInput, str, str]] = []
    for shares in (True, False):
        outputs = printed_on(case, candidate, [g for g, _ in known], kind, shares=shares)
        apart = [
            (given, output, got) for (given, output), got in zip(known, outputs, strict=False)
            if got is not None and got.partition(DREW)[2] == output.partition(DREW)[2]
            and differences(got, output, case.reference.agreed)
        ][:MOST_SUSPECT]  # fmt: skip
        known = [(given, output) for given, output, _ in apart]
    return apart


def _on_kind(
    case: Case, kind: int, built: Built, inputs: Sequence[ProgramInput], noise: int
) -> list[str | None]:
    return printed_on(case, built, inputs, kind, noise)


def printed_on(
    case: Case, built: Built, inputs: Sequence[ProgramInput], kind: int, noise: int = 0,
    *, shares: bool = True, share: float = 1.0, kept: Path | None = None,
) -> list[str | None]:  # fmt: skip
    """What a program prints on such data; one with marks leaves them in the folder ``kept``.

    ``share``: of the CPU seconds that there are.
    """
    limits = case.limits(case.reference.small[0])
    run_s, most_s = RUN_CPU_S, MARKED_CPU_S if kept else MOST_CPU_S
    if case.reference.starts_dearly:
        run_s = most_s = DEAR_CPU_S
    most_s *= share
    limits = replace(limits, cpu_s=min(limits.cpu_s, run_s))
    environment = {"RHEOSTAT_DATA": str(kind), "RHEOSTAT_NOISE": str(noise)}
    if shares:
        return case.bench.run_many(built, inputs, limits, most_s, environment, kept=kept)
    return case.bench.run_each(built, inputs, limits, environment=environment, most_cpu_s=most_s)


def borne(
    case: Case, lines: frozenset[str], known: Sequence[tuple[ProgramInput, str]], printed: Printed
) -> list[bool]:  # fmt: skip
    """Where the original prints this, too, checked and whatever way its results are rounded.

    Parameters
    ----------
    case : Case
        The candidate on its way.
    lines : frozenset of str
        Those that draw the data of both.
    known : sequence of tuple
        Inputs and what the original prints.
    printed : callable
        Runs a build on inputs, its results rounded in a way of that number.
    """
    if not (bears := [False] * len(known)):  # as of most candidates: nothing differs
        return bears
    builds = list(compiler_texts(case, case.original, CHECKED))
    codes = [b.said.stdout for b in builds if b.ok]
    texts = codes, data_sites(codes, case.original, case.original.inputs)
    built = case.bench.build(with_other_data(case.original, texts, lines, noisy=True), LINKED)
    if len(codes) < len(builds) or not built.ok:
        return bears
    agreed = case.reference.agreed
    steady = replace(agreed, relative=(agreed.relative or 0.0) * STEADIER)
    bears = [True] * len(known)
    for noise in range(NOISES + 1):
        outputs = printed(built, [g for g, _ in known], noise)
        outputs += [None] * (len(known) - len(outputs))
        bears = [
            still and got is not None and not differences(got, output, steady)
            for still, got, (_, output) in zip(bears, outputs, known, strict=True)
        ]
    return bears


def _said(case: Case, given: ProgramInput, output: str, got: str, kind: int) -> Finding:
    d = differences(got, output, case.reference.agreed)[0]
    message = (f"with {given.words}, {KINDS[kind]}, output line {d.line}: expected "
               f"{d.expected!r:.120}, got {d.got!r:.120}")  # fmt: skip
    return case.finding("output", message)
