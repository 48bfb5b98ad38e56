"""`search_code`: variants of a program, each verified before it counts, in a folder that resumes.

The candidates are a `JobTable`, what came of one is an `Outcome`, and the loop is
`tradeoff.search.search`; only an accepted variant has figures.  The folder holds the journal, the
text of every variant and its evidence, so that a killed search goes on and pays nothing twice.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rheostat.core.front import Front
from rheostat.core.jobs import JobTable, Note
from rheostat.core.outcome import Outcome
from rheostat.core.storage.files import text_digest
from rheostat.errors import DataError
from rheostat.explanation.programs.flags_apart import BOTH, FLAGS, TEXT, flags_only
from rheostat.explanation.programs.source_diff import unified_diff
from rheostat.measurement.code.case import RungOptions
from rheostat.measurement.code.ladder import Verifier, verifier
from rheostat.measurement.code.parsing.compare_output import Tolerance
from rheostat.measurement.code.programs.program import C, Program, language_of
from rheostat.measurement.code.sandboxed.sandbox import Sandbox
from rheostat.measurement.code.verdict import RUNGS, Verdict
from rheostat.questions import listener
from rheostat.questions.code.gain import MEASURED_BY, gain_on, to_beat
from rheostat.questions.code.search_cost import SearchCost
from rheostat.questions.code.variant_store import VariantStore, figures_of, gains, is_less
from rheostat.tradeoff.variants.affine_schedules import scheduled, scheduler_absent
from rheostat.tradeoff.variants.from_cuda import TARGETS, from_cuda
from rheostat.tradeoff.variants.islands import one_after_another
from rheostat.tradeoff.variants.loop_distribution import prepared
from rheostat.tradeoff.variants.placement import PragmaPlacement
from rheostat.tradeoff.variants.tuning import Tuning
from rheostat.tradeoff.variants.variant import (
    OBJECTIVES,
    Steps,
    StepwiseProposer,
    Variant,
    diff_lines,
    only,
)
from rheostat.tradeoff.variants.written_macros import with_places


@dataclass(frozen=True)
class CodeSearch:
    """What a search came to: the front of all variants, and what it took.

    Parameters
    ----------
    front : Front
        A row per variant that was run; rejected ones have no figures.
    store : VariantStore
        Texts and evidence.
    original : Program
        What was searched.
    cost : dict
        Seconds, tokens and joules of the search.
    translates : bool
        Whether a variant is wanted even if it gains nothing on the original.
    rungs : tuple of str
        Those that were run.
    """

    front: Front
    store: VariantStore
    original: Program
    cost: dict[str, Any]
    translates: bool = False
    rungs: tuple[str, ...] = RUNGS

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Every variant with its verdict and figures, in the order they were run."""
        rows = []
        for i, row in enumerate(self.front.alternatives.frame.rows(named=True)):
            facts = self.store.verdict(row["variant"]) or {"verdict": "lost", "rungs": []}
            figures = figures_of(facts)
            lines = float(self.front.mean("diff_lines")[i])
            rows.append({**row, "verdict": facts["verdict"], "figures": figures,
                         "rejected_by": facts.get("rejected_by"), "diff_lines": lines,
                         "changed": self._changed(row, lines)})  # fmt: skip
        return rows

    def _changed(self, row: dict[str, Any], lines: float) -> str:
        """What tells a variant from the original: flags, text, both, or nothing."""
        flags = row["flags"] != " ".join(self.original.flags)
        return BOTH if flags and lines else FLAGS if flags else TEXT if lines else ""

    @property
    def accepted(self) -> list[dict[str, Any]]:
        """Rows that may be used."""
        return [r for r in self.rows if r["verdict"] == "accepted"]

    def best(self, objective: str = "runtime_s") -> dict[str, Any] | None:
        """The row with the least of an objective of those that gain on the original.

        Of two within noise it is the earlier.  A translation need not gain: the original does not
        do its work; nor what a person asked not to be measured, where the first accepted is taken.
        """
        best: dict[str, Any] | None = None
        need = not self.translates and MEASURED_BY.get(objective, ("",))[-1] in self.rungs
        gain = [r for r in self.accepted if not need or gains(r, objective)]
        for row in gain:
            if best is None or is_less(row, best, objective):
                best = row
        return best

    def flags_alone(self, objective: str) -> Variant | None:
        """The original with the flags of the best, where both were changed and that was not run.

        Only so can be said what flags do and what the rewriting does.
        """
        rows, best = self.rows, self.best(objective)
        if best is None or best["changed"] != BOTH or flags_only(rows, best) is not None:
            return None
        flags = tuple(best["flags"].split(" "))
        return Variant(self.original.files[self.original.sources[0]], best["proposer"],
                       "its flags alone", flags, self.original.language)  # fmt: skip

    def text(self, identity: str) -> str:
        """The source of a variant."""
        program = self.store.program(identity)
        return program.files[program.sources[0]]

    def diff(self, identity: str) -> str:
        """What a variant changes, as ``patch`` takes it."""
        return unified_diff(self.original.files, self.store.program(identity).files)


@dataclass(frozen=True)
class SearchSettings:
    """How a search is run.

    Parameters
    ----------
    budget : int
        Variants that are verified, those of an earlier call included.
    most_seconds : float
        No variant is begun after so many seconds of this call.
    most_joules : float
        No variant is begun after the search itself has taken so many, by the model of energy and
        with earlier calls.
    tolerance : Tolerance, optional
        Of outputs.
    options : RungOptions
        Of the rungs.
    rungs : tuple of str
        Those that are run.
    required : tuple of str
        Those that must have run for a variant to be accepted.
    confined_by : Sandbox, optional
        The first that works here where none is given.
    seed : int, optional
        Of the hidden inputs; a secret one, kept in the folder, where none is given.
    translates : bool
        Whether a variant is wanted even if it gains nothing on the original.
    about : dict
        What else a folder has to be about to be continued, as the target language.
    must_gain : str
        Objective in which a variant has to gain before the dearer rungs are climbed; empty: all
        variants climb.
    """

    budget: int = 12
    most_seconds: float = math.inf
    most_joules: float = math.inf
    tolerance: Tolerance | None = None
    options: RungOptions = field(default_factory=RungOptions)
    rungs: tuple[str, ...] = RUNGS
    required: tuple[str, ...] = ("output",)
    confined_by: Sandbox | None = None
    seed: int | None = None
    translates: bool = False
    about: dict[str, Any] = field(default_factory=dict)
    must_gain: str = ""


def search_code(
    original: Program,
    chains: Callable[[VariantStore], Sequence[Steps]],
    folder: str | Path,
    settings: SearchSettings | None = None,
    progress: Callable[[int, int], None] | bool = False,
    *,
    beside: Sequence[Variant] = (),
) -> CodeSearch:
    """Search variants of a program; each is verified, and only what is accepted counts.

    What was rewritten and built with other flags is split: its flags alone are run, too.

    Parameters
    ----------
    original : Program
        What every variant has to agree with.
    chains : callable
        Given the store, the proposers' chains, asked in turn.
    folder : str or Path
        Journal, texts, evidence; an existing one of the same search is continued.
    settings : SearchSettings, optional
        Budget, rungs, seed.
    progress : bool or callable
        As in `search`.
    beside : sequence of Variant
        Run first, and not counted by the budget: what compilers make of the original.

    Returns
    -------
    CodeSearch
        The front and what it took.
    """
    from rheostat.tradeoff.search import search  # loads scipy, which no other question here needs

    folder, how = Path(folder), settings or SearchSettings()
    store = VariantStore(folder, original, {"seed": how.seed, **how.about})
    cost = SearchCost.of(folder)

    def may_ask() -> bool:
        in_time = time.perf_counter() < cost.began + how.most_seconds
        return in_time and cost.total()["energy_j"] < how.most_joules

    with _verifying(original, store, how) as verify:

        def run(asked: Sequence[Steps], most: int) -> CodeSearch:
            proposer = StepwiseProposer(list(asked), store.keep, store.trial, may_ask=may_ask)
            front = search(proposer, _Measured(store, verify, cost), most,
                           journal=folder / "journal.jsonl", progress=progress)  # fmt: skip
            whole = cost.kept() | {"duplicates": proposer.duplicates}
            return CodeSearch(front, store, original, whole, how.translates, how.rungs)

        if beside:
            run([only(*beside)], len(beside))
        result = run(chains(store), how.budget + len(beside))
        alone = result.flags_alone(how.about.get("objective", "runtime_s"))
        return run([only(alone)], len(result.rows) + 1) if alone else result


@contextmanager
def _verifying(
    original: Program, store: VariantStore, how: SearchSettings
) -> Iterator[Callable[[Program], Verdict]]:
    """What verifies candidates; the original is built and run once, for the first of them."""
    with ExitStack() as held:
        made: list[Verifier] = []

        def verify(candidate: Program) -> Verdict:
            if not made:
                made.append(held.enter_context(verifier(
                    original, tolerance=how.tolerance, confined_by=how.confined_by,
                    seed=store.seed, options=how.options,
                )))  # fmt: skip
                made[0].required = how.required
            if how.must_gain:
                best = store.best(how.must_gain)
                made[0].gain = gain_on(best, how.must_gain)
                made[0].options = replace(how.options, to_beat=to_beat(best, how.must_gain))
            return made[0].verify(candidate, rungs=how.rungs)

        yield verify


@dataclass
class _Measured:
    """The measuring function of the loop: verifies one row."""

    store: VariantStore
    verify: Callable[[Program], Verdict]
    cost: SearchCost

    @property
    def program(self) -> str:
        """What is run, for the journal's header."""
        return text_digest(self.store.original.text)

    def __call__(self, row: JobTable) -> Outcome:
        identity = row.frame["variant"][0]
        candidate = self.store.program(identity)
        verdict = self.verify(candidate)
        self.store.decided(identity, verdict)
        self.cost.kept()
        figures = figures_of(verdict.facts())
        good = verdict.accepted
        changed = float(diff_lines(self.store.original.text, candidate.text))
        values = {n: figures[n] if good else math.nan for n in OBJECTIVES[:3]}
        notes = () if good else (Note(f"{identity}: rejected by {verdict.rejected_by}", count=1),)
        every = values | {"diff_lines": changed}
        return Outcome({n: np.array([[v]]) for n, v in every.items()}, notes=notes)


def searched_chains(
    original: Program, to: str, objective: str
) -> Callable[[VariantStore], Sequence[Steps]]:
    """The chains that need no model.

    Parameters
    ----------
    original : Program
        A serial program to share among threads, one in CUDA to translate, or any to make cheaper.
    to : str
        openmp, from CUDA also serial, or empty for the same language.
    objective : str
        runtime_s or energy_j.

    Returns
    -------
    callable
        For `search_code`.

    Raises
    ------
    DataError
        Another language, or CUDA that no rule knows.
    """
    problems = []
    in_cuda = original.language == "cuda" and to in TARGETS
    if to not in ("", "openmp") and not in_cuda:
        problems.append(f"--to: expected openmp or nothing without a model, got {to!r}")
    name = original.sources[0]
    text = original.files[name]
    rewritten = language_of({name: text})  # another of its files may hold pragmas already
    if to and not in_cuda and "serial" not in (original.language, rewritten):
        problems.append(f"expected a serial program or one in CUDA, got {original.language}; if "
                        'it is serial, say language = "serial" in its manifest')  # fmt: skip
    if objective not in OBJECTIVES[:2]:
        problems.append(f"--objective: expected {' or '.join(OBJECTIVES[:2])}, got {objective!r}")
    if problems:
        raise DataError(original.name or "program", problems)
    if in_cuda:
        headers = {n: t for n, t in original.files.items() if n != name}
        variant = from_cuda(text, to, original.flags, headers)
        return lambda store: [only(variant)]

    others = "\n".join(t for n, t in original.files.items() if n != name)
    text = with_places(text, others) if to else text

    def chains(store: VariantStore) -> list[Steps]:
        first = (
            PragmaPlacement(text, original.flags, headers=others) if to
            else Tuning(text, original.flags, original.language, objective)
        )  # fmt: skip
        own = one_after_another(first.steps, first.islands(store.seed).steps)
        if not to:
            return [own]
        other, changes = prepared(text, headers=others)
        placement = PragmaPlacement(other, original.flags, headers=others, before=changes)
        if name.endswith(C) and (absent := scheduler_absent()):
            listener.note(absent)
        nests = scheduled(text, original.flags, headers=others) if name.endswith(C) else only()
        return [own, *([placement.steps()] if changes else []), nests]

    return chains
