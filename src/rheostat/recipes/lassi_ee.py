"""LASSI-EE: a program rewritten by a language model so that it takes less energy (2025).

Dearing, M., Tao, Y., Wu, X., Lan, Z., Taylor, V.: Leveraging LLMs to automate energy-aware
refactoring of parallel scientific codes.  arXiv 2505.02184 (v1 to v3 report different figures).

Stages: a zero-shot rewriting; context and plan; rewritings from the plan and the results so far,
warmer after each that does not improve, until the temperature is at its end.  A judge's opinion may
be asked for and is kept as advice: only `rheostat code verify` accepts.
"""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from rheostat.measurement.code.programs.program import Program
from rheostat.prediction.language_model import code_prompts
from rheostat.prediction.language_model.answers import json_in
from rheostat.prediction.language_model.conversation import Message, ModelError
from rheostat.recipes.lassi import Conversation, LassiOptions, corrected, lassi_steps
from rheostat.tradeoff.variants.islands import until_accepted
from rheostat.tradeoff.variants.variant import Steps, Variant, VariantResult

Store = TypeVar("Store")
WARMER = 0.2


@dataclass(frozen=True)
class LassiEnergyOptions:
    """How the pipeline runs.

    Parameters
    ----------
    lassi : LassiOptions
        Sampling and corrections.
    hottest : float
        The temperature that ends the iterations; the published one is not known.
    most_iterations : int
        Rewritings from the plan.
    judge : bool
        Ask the model whether accepted programs are valid; its opinion is kept, and decides nothing.
    """

    lassi: LassiOptions = field(default_factory=LassiOptions)
    hottest: float = 1.0
    most_iterations: int = 4
    judge: bool = False


def lassi_ee_steps(original: Program, talk: Conversation, options: LassiEnergyOptions) -> Steps:
    """One trial: zero-shot, plan, iterations.

    Where a model's programs are wrong or save nothing, the next larger one begins anew.

    Parameters
    ----------
    original : Program
        What is rewritten.
    talk : Conversation
        With the model that rewrites; it keeps results and opinions.
    options : LassiEnergyOptions
        Switches.

    Yields
    ------
    Variant
        Each is sent what came of it.
    """
    while True:
        gained = yield from _trial(original, talk, options)
        if gained or not talk.hands_over():
            return


def _trial(
    original: Program, talk: Conversation, options: LassiEnergyOptions
) -> Generator[Variant, VariantResult, bool]:
    """The trial of one model; whether a program was accepted that is not known to save nothing."""
    source = original.files[original.sources[0]]
    beside = code_prompts.files_beside(original.files, original.sources[0])
    how = {"flags": original.flags, "language": original.language, "source": source}
    least = 1.0
    gained = False
    results: list[str] = []
    plan = ""
    temperature = options.lassi.sampling.temperature
    try:
        for stage in range(1 + options.most_iterations):
            if stage == 1:
                plan = _plan(talk, source, results, self_prompting=options.lassi.self_prompting)

            def question(note: str = "", plan: str = plan) -> list[Message]:
                said = "\n".join(filter(None, (*results, talk.failures, note, beside)))
                return code_prompts.refactoring_question(source, plan, said)

            talk.temperature = temperature
            last = yield from corrected(talk, question, options.lassi, **how)  # type: ignore[arg-type]
            cost = _cost(last[1]) if last is not None else math.nan
            right = last is not None and last[1].accepted
            if not right and not gained and talk.larger:
                break
            if last is not None and right:
                gained = gained or not cost >= 1.0
                results.append(f"{last[0].change}: {cost:.3g} of the original's energy.")
                if options.judge:
                    talk.opinions[last[0].identity] = _opinion(talk, source, last[0].text)
            improved = cost < least
            least = min(least, cost) if improved else least
            temperature = options.lassi.sampling.temperature if improved else temperature + WARMER
            if temperature > options.hottest + 1e-9:
                break
    except ModelError:
        pass  # no further answer: what was accepted before stays
    return gained


def _plan(talk: Conversation, source: str, results: list[str], *, self_prompting: bool) -> str:
    """What to change: from practice and machine, summed up, and the source, described."""
    background = f"{code_prompts.ENERGY_PACK}\n\nThe machine: {machine_words()}."
    description = ""
    if self_prompting:
        background = talk.ask(code_prompts.summary_question(background)).text
        description = talk.ask(code_prompts.description_question(source)).text
    said = "\n".join(results)
    return str(talk.ask(code_prompts.plan_question(source, background, description, said)).text)


def machine_words() -> str:
    """Processor, cores and cache of this machine, as far as it says so.

    Returns
    -------
    str
        The same at each call, so that a question that was answered is known again.
    """
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    facts = dict(line.split(":", 1) for line in lines if ":" in line)
    said = {k.strip(): v.strip() for k, v in facts.items()}
    cache = f", cache {said['cache size']}" if "cache size" in said else ""
    return f"{said.get('model name', platform.machine())}, {os.cpu_count()} processors{cache}"


def then_asked(
    chains: Callable[[Store], Sequence[Steps]],
    original: Program,
    to: str,
    talk: Conversation,
    most: int,
) -> Callable[[Store], Sequence[Steps]]:
    """A search without a model, and a model where it brought nothing.

    Parameters
    ----------
    chains : callable
        The search's, as `searched_chains` gives them; the model is asked behind the first.
    original : Program
        What is searched.
    to : str
        openmp for a translation, empty for less energy.
    talk : Conversation
        With the model.
    most : int
        Variants of the search that are run before the model is asked.

    Returns
    -------
    callable
        For `search_code`.
    """

    def asked() -> Steps:
        if to:
            return lassi_steps(original, to, talk, LassiOptions())
        return lassi_ee_steps(original, talk, LassiEnergyOptions())

    def steps(store: Store) -> Sequence[Steps]:
        first, *others = chains(store)
        return [until_accepted(first, asked, most), *others]

    return steps


def trial_reductions(talks: Sequence[Conversation]) -> list[float | None]:
    """What the best accepted program of each trial saves.

    Parameters
    ----------
    talks : sequence of Conversation
        One per trial; those that got no answer at all are no trials.

    Returns
    -------
    list of float or None
        Share of the original's energy, below 0 where it takes more; None for a trial without an
        accepted program whose energy is known.
    """
    return [
        max((1.0 - r.energy_ratio for _, _, r in t.results
             if r.accepted and math.isfinite(r.energy_ratio)), default=None)
        for t in talks if t.answers
    ]  # fmt: skip


def _cost(result: VariantResult) -> float:
    """Energy as a share of the original's; time where energy is not known; 1 for what is wrong."""
    if not result.accepted:
        return math.nan
    known = not math.isnan(result.energy_ratio)
    return result.energy_ratio if known else result.runtime_ratio


def _opinion(talk: Conversation, source: str, text: str) -> bool | None:
    """The judge's, None where the answer holds none."""
    value = json_in(talk.ask(code_prompts.judge_question(source, text)))
    valid = value.get("valid") if isinstance(value, dict) else None
    return valid if isinstance(valid, bool) else None
