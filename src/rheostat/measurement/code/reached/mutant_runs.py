"""Decisions and operands of the candidate that were reached and whose effect no output ever showed.

That a line was run says nothing of what it did: an entry of a table may be wrong that nobody asked
for, a factor may be one to the last digit of every output.  What goes the rarer way is made to go
the common one, as a mutant of the program (mutation analysis), and where each input still gives
the same output no run has shown that it was right.  An expression that the original has as well,
and whose mutants there show nothing either, is not the candidate's.
"""

from __future__ import annotations

import random
import re
import struct
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rheostat.measurement.code.case import Case
from rheostat.measurement.code.parsing.compare_output import differences
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.reached.choices import MOST_ROW
from rheostat.measurement.code.reached.margin_runs import Margin, margins
from rheostat.measurement.code.reached.margins_on_data import Mutated, without_needed
from rheostat.measurement.code.reached.marked_builds import (
    ARRAYS,
    LINKED,
    NO_STACK,
    array,
    compiler_texts,
    linked,
)
from rheostat.measurement.code.reached.marked_runs import TIES, is_marked, lines_of_original
from rheostat.measurement.code.reached.marks import At
from rheostat.measurement.code.reached.mutant_constants import is_usual, rounds_up, sizes_in
from rheostat.measurement.code.reached.mutant_text import WAYS, Site, with_mutants
from rheostat.measurement.code.reached.open_marks import made_by_pragmas
from rheostat.measurement.code.reached.source_places import Places
from rheostat.measurement.code.reference import QUICK_S
from rheostat.measurement.code.toolchain import SANITIZER_OPTIONS, BuildKind
from rheostat.measurement.code.verdict import Finding
from rheostat.measurement.code.workbench import Built, roomy

WHY = "what changes no output cannot be seen to be right"
SAID = "{}: with the inputs that were tried no output would be another one without it"
GOES = "of {:,} times this came out the rarer way {:,} times"
RUNTIME, MUTANTS, OUTCOMES = "mutants", "mutants", "outcomes"
INPUTS, BESIDE, LEAST_INPUTS, LEAST_SHOWN = 192, 32, 48, 4
"""Inputs that are run, how many of them beside multiples; fewer of both say nothing, and fewer
on which the rarer way was taken."""
COUNTED_S, MUTANTS_S = 0.2, 0.2
ON_HOST, ON_HOST_S = 24, 0.5
"""Inputs of CUDA on the host, whose runs take longer, and CPU seconds for them."""
MORE_S, ROOM_S = 0.5, 2.0
"""CPU seconds of more inputs for what is suspected there: of the program, and of its mutants; of
runs with addresses checked."""
ADDRESSES = BuildKind("addresses", "clang", (), "-O1", mark="__asan_init")
DEFINED = re.compile(r"(?m)^(define .*)( #\d+ )")
TURNS = (1, 4, 24, INPUTS)
"""On how many inputs mutants are run that no input before has shown."""
RARE_DECISION, RARE_OPERAND = 0.01, 0.25
"""Ways that are taken more often may be two ways to the same result, as they are in right programs
(a swap with itself that is left out, the slope of Newton's method)."""
TINY = 2
"""Where a result differs from an operand by less than shows."""
NONE, WHEREVER = -1, 1 << 24
"""The number of the program as it is."""


@dataclass(frozen=True)
class _OpenMutant:
    """A mutant without a way (its number, and how often it was gone), and the inputs it is on."""

    site: Site
    way: int
    rarer: int
    total: int
    inputs: Sequence[int]

    @property
    def mutant(self) -> int:
        """Its number."""
        return 2 * self.site.number + (0 if self.site.said else 1 - self.way)

    @property
    def words(self) -> str:
        """What stands there, and how often."""
        return self.site.said or GOES.format(self.total, self.rarer)


def never_shown(case: Case) -> list[Finding]:
    """Decisions and operands on lines of the candidate's own that changed no output.

    Parameters
    ----------
    case : Case
        The candidate on its way.

    Returns
    -------
    list of Finding
        Empty also where inputs have no ranges or nothing can be marked.
    """
    if case.shared_by_compiler or case.asks_nothing_new or not case.original.inputs.ranges:
        return []
    program, numbers = case.candidate, _own_numbers(case)
    made = _mutated(case, program, _own(case), numbers) if is_marked(case, program) else None
    if made is None:
        return []
    with case.bench.run_folder("mutants") as place:
        runs = _Mutants(case, made, place)
        few = [m for m in runs.margins() if not _rounds_up(case, m.site)]
        few = without_needed(case, _for_other_data(made), few)
        left = _without_known(case, runs, place)
    return [*(Finding("output", *q.site.at[:2], SAID.format(q.words)) for q in left),
            *(Finding("output", *m.site.at[:2], m.said) for m in few)]  # fmt: skip


def _for_other_data(made: _WithMutants) -> Mutated:
    """What is run on other data with a near number in the place of another."""

    def row(margin: Margin | None, value: float) -> bytes:
        return _constants([(margin.site, value, 0)])[0] if margin else _number(NONE)

    texts = made.built.program.files
    return Mutated(texts, [name for name in texts if name.endswith(".ll")], RUNTIME, row)


def _rounds_up(case: Case, site: Site) -> bool:
    row = case.candidate.row(*site.at[:2])
    return site.constant is not None and rounds_up(row, site.constant.value)


def _without_known(case: Case, runs: _Mutants, place: Path) -> list[_OpenMutant]:
    """Those that no input shows, not those that show nothing in the original either.

    The candidate's ``runs`` leave their outcomes in a folder, and so do the others.
    """
    left = runs.left()
    if left and case.on_host:  # few inputs were run
        more = [given for given, _ in case.many][:INPUTS]
        other = _Mutants(case, runs.made, place, more, (MORE_S, MORE_S))
        left = other.not_shown(left)
    forms = {q.site.form for q in left} - {""}
    original = case.original
    if not forms or not is_marked(case, original):
        return left
    made = _mutated(case, original, lambda code: Places(code, original.files).of)
    if made is None:
        return left
    theirs = _Mutants(case, made, place, runs.inputs, runs.seconds)
    known = theirs.idle_forms(forms)
    return [q for q in left if (q.site.form, q.site.said) not in known]


@dataclass(frozen=True)
class _WithMutants:
    """A program with mutants, and where they are."""

    program: Program
    built: Built
    sites: list[Site]


def _mutated(
    case: Case, program: Program, place_in: Callable[[str], Callable[[str], At | None]],
    numbers: Collection[float] = (),
) -> _WithMutants | None:  # fmt: skip
    """A program with mutants; None where it has none or cannot be built so."""
    texts: dict[str, str] = {}
    sites: list[Site] = []
    for number, made in enumerate(compiler_texts(case, program)):
        if not made.ok:
            return None
        code = made.said.stdout
        made_of = with_mutants(code, place_in(code), len(sites), numbers)
        texts[f"mutants{number}.ll"], some = made_of
        sites += some
    if not sites:
        return None
    texts[ARRAYS] = _arrays(sites)
    built = case.bench.build(linked(program, texts, runtime=RUNTIME), LINKED)
    return _WithMutants(program, built, sites) if built.ok else None


def _addresses_checked(made: _WithMutants) -> Program:
    """The same with clang's sanitizer, which looks at functions that say so."""
    texts = {name: DEFINED.sub(r"\1 sanitize_address\2", text) if name.endswith(".ll") else text
             for name, text in made.built.program.files.items()}  # fmt: skip
    return linked(made.program, texts, "-fsanitize=address", runtime=RUNTIME)


def _arrays(sites: Sequence[Site]) -> str:
    """Where outcomes are kept, and what the sites' constants are."""
    held = (int.from_bytes(s.constant.packed(s.constant.value), "little") if s.constant else 0
            for s in sites)  # fmt: skip
    outcomes = array("rheostat_outcomes", 8 * WAYS * len(sites))
    return outcomes + array("rheostat_constants", 8 * len(sites), held) + NO_STACK


def _own_numbers(case: Case) -> set[float]:
    """Sizes of the numbers that stand in the candidate's instructions more often than there."""

    def sizes(program: Program) -> Counter[float]:
        made = Counter[float]()
        for text in compiler_texts(case, program):
            place = Places(text.said.stdout, program.files).of
            made += sizes_in(row for row in text.said.stdout.splitlines() if place(row))
        return made

    return {n for n in sizes(case.candidate) - sizes(case.original) if not is_usual(n)}


def _own(case: Case) -> Callable[[str], Callable[[str], At | None]]:
    """Places of a text's rows that the original has not, without what OpenMP's pragmas make."""
    pragmas = made_by_pragmas(case.candidate)

    def place_in(code: str) -> Callable[[str], At | None]:
        places, of_original = Places(code, case.candidate.files), lines_of_original(case, code)

        def place(row: str) -> At | None:
            at = places.of(row)
            return None if at is None or at[:2] in pragmas or of_original(row) else at

        return place

    return place_in


def inputs_of(case: Case) -> list[ProgramInput]:
    """Inputs of quick runs, of all parts of the ranges."""
    every = [e.given for e in (*case.inputs(), *case.own_edges) if e.cpu_s < QUICK_S]
    beside = [given for given, _ in case.beside_multiples][:BESIDE]
    many = [given for given, _ in case.many]
    random.Random(case.reference.seed).shuffle(many)
    return [*every, *beside, *many][:INPUTS]


def _number(mutant: int, constant: int = NONE, value: bytes = bytes(8)) -> bytes:
    """A run's mutant as the runtime reads it."""
    return struct.pack("2i", mutant, constant) + value


def _constants(asked: Sequence[tuple[Site, float, int]]) -> list[bytes]:
    """Runs with another constant at these sites."""
    return [_number(2 * s.number, s.number + WHEREVER * s.wherever, s.constant.packed(x))
            for s, x, _ in asked if s.constant]  # fmt: skip


class _Mutants:
    """Runs of the mutants of one build, which leave their outcomes in a folder."""

    def __init__(
        self, case: Case, made: _WithMutants, place: Path,
        inputs: Sequence[ProgramInput] | None = None, seconds: tuple[float, float] | None = None,
    ) -> None:  # fmt: skip
        self.case, self.made, self.sites, self.place = case, made, made.sites, place
        on_host = case.on_host
        self.inputs = (
            inputs_of(case)[: ON_HOST if on_host else INPUTS] if inputs is None else inputs
        )
        self.seconds = seconds or ((ON_HOST_S,) * 2 if on_host else (COUNTED_S, MUTANTS_S))
        (place / OUTCOMES).unlink(missing_ok=True)
        none = [_number(NONE)] * len(self.inputs)
        self.wanted = self._run(self.inputs, none, self.seconds[0])
        self.counts = self._outcomes(len(self.wanted))
        self.ended = np.array([said is not None for said in self.wanted], dtype=bool)
        if len(self.wanted) < min(LEAST_INPUTS, len(self.inputs)):
            self.sites = []

    def margins(self) -> list[Margin]:
        """Constants that are margins."""
        reached = self.counts.sum(axis=2) * self.ended[:, None]

        def differ(asked: Sequence[tuple[Site, float, int]]) -> list[bool | None]:
            rows = _constants(asked)
            outputs = self._run([self.inputs[i] for *_, i in asked], rows, self.seconds[1])
            return [None if got is None else self._differs(got, self.wanted[i])
                    for (*_, i), got in zip(asked, outputs, strict=False)]  # fmt: skip

        return margins(self.sites, reached, differ, self._fail)

    def _fail(self, asked: Sequence[tuple[Site, float, int]]) -> list[bool]:
        """Which of them end with an error of memory, on inputs where the program has none."""
        built = self.case.bench.build(_addresses_checked(self.made), ADDRESSES)
        if not built.ok:
            return []
        numbers = [i for *_, i in asked]
        rows = [row for one in _constants(asked) for row in (_number(NONE), one)]
        (self.place / MUTANTS).write_bytes(b"".join(rows))
        limits = roomy(self.case.limits(self.case.reference.expected[0]))
        outputs = self.case.bench.run_each(
            built, [self.inputs[i] for i in numbers for _ in range(2)], limits,
            most_cpu_s=ROOM_S, environment=SANITIZER_OPTIONS, kept=self.place)  # fmt: skip
        pairs = zip(outputs[::2], outputs[1::2], strict=False)
        return [as_it_is is not None and other is None for as_it_is, other in pairs]

    def left(self) -> list[_OpenMutant]:
        """Those that no input showed, in the order of their lines."""
        return sorted(self._open(self._questions())[0], key=lambda q: q.site.at)

    def not_shown(self, some: Sequence[_OpenMutant]) -> list[_OpenMutant]:
        """Those of another run's that no input here shows."""
        asked = {q.mutant: [*self._question(q.site, q.way)] for q in some}
        open_, unrun = self._open(q for here in asked.values() for q in here)
        left = {q.mutant for q in (*open_, *unrun)}
        return [q for q in some if q.mutant in left or not asked[q.mutant]]

    def idle_forms(self, forms: Collection[str]) -> set[tuple[str, str]]:
        """Operands of these expressions that show nothing here, wherever they stand."""
        every = [s for s in self.sites if s.form in forms]
        open_, _ = self._open(q for s in every for q in self._question(s, 0))
        idle = {q.site for q in open_}
        shown = {(s.form, s.said) for s in every if s not in idle}
        return {(s.form, s.said) for s in idle} - shown

    def _open(
        self, some: Iterable[_OpenMutant]
    ) -> tuple[list[_OpenMutant], list[_OpenMutant]]:  # fmt: skip
        """Those that no input showed, and those for which there was no time."""
        open_, unrun = {q.mutant: q for q in some}, dict[int, _OpenMutant]()
        done = 0
        for most in TURNS:
            asked = [(q, i) for q in open_.values() for i in q.inputs[done:most]]
            given, rows = [self.inputs[i] for _, i in asked], [_number(q.mutant) for q, _ in asked]
            outputs = self._run(given, rows, self.seconds[1])
            for (q, i), got in zip(asked, outputs, strict=False):
                if self._differs(got, self.wanted[i]):
                    open_.pop(q.mutant, None)
            unrun |= {q.mutant: q for q, _ in asked[len(outputs) :] if q.mutant in open_}
            open_ = {n: q for n, q in open_.items() if n not in unrun}
            done = most
        return [*open_.values()], [*unrun.values()]

    def _differs(self, got: str | None, wanted: str | None) -> bool:
        return got != wanted and (
            got is None or bool(differences(got, wanted or "", self.case.reference.agreed))
        )

    def _questions(self) -> Iterator[_OpenMutant]:
        """Sites that came out either way, one of them rarely, or by less than shows."""
        for site in self.sites:
            row = self.made.program.row(*site.at[:2])[:MOST_ROW]
            if site.constant or (not site.said and TIES.search(row)):
                continue
            most = RARE_OPERAND if site.said else RARE_DECISION
            totals = self.counts[:, site.number].sum(axis=0)
            rarer = 0 if site.said else int(totals[1] < totals[0])
            if totals[rarer] < most * totals.sum():
                yield from self._question(site, rarer)

    def _question(self, site: Site, rarer: int) -> Iterator[_OpenMutant]:
        """A mutant, where enough inputs show what it is without."""
        of_site = self.counts[:, site.number]
        totals, changed = of_site.sum(axis=0), of_site[:, rarer] + of_site[:, TINY]
        inputs = np.flatnonzero((changed > 0) & self.ended)
        if len(inputs) >= LEAST_SHOWN:
            first = inputs[np.argsort(-changed[inputs], kind="stable")].tolist()
            yield _OpenMutant(site, rarer, int(totals[rarer]), int(totals.sum()), first)

    def _outcomes(self, runs: int) -> np.ndarray:
        """How often each site came out either way, by run."""
        path = self.place / OUTCOMES
        said = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        size = 8 * WAYS * len(self.sites) * runs
        made = np.frombuffer(said[:size].ljust(size, b"\0"), dtype=np.int64)
        return made.reshape(runs, len(self.sites), WAYS)

    def _run(
        self, inputs: Sequence[ProgramInput], rows: Sequence[bytes], most_s: float
    ) -> list[str | None]:
        (self.place / MUTANTS).write_bytes(b"".join(rows))
        limits = self.case.limits(self.case.reference.expected[0])
        return self.case.bench.run_many(self.made.built, inputs, limits, most_s, kept=self.place)
