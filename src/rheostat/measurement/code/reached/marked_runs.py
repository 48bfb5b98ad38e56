"""What no input reached: comparisons that came out one way only, lines that were never run.

A mistake that one input in a million shows stands behind a comparison, and the output of any
number of inputs does not vouch for what lies there.  Left out is what the original has as well, and
what ends the program with an error, which nobody takes for a result.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from rheostat.measurement.code.altered.hash_texts import weakened
from rheostat.measurement.code.altered.more_marks import (
    without_many,
    without_other_data,
    without_other_order,
    without_other_sizes,
)
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.parsing.precision import SINGLE_PRECISION
from rheostat.measurement.code.programs.expected import Expected
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.reached.choices import MOST_ROW, compares_difference
from rheostat.measurement.code.reached.compared_numbers import LEAST_NUMBER, numbers_in
from rheostat.measurement.code.reached.constant_values import RECORD, Narrowing
from rheostat.measurement.code.reached.filled_room import without_filled
from rheostat.measurement.code.reached.guards import is_guard
from rheostat.measurement.code.reached.letters import asks_kind, kinds_in
from rheostat.measurement.code.reached.lines_elsewhere import lines_of
from rheostat.measurement.code.reached.marked_builds import (
    LINKED,
    bytes_left,
    compiler_texts,
    factors_of_original,
    run_marked,
    with_marks,
)
from rheostat.measurement.code.reached.marked_text import marked
from rheostat.measurement.code.reached.marks import Comparison, Marked
from rheostat.measurement.code.reached.open_marks import Left, left_of
from rheostat.measurement.code.reached.proved_ways import without_proved
from rheostat.measurement.code.reached.runs_for_marks import SOME, runs_for_marks
from rheostat.measurement.code.reached.source_places import Places
from rheostat.measurement.code.reached.stated_ranges import stated_ends
from rheostat.measurement.code.reached.sums import Digits
from rheostat.measurement.code.reached.touched_bounds import without_touched
from rheostat.measurement.code.reached.unread_entries import given
from rheostat.measurement.code.reference import OneKind, OneWay
from rheostat.measurement.code.surroundings.same_text import without_blanks
from rheostat.measurement.code.toolchain import compiler_absent
from rheostat.measurement.code.verdict import Finding
from rheostat.measurement.code.workbench import Built

WHY = "what no run reached cannot be vouched for"
UNREAD = "it cannot be built with marks of what is reached, the original can"
UNMARKED = ("cuda", "opencl")
"""Languages that are not marked, but for CUDA on the host: originals, and what takes their place.
What comes out one way there is not known of a device, and a line of its text is its own question.
"""
ENDS_S, THREADS_S = 0.5, 1.0
"""CPU seconds of many inputs where only ends of values are left to be seen; and of those that are
run with many threads, which may wait for each other on few cores."""
TIES = re.compile(r"==.*&&.*[<>]|[<>].*&&.*==")
"""The lower index of two equal values, whose order `races` looks at: whether both ways are taken
hangs on the data, and so does whether one of nothing at all (`best > 0`) may be among them."""
CHARACTER = re.compile(r"'(?:[^'\\\n]|\\.)+'")
LEFT_OUT = "no input that was tried reaches this line of the original, which is not here: {}"
OTHERWISE = ", where the original does another thing"
WORDS = {"eq": "equal to", "lt": "less than", "gt": "greater than", "nan": "not a number, beside"}


def unreached(case: Case) -> list[Finding]:
    """Comparisons of the candidate that no input decides both ways, and lines that none reaches.

    Parameters
    ----------
    case : Case
        The candidate on its way.

    Returns
    -------
    list of Finding
        Empty also where inputs have no ranges, a build of its own lets nothing be marked, or the
        text is the original's but for plain pragmas.
    """
    if case.shared_by_compiler or case.asks_nothing_new:
        return []
    made = _marked(case, case.candidate) if case.original.inputs.ranges else None
    if made is None and _refused(case, case.candidate) and _marked(case, case.original):
        return [case.finding("output", UNREAD)]
    if made and (cut := _cut_numbers(case, made[1])):
        return cut
    left, kept = Left(), bool(made and _own_values(case, made[1]))
    most_s = [0.0]
    for left in _stages(case, case.candidate, made, case.own_edges, most_s):
        open_ = _beyond(case, left)
        if not (kept or open_):
            return _left_out(case)
        most_s[0] = 0.0 if open_ else ENDS_S
    if made and (_beyond(case, left) or _too_narrow(case, left)):
        left = without_proved(case, made[1], left)
    for without in (without_many, without_other_order, without_other_data, without_other_sizes,
                    without_touched):  # fmt: skip
        if made and _beyond(case, left):
            left = without(case, made[1], left)
    if made and _too_narrow(case, left):
        left = without_filled(case, made[1], left)
    return _beyond(case, left) + _too_narrow(case, left) + (_left_out(case) if made else [])


def _cut_numbers(case: Case, whole: Sequence[Marked]) -> list[Finding]:
    """Where the candidate cuts numbers of threads, or quotients, and the original does not."""
    known = lines_of(case.original)
    return [Finding("output", *at[:2], said) for m in whole for at, said in m.cut
            if without_blanks(case.candidate.row(*at[:2])) not in known]  # fmt: skip


def _left_out(case: Case) -> list[Finding]:
    """Rare cases of the original that no input reaches, whose line and constants are not here."""
    if case.original.language in UNMARKED and case.original.language != case.candidate.language:
        return []
    own, constants = lines_of(case.candidate), _constants(case.candidate.text)
    texts = dict.fromkeys(
        text for text in _of_original(case)[2]
        if without_blanks(text) not in own and not constants & _constants(text)
    )  # fmt: skip
    return [case.finding("output", LEFT_OUT.format(text.strip())) for text in texts]


def _constants(text: str) -> set[float | str]:
    """Numbers that are not small, and characters.

    >>> sorted(_constants("if (c >= 'a' && n > 1)")), sorted(_constants("s == 31"))
    (["'a'"], [31])
    """
    return {*(n for n in numbers_in(text) if n >= LEAST_NUMBER), *CHARACTER.findall(text)}


def _own_values(case: Case, whole: Sequence[Marked]) -> list[Narrowing]:
    """What the candidate narrows on lines that the original has not."""
    known = lines_of(case.original)
    floats = SINGLE_PRECISION.search(case.original.text) or case.reference.tolerance.relative
    return [n for m in whole for n in m.values if not (n.rounds and floats) and
            (n.counts or without_blanks(case.candidate.row(*n.at[:2])) not in known)]  # fmt: skip


def _too_narrow(case: Case, left: Left) -> list[Finding]:
    """Values near the end of what is kept of them, but for as many that the original keeps so."""
    own = {n.at for n in _own_values(case, [Marked("", 0, values=[n for n, _ in left.values])])}
    near = [(n, said) for n, said in left.values if n.at in own]
    known = Counter(_values_of_original(case)) if near else Counter()
    made = []
    for n, said in near:
        known[n.most] -= 1
        if known[n.most] < 0:
            made.append(Finding("output", *n.at[:2], said))
    return made


def _other_lines(case: Case, left: Left) -> list[Finding]:
    """Lines that were not reached and whose text the original has not."""
    known = lines_of(case.original)
    return [Finding("output", file, line, "no input that was tried reaches this line")
            for file, line in sorted(left.lines)
            if without_blanks(case.candidate.row(file, line)) not in known]  # fmt: skip


def _beyond(case: Case, left: Left) -> list[Finding]:
    """Findings in what is left, without what comes out one way only in the original, too.

    That is a line of the same text, or as many comparisons of the same kind with the same number
    and the same constants and calls behind them.
    """
    by_text, by_kind = (
        (Counter(c) for c in _of_original(case)[:2]) if left.comparisons else ({}, {})
    )
    others, known = [], set(by_kind)
    theirs = {str(n) for n in numbers_in(case.original.text)}
    asked_there = {k[:3] for k in known}
    unmarked = lines_of(case.original) if case.original.language in UNMARKED else set()
    for c, missing in left.comparisons:
        row = case.candidate.row(*c.at[:2])
        if is_guard(c, row, case.candidate.files[c.at[0]]) or without_blanks(row) in unmarked:
            continue
        cut = c.constant in theirs and compares_difference(row, c.at[2])  # as `max(0, x - 9)` does
        same, kind = _text_and_kind(row, replace(c, constant="0") if cut else c, missing)
        row = row[:MOST_ROW]
        if TIES.search(row) and (c.tie or (c.constant == "0" and c.how != "eq")):
            continue
        if by_text[same] > 0:
            by_text[same] -= 1
            by_kind[kind] -= 1
        else:
            others.append((c, missing, kind))
    found_at = []
    letters = kinds_in(case.original.text) if others else set()
    for c, missing, kind in others:
        by_kind[kind] -= 1
        if kind[:3] in asked_there and asks_kind(c, case.candidate.row(*c.at[:2]), letters):
            continue  # the texts have no such characters
        if by_kind[kind] < 0:
            other = kind[:3] in asked_there and kind not in known
            found_at.append(_one_way(c, missing, OTHERWISE if other else ""))
    return sorted(found_at, key=lambda f: f.line) + _other_lines(case, left) + left.tables


def _values_of_original(case: Case) -> Counter[int]:
    """Ends of what the original keeps of values that come near them."""
    if case.reference.near_ends is None:
        made = _marked(case, case.original, values_alone=True)
        *_, last = [Left(), *_stages(case, case.original, made, ())]
        case.reference.near_ends = Counter(n.most for n, _ in last.values)
    return case.reference.near_ends


def _of_original(case: Case) -> tuple[OneWay, OneWay, tuple[str, ...]]:
    """What comes out one way only in the original, by the text of its line and by what is asked.

    Behind it lines that it never reaches.
    """
    if case.reference.one_way is None:
        own = case.original
        made, left = _marked(case, own), Left()
        for left in _stages(case, own, made, (), fewer=True):
            if not (left.comparisons or left.lines):
                break  # more runs leave nothing less
        comparisons = left.comparisons
        keys = [_text_and_kind(own.row(*c.at[:2]), c, m) for c, m in comparisons]
        case.reference.one_way = (
            Counter(text for text, _ in keys), Counter(kind for _, kind in keys),
            tuple(own.row(*at) for at in sorted(left.lines | _rare(comparisons))),
        )  # fmt: skip
    return case.reference.one_way


def _text_and_kind(row: str, c: Comparison, missing: bool) -> tuple[OneKind, OneKind]:
    """What tells a comparison from others: its line, or what it asks and what is done behind it.

    A cut-off puts what it compares with in the value's place: `x < 200 ? x : 200`, or `min`.
    """
    return (without_blanks(row), c.how, missing, frozenset()), (
        c.constant, c.how, missing, c.behind - {c.constant})  # fmt: skip


def _rare(comparisons: Sequence[tuple[Comparison, bool]]) -> set[tuple[str, int]]:
    """Lines whose comparison with a whole number from 3 on never held."""
    return {c.at[:2] for c, missing in comparisons
            if missing and c.constant.isdecimal() and int(c.constant) >= LEAST_NUMBER}  # fmt: skip


def _one_way(c: Comparison, missing: bool, more: str) -> Finding:
    other = c.constant or "what it is compared with"
    seen = "never" if missing else "always"
    message = f"with the inputs that were tried this is {seen} {WORDS[c.how]} {other}{more}"
    return Finding("output", c.at[0], c.at[1], message)


def lines_of_original(case: Case, code: str) -> Callable[[str], bool]:
    """Whether a row of the candidate's text as LLVM's is of a line that the original has.

    Parameters
    ----------
    case : Case
        The candidate on its way.
    code : str
        LLVM's text of one of its sources.
    """
    known, places = lines_of(case.original), Places(code, case.candidate.files)

    def of_original(row: str) -> bool:
        at = places.of(row)
        return at is not None and without_blanks(case.candidate.row(*at[:2])) in known

    return of_original


def _marked(
    case: Case, program: Program, *, weak: bool = False, values_alone: bool = False
) -> tuple[Built, list[Marked]] | None:  # fmt: skip
    """The program built with marks; None where that cannot be done, or no hash is made weak.

    Values are kept of the candidate's own lines; of the original's only where they are all that is.
    """
    if not is_marked(case, program):
        return None
    whole: list[Marked] = []
    theirs = {
        one for made in compiler_texts(case, case.original) for one in given(made.said.stdout)
    }
    for made in compiler_texts(case, program):
        if not made.ok:
            return None
        first = whole[-1].end if whole else 0
        values = sum(len(m.values) for m in whole)
        stated = stated_ends(case.original.inputs)
        code = made.said.stdout
        if weak:
            known = factors_of_original(case)
            code, hashes = weakened(code, known, theirs=lines_of_original(case, code))
            if not hashes:
                return None
        whole.append(marked(code, program.files, first, values, stated, theirs))
    if not whole[-1].end:  # nothing of the program's own
        return None
    own = [] if program is case.original or weak else _own_values(case, whole)
    numbers = {n.number for n in own}
    if values_alone:
        numbers = {n.number for m in whole for n in m.values}
    seen = bytes([values_alone]) * whole[-1].end
    built = case.bench.build(with_marks(program, whole, seen, numbers), LINKED)
    return (built, whole) if built.ok else None


def is_marked(case: Case, program: Program) -> bool:
    """Whether its text can have marks.

    Not where a command of its own builds it, nor where it is for a device: the host is slow with
    what is quick in another language.
    """
    both = case.original_on_host and (case.on_host or program is case.original)
    on_host = program.language == "cuda" and both
    for_device = program.language in UNMARKED and not on_host
    return not (program.build or for_device or compiler_absent(program, "clang"))


def _refused(case: Case, program: Program) -> bool:
    """Whether the compiler refuses its text; a build that was stopped, by load say, is none."""
    if not (case.original.inputs.ranges and is_marked(case, program)):
        return False
    return any(not made.ok and not made.said.stopped for made in compiler_texts(case, program))


def _stages(
    case: Case, program: Program, made: tuple[Built, list[Marked]] | None,
    own_edges: Sequence[Expected], most_s: Sequence[float] = (0.0,), *, fewer: bool = False,
) -> Iterator[Left]:  # fmt: skip
    """What is left after more and more runs; many take ``most_s`` CPU seconds at most if not 0.

    With ``fewer`` marks that the first runs have set are left out of the others.
    """
    if made is None:
        return
    built, whole = made
    with case.bench.run_folder("reached") as place:
        for number, runs in enumerate(runs_for_marks(case, program, own_edges)):
            limits = case.limits(case.reference.expected[0], runs.threads)
            few_s = THREADS_S * (runs.threads > 1)
            seconds = most_s[0] if len(runs.inputs) > 2 * SOME else few_s
            run_marked(case.bench, built, runs, limits, seconds, place)
            seen = bytes_left(place / "reached", whole[-1].end)
            left = left_of(whole, seen, program)
            left.kept = bytes_left(
                place / "values", RECORD.size * sum(len(m.values) for m in whole)
            )
            left.values = _near(whole, left.kept, numbers_in(case.original.text))
            yield left
            if fewer and not number:
                other = case.bench.build(with_marks(program, whole, seen, ()), LINKED)
                built = other if other.ok else built
        weak = _marked(case, program, weak=True) if program is case.candidate else None
        if (
            weak and weak[1][-1].end == whole[-1].end
        ):  # what stands behind two hashes that are alike
            first = next(runs_for_marks(case, program, own_edges))
            limits = case.limits(case.reference.expected[0], first.threads)
            case.bench.run_each(weak[0], first.inputs, limits, kept=place)
            weak_left = left_of(whole, bytes_left(place / "reached", whole[-1].end), program)
            yield replace(weak_left, values=left.values, kept=left.kept)


def _near(
    whole: Sequence[Marked], left: bytes, known: Sequence[int]
) -> list[tuple[Narrowing, str]]:
    """Values that came near the end of what is kept of them, which no ``known`` number says."""
    return [(n, said) for m in whole for n in m.values if (said := n.finding(left))
            and not (isinstance(n, Digits) and n.is_known(left, known))]  # fmt: skip
