"""`code.search`: variants of a program, each verified before it counts."""

from __future__ import annotations

import math
from pathlib import Path

from rheostat.measurement.code.case import RungOptions
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.sandboxed.sandbox import sandbox
from rheostat.measurement.code.verdict import RUNGS
from rheostat.prediction.language_model.conversation import Sampling
from rheostat.questions import listener
from rheostat.questions.code.code_search import SearchSettings, search_code, searched_chains
from rheostat.questions.code.found import VariantsAnswer, Wanted, answered
from rheostat.questions.code.gain import MEASURED_BY
from rheostat.questions.code.models import NO_MODEL, ModelAddress, asked_models, chain_facts
from rheostat.questions.code.programs import Ranges, asked_rungs, kept_folder, load_program
from rheostat.questions.listener import question
from rheostat.questions.parse import Names
from rheostat.recipes.lassi import Conversation
from rheostat.recipes.lassi_ee import then_asked
from rheostat.tradeoff.variants.compilers import shared_by_compilers
from rheostat.tradeoff.variants.loop_distribution import in_another_order


@question
def search(
    program: Program | Path | str,
    *,
    to: str = "",
    objective: str = "",
    budget: int = 8,
    most_seconds: float = 0.0,
    most_joules: float = 0.0,
    threads: int = 2,
    pairs: int = 7,
    inputs: Ranges = (),
    source: str = "",
    model: ModelAddress = NO_MODEL,
    larger: ModelAddress = NO_MODEL,
    transcript: Path | None = None,
    most_tokens: int = 0,
    rungs: Names = (),
    require: Names = "output",
    folder: Path | str | None = None,
    wanted: Wanted | None = None,
    unsafe_no_sandbox: bool = False,
    seed: int | None = None,
) -> VariantsAnswer:
    """Search variants of a program: OpenMP pragmas, flags and loops, CUDA by rule.

    A variant counts only if every rung of `verify` that can run here accepts it.  What gcc and
    Polly make of a serial program's loops is run beside them.

    Parameters
    ----------
    program : Program or path
        A source file (C, CUDA) or a manifest of a program that is right.
    to : str
        openmp; from CUDA also serial; empty: the same language.
    objective : str
        runtime_s or energy_j; runtime of a translation, energy otherwise by default.
    budget : int
        Variants that are run, without those of compilers.
    most_seconds, most_joules : float
        Begin no variant later; 0 sets no limit.
    threads, pairs : int
        Threads and pairs of timed runs.
    inputs : sequence of str
        Arguments of the program and what they are drawn from, as ``n=64..512``.
    source : str
        Which source of a manifest is rewritten; the first by default.
    model, larger : ModelAddress
        Asked where half of the budget brought nothing that is accepted, and after it.
    transcript : path, optional
        Questions to models and their answers, kept and replayed from here.
    most_tokens : int
        Of both models in all; 0 sets no limit.
    rungs, require : str or sequence of str
        As those of `verify`.
    folder : path, optional
        Keeps journal, texts and evidence; what is there is continued.
    wanted : Wanted, optional
        Files that are written, also where nothing is accepted.
    unsafe_no_sandbox : bool
        Run code without a sandbox, if you trust it.
    seed : int, optional
        Of the hidden inputs; a secret one by default.

    Returns
    -------
    VariantsAnswer
        With ``best``, ``variant_text`` and ``diff``.

    Raises
    ------
    DataError
        The program cannot be read, or there is no way to the language.
    Infeasible
        No variant is accepted, or none gains on the original by more than the noise; the error
        carries the variants.
    """
    original, tolerance = load_program(program, inputs, source)
    goal = objective or ("runtime_s" if to else "energy_j")
    kept, temporary = kept_folder(folder)
    with temporary, listener.counted("variant") as progress:
        asked = None
        if model or larger:
            asked = asked_models(model, larger, transcript or kept / "transcript.jsonl",
                                 most_tokens)  # fmt: skip
        chosen = asked_rungs(rungs, "--rungs") or RUNGS
        translates = original.language == "cuda" and bool(to)
        timed = not translates and MEASURED_BY.get(goal, ("",))[-1] in chosen
        settings = SearchSettings(
            budget, most_seconds or math.inf, most_joules or math.inf, tolerance,
            options=RungOptions(pairs=pairs, most_pairs=6 * pairs, timing_threads=threads),
            rungs=chosen,
            required=asked_rungs(require, "--require"),
            confined_by=sandbox("none" if unsafe_no_sandbox else "", image="/"),
            seed=seed, translates=translates, must_gain=goal if timed and asked is None else "",
            about={"to": to, "objective": goal} | ({"model": asked.name} if asked else {}),
        )  # fmt: skip
        chains, facts = searched_chains(original, to, goal), None
        talks: list[Conversation] = []
        if asked is not None:
            talks = asked.talks(Sampling(), 1)
            chains = then_asked(chains, original, to, talks[0], (budget + 1) // 2)
        beside = [*shared_by_compilers(original, threads),
                  *(in_another_order(original) if to else ())] if timed else ()  # fmt: skip
        result = search_code(original, chains, kept, settings, progress, beside=beside)
        if asked is not None:
            result, facts = asked.with_cost(result), {"chains": chain_facts(talks)}
        return answered(result, goal, wanted or Wanted(), VariantsAnswer, facts)
