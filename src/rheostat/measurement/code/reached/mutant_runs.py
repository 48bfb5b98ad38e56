"""Decisions and operands of the candidate that were reached and whose effect no output ever showed.

That a line was run says nothing of what it did: an entry of a table may be wrong that nobody asked
for, a factor may be one to the last digit of every output.  What goes the rarer way is made to go
the common one, as a mutant of the program (mutation analysis), and where each input still gives
the same output no run has shown that it was right.
"""

from __future__ import annotations

import random
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rheostat.measurement.code.bundled import bundled
from rheostat.measurement.code.case import Case
from rheostat.measurement.code.parsing.compare_output import differences
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import ProgramInput
from rheostat.measurement.code.reached.choices import MOST_ROW
from rheostat.measurement.code.reached.margin_runs import Margin, margins
from rheostat.measurement.code.reached.marked_builds import LINKED, compiler_texts, linked
from rheostat.measurement.code.reached.marked_runs import TIES, is_marked, lines_of_original
from rheostat.measurement.code.reached.marks import At
from rheostat.measurement.code.reached.mutant_constants import is_usual, sizes_in
from rheostat.measurement.code.reached.mutant_text import WAYS, Site, with_mutants
from rheostat.measurement.code.reached.open_marks import made_by_pragmas
from rheostat.measurement.code.reached.source_places import Places
from rheostat.measurement.code.reference import QUICK_S
from rheostat.measurement.code.verdict import Finding
from rheostat.measurement.code.workbench import Built

WHY = "what changes no output cannot be seen to be right"
SAID = "{}: with the inputs that were tried no output would be another one without it"
GOES = "of {:,} times this came out the rarer way {:,} times"
RUNTIME, MUTANTS, OUTCOMES = "mutants.c", "mutants", "outcomes"
INPUTS, BESIDE, LEAST_INPUTS, LEAST_SHOWN = 192, 32, 48, 4
"""Inputs that are run, how many of them beside multiples; fewer of both say nothing, and fewer
on which the rarer way was taken."""
COUNTED_S, MUTANTS_S = 0.2, 0.2
ON_HOST, ON_HOST_S = 24, 0.5
"""Inputs of CUDA on the host, whose runs take longer, and CPU seconds for them."""
TURNS = (1, 4, 24, INPUTS)
"""On how many inputs mutants are run that no input before has shown."""
RARE_DECISION, RARE_OPERAND = 0.01, 0.25
"""Ways that are taken more often may be two ways to the same result, as they are in right programs
(a swap with itself that is left out, the slope of Newton's method)."""
TINY = 2
"""Where a result differs from an operand by less than shows."""
NONE = -1
"""The number of the program as it is."""


@dataclass(frozen=True)
class _OpenMutant:
    """A mutant, how often its site came out either way, and the inputs that the rarer one is on."""

    site: Site
    mutant: int
    rarer: int
    total: int
    inputs: Sequence[int]

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
    made = _mutated(case) if is_marked(case, case.candidate) else None
    if made is None:
        return []
    with case.bench.run_folder("mutants") as place:
        runs = _Mutants(case, *made, place)
        left, few = runs.left(), runs.margins()
    return [*(Finding("output", *q.site.at[:2], SAID.format(q.words)) for q in left),
            *(Finding("output", *m.site.at[:2], m.said) for m in few)]  # fmt: skip


def _mutated(case: Case) -> tuple[Built, list[Site]] | None:
    """The candidate with mutants; None where it has none or cannot be built so."""
    texts: dict[str, str] = {}
    sites: list[Site] = []
    numbers = _own_numbers(case)
    for number, made in enumerate(compiler_texts(case, case.candidate)):
        if not made.ok:
            return None
        code = made.said.stdout
        made_of = with_mutants(code, _own(case, code), len(sites), numbers)
        texts[f"mutants{number}.ll"], some = made_of
        sites += some
    if not sites:
        return None
    texts[RUNTIME] = _runtime(sites)
    built = case.bench.build(linked(case.candidate, texts), LINKED)
    return (built, sites) if built.ok else None


def _runtime(sites: Sequence[Site]) -> str:
    """What chooses a mutant, with what the sites' constants are."""
    held = (int.from_bytes(s.constant.packed(s.constant.value), "little") if s.constant else 0
            for s in sites)  # fmt: skip
    said = ", ".join(f"(long){x}ul" for x in held)
    return f"#define SITES {len(sites)}\n#define CONSTANTS {said}\n{bundled('runtimes', RUNTIME)}"


def _own_numbers(case: Case) -> set[float]:
    """Sizes of the numbers that stand in the candidate's instructions more often than there."""

    def sizes(program: Program) -> Counter[float]:
        made = Counter[float]()
        for text in compiler_texts(case, program):
            place = Places(text.said.stdout, program.files).of
            made += sizes_in(row for row in text.said.stdout.splitlines() if place(row))
        return made

    return {n for n in sizes(case.candidate) - sizes(case.original) if not is_usual(n)}


def _own(case: Case, code: str) -> Callable[[str], At | None]:
    """Places of rows that the original has not, without what OpenMP's pragmas make."""
    places, pragmas = Places(code, case.candidate.files), made_by_pragmas(case.candidate)
    of_original = lines_of_original(case, code)

    def place(row: str) -> At | None:
        at = places.of(row)
        return None if at is None or at[:2] in pragmas or of_original(row) else at

    return place


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


class _Mutants:
    """Runs of the mutants of one build, which leave their outcomes in a folder."""

    def __init__(self, case: Case, built: Built, sites: Sequence[Site], place: Path) -> None:
        self.case, self.built, self.sites, self.place = case, built, sites, place
        on_host = case.on_host
        self.inputs = inputs_of(case)[: ON_HOST if on_host else INPUTS]
        self.seconds = (ON_HOST_S, ON_HOST_S) if on_host else (COUNTED_S, MUTANTS_S)
        none = [_number(NONE)] * len(self.inputs)
        self.wanted = self._run(self.inputs, none, self.seconds[0])
        self.counts = self._outcomes(len(self.wanted))
        if len(self.wanted) < min(LEAST_INPUTS, len(self.inputs)):
            self.sites = ()

    def margins(self) -> list[Margin]:
        """Constants that are margins."""
        ended = np.array([said is not None for said in self.wanted], dtype=bool)
        reached = self.counts.sum(axis=2) * ended[:, None]

        def differ(asked: Sequence[tuple[Site, float, int]]) -> list[bool]:
            rows = [_number(2 * s.number, s.number, s.constant.packed(x))
                    for s, x, _ in asked if s.constant]  # fmt: skip
            outputs = self._run([self.inputs[i] for *_, i in asked], rows, self.seconds[1])
            return [got is not None and self._differs(got, self.wanted[i])
                    for (*_, i), got in zip(asked, outputs, strict=False)]  # fmt: skip

        return margins(self.sites, reached, differ)

    def left(self) -> list[_OpenMutant]:
        """Those that no input showed, in the order of their lines."""
        wanted = self.wanted
        open_ = {q.mutant: q for q in self._questions(wanted)}
        done = 0
        for most in TURNS:
            asked = [(q, i) for q in open_.values() for i in q.inputs[done:most]]
            given, rows = [self.inputs[i] for _, i in asked], [_number(q.mutant) for q, _ in asked]
            outputs = self._run(given, rows, self.seconds[1])
            if len(outputs) < len(asked):  # there was no time for all
                for q, _ in asked[len(outputs) :]:
                    open_.pop(q.mutant, None)
            for (q, i), got in zip(asked, outputs, strict=False):
                if self._differs(got, wanted[i]):
                    open_.pop(q.mutant, None)
            done = most
        return sorted(open_.values(), key=lambda q: q.site.at)

    def _differs(self, got: str | None, wanted: str | None) -> bool:
        return got != wanted and (
            got is None or bool(differences(got, wanted or "", self.case.reference.agreed))
        )

    def _questions(self, wanted: Sequence[str | None]) -> Iterator[_OpenMutant]:
        """Sites that came out either way, one of them rarely, or by less than shows."""
        ended = np.array([said is not None for said in wanted])
        for site in self.sites:
            if site.constant:
                continue
            row = self.case.candidate.row(*site.at[:2])[:MOST_ROW]
            if not site.said and TIES.search(row):
                continue
            of_site = self.counts[:, site.number]
            totals = of_site.sum(axis=0)
            rarer = 0 if site.said else int(totals[1] < totals[0])
            most = RARE_OPERAND if site.said else RARE_DECISION
            changed = of_site[:, rarer] + of_site[:, TINY]
            inputs = np.flatnonzero((changed > 0) & ended)
            if len(inputs) >= LEAST_SHOWN and totals[rarer] < most * totals.sum():
                first = inputs[np.argsort(-changed[inputs], kind="stable")]
                mutant = 2 * site.number + (0 if site.said else 1 - rarer)
                yield _OpenMutant(
                    site, mutant, int(totals[rarer]), int(totals.sum()), first.tolist()
                )

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
        return self.case.bench.run_many(self.built, inputs, limits, most_s, kept=self.place)
