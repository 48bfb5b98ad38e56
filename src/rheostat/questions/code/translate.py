"""`code.translate`: a program in another programming model, by a language model, verified."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rheostat.errors import DataError, QuestionError
from rheostat.measurement.code.programs.program import Program, read_program
from rheostat.questions import listener
from rheostat.questions.code.chains import settings_of, transcript_in
from rheostat.questions.code.code_search import CodeSearch, search_code, searched_chains
from rheostat.questions.code.found import VariantsAnswer, Wanted, answered
from rheostat.questions.code.models import NO_MODEL, ModelAddress, asked_models, chain_facts
from rheostat.questions.code.programs import Ranges, kept_folder, load_program
from rheostat.questions.code.target_baseline import TargetBaseline, target_baseline
from rheostat.questions.code.variant_store import VariantStore
from rheostat.questions.listener import question
from rheostat.questions.parse import Names
from rheostat.recipes.lassi import Conversation, LassiOptions, lassi_metrics, lassi_steps
from rheostat.tradeoff.variants.variant import Steps

TARGETS = ("openmp", "target", "serial")
Chains = Callable[[VariantStore], Sequence[Steps]]


@dataclass(frozen=True, kw_only=True, repr=False)
class TranslationAnswer(VariantsAnswer):
    """Translations of a program, each verified; ``more`` has the chains of the model."""

    schema: ClassVar[str] = "rheostat.code-translate/1"


@question
def translate(
    program: Program | Path | str,
    to: str,
    model: ModelAddress,
    *,
    larger: ModelAddress = NO_MODEL,
    how: LassiOptions | None = None,
    samples: int = 1,
    one_run: bool = False,
    search: bool = True,
    reference: Path | str | None = None,
    budget: int = 12,
    threads: int = 2,
    inputs: Ranges = (),
    source: str = "",
    transcript: Path | None = None,
    most_tokens: int = 0,
    rungs: Names = (),
    require: Names = "output",
    folder: Path | str | None = None,
    wanted: Wanted | None = None,
    unsafe_no_sandbox: bool = False,
    seed: int | None = None,
) -> TranslationAnswer:
    """Translate a program with a language model that is told what goes wrong (LASSI).

    A translation counts only if every rung of `verify` that can run here accepts it.

    Parameters
    ----------
    program : Program or path
        A source file or a manifest of a program that is right.
    to : str
        openmp, target or serial.
    model, larger : ModelAddress
        Asked first, and where the first one's programs are wrong or repeat.
    how : LassiOptions, optional
        Sampling, corrections, and what is done as published.
    samples : int
        Chains, each a sample of its own.
    one_run : bool
        As published: each candidate is timed once, without an interval.
    search : bool
        Also search without the model, where it can (serial to openmp).
    reference : path, optional
        The original in the target language, to be compared with.
    budget, threads : int
        Variants that are run; threads of timed runs.
    inputs, source, transcript, most_tokens, rungs, require, folder, wanted, unsafe_no_sandbox, seed
        As those of `rheostat.code.search`.

    Returns
    -------
    TranslationAnswer
        With ``best``, ``variant_text`` and ``diff``.

    Raises
    ------
    QuestionError
        The target is unknown, or no model is named.
    Infeasible
        No translation is accepted.
    """
    original, tolerance = load_program(program, inputs, source)
    if to not in TARGETS:
        raise QuestionError("--to", [f"expected openmp, target or serial, got {to!r}"])
    compared = None if reference is None else read_program(Path(reference))
    if compared is not None and compared.language != to:
        problem = f"expected a program in {to}, got {compared.language}"
        raise QuestionError("--reference", [problem])
    options = LassiOptions() if how is None else how
    kept, temporary = kept_folder(folder)
    with temporary, listener.counted("variant") as progress:
        asked = asked_models(model, larger, transcript_in(kept, transcript), most_tokens)
        about = {"to": to, "objective": "runtime_s", "model": asked.name}
        settings = settings_of(about, budget, threads, seed, tolerance, (rungs, require),
                               one_run=one_run, unsafe=unsafe_no_sandbox)  # fmt: skip
        talks = asked.talks(options.sampling, samples)
        without_model = _searched(original, to) if search else lambda _: []

        def chains(store: VariantStore) -> Sequence[Steps]:
            own = [lassi_steps(original, to, talk, options) for talk in talks]
            return [*own, *without_model(store)]

        first = target_baseline(compared, original, settings) if compared else nullcontext()
        with first as baseline:
            if baseline is not None and baseline.note:
                listener.note(
                    f"the reference is not compared with {original.name}: {baseline.note}"
                )
            result = search_code(original, chains, kept, settings, progress)
            facts = _facts(result, talks, baseline)
        return answered(asked.with_cost(result), "runtime_s", wanted or Wanted(),
                        TranslationAnswer, facts)  # fmt: skip


def _searched(original: Program, to: str) -> Chains:
    """The chains that need no model, none where there is no rule; which is noted."""
    try:
        return searched_chains(original, to, "runtime_s")
    except DataError as e:
        listener.note(f"the model alone translates: {'; '.join(e.problems)}")
        return lambda _: []


def _facts(
    result: CodeSearch, talks: Sequence[Conversation], baseline: TargetBaseline | None
) -> dict[str, Any]:
    """The chains, and with a target-language original LASSI's figures of the variant taken."""
    chains = chain_facts(talks)
    best = result.best("runtime_s")
    if baseline is None or best is None:
        return {"chains": chains}
    name = best["variant"]
    before = next((t["corrections"] for t in chains if t["variant"] == name), None)
    reference = baseline.checking.reference.original
    compared = reference.files[reference.sources[0]]
    ratio = baseline.ratio(result.store.program(name))
    figures = lassi_metrics(result.text(name), compared, before, ratio)
    return {"chains": chains, "lassi": figures}
