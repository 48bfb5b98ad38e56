"""`code.refactor`: a program that takes less energy, by a language model, verified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rheostat.measurement.code.programs.program import Program
from rheostat.prediction.language_model.conversation import Sampling
from rheostat.questions import listener
from rheostat.questions.code.chains import settings_of, transcript_in
from rheostat.questions.code.code_search import search_code, searched_chains
from rheostat.questions.code.found import VariantsAnswer, Wanted, answered
from rheostat.questions.code.models import NO_MODEL, ModelAddress, asked_models, chain_facts
from rheostat.questions.code.programs import Ranges, kept_folder, load_program
from rheostat.questions.code.variant_store import VariantStore
from rheostat.questions.listener import question
from rheostat.questions.parse import Names
from rheostat.recipes.lassi import Conversation, LassiOptions
from rheostat.recipes.lassi_ee import LassiEnergyOptions, lassi_ee_steps, trial_reductions
from rheostat.tradeoff.variants.best_of_k import reduction_at_k
from rheostat.tradeoff.variants.variant import Steps

CORRECTIONS = 2


@dataclass(frozen=True, kw_only=True, repr=False)
class RefactoringAnswer(VariantsAnswer):
    """Versions of a program that take less energy; ``more`` has energy-reduction@k."""

    schema: ClassVar[str] = "rheostat.code-refactor/1"


@question
def refactor(
    program: Program | Path | str,
    model: ModelAddress,
    *,
    larger: ModelAddress = NO_MODEL,
    how: LassiOptions | None = None,
    samples: int = 1,
    one_run: bool = False,
    search: bool = True,
    judge: bool = False,
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
) -> RefactoringAnswer:
    """Rewrite a program with a language model so that it takes less energy (LASSI-EE).

    With several ``samples`` energy-reduction@k is given for each k, in both conventions for
    candidates that take more.

    Parameters
    ----------
    program : Program or path
        A source file or a manifest of a program that is right.
    model, larger : ModelAddress
        Asked first, and where the first one's programs are wrong or repeat.
    how : LassiOptions, optional
        Sampling, corrections (2), and what is done as published.
    samples : int
        Chains, each a sample of its own.
    one_run : bool
        As published: each candidate is timed once, without an interval.
    search : bool
        Also search without the model.
    judge : bool
        Ask the model for its opinion of what is accepted; advice only.
    budget, threads : int
        Variants that are run; threads of timed runs.
    inputs, source, transcript, most_tokens, rungs, require, folder, wanted, unsafe_no_sandbox, seed
        As those of `rheostat.code.search`.

    Returns
    -------
    RefactoringAnswer
        With ``best``, ``variant_text`` and ``diff``.

    Raises
    ------
    QuestionError
        No model is named.
    Infeasible
        No version is accepted, or none takes less by more than the noise.
    """
    original, tolerance = load_program(program, inputs, source)
    lassi = LassiOptions(Sampling(), CORRECTIONS) if how is None else how
    options = LassiEnergyOptions(lassi, judge=judge)
    kept, temporary = kept_folder(folder)
    with temporary, listener.counted("variant") as progress:
        asked = asked_models(model, larger, transcript_in(kept, transcript), most_tokens)
        about = {"to": "", "objective": "energy_j", "model": asked.name}
        settings = settings_of(about, budget, threads, seed, tolerance, (rungs, require),
                               one_run=one_run, unsafe=unsafe_no_sandbox)  # fmt: skip
        talks = asked.talks(lassi.sampling, samples)

        def chains(store: VariantStore) -> Sequence[Steps]:
            own = [lassi_ee_steps(original, talk, options) for talk in talks]
            return [*own, *(searched_chains(original, "", "energy_j")(store) if search else ())]

        result = search_code(original, chains, kept, settings, progress)
        return answered(asked.with_cost(result), "energy_j", wanted or Wanted(),
                        RefactoringAnswer, _facts(talks))  # fmt: skip


def _facts(talks: Sequence[Conversation]) -> dict[str, Any]:
    """The trials, energy-reduction@k of their best in both conventions, the judge's opinions."""
    trials = trial_reductions(talks)
    at_k = {
        str(k): {
            "negative_counts": reduction_at_k(trials, k),
            "original_kept": reduction_at_k(trials, k, keeps_original=True),
        }
        for k in range(1, len(trials) + 1)
    }
    opinions = {name: said for talk in talks for name, said in talk.opinions.items()}
    return {"chains": chain_facts(talks), "energy_reduction_at_k": at_k, "opinions": opinions}
