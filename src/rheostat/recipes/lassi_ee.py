"""LASSI-EE: a program rewritten by a language model so that it takes less energy (2025).

Dearing, M., Tao, Y., Wu, X., Lan, Z., Taylor, V.: Leveraging LLMs to automate energy-aware
refactoring of parallel scientific codes.  arXiv 2505.02184 (v1 to v3 report different figures).

Stages: a zero-shot rewriting; context and plan; rewritings from the plan and the results so far,
warmer after each that does not improve, until the temperature is at its end.  A judge's opinion may
be asked for and is kept as advice: only `rheostat code verify` accepts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from rheostat.measurement.code.program import Program
from rheostat.prediction.language_model.answers import json_in
from rheostat.prediction.language_model.conversation import LanguageModel, Message, ModelError
from rheostat.recipes import code_prompts
from rheostat.recipes.lassi import Conversation, LassiOptions, corrected
from rheostat.tradeoff.variants.variant import Steps, VariantResult

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


def lassi_ee_steps(
    original: Program,
    model: LanguageModel,
    options: LassiEnergyOptions,
    index: int = 0,
    opinions: dict[str, bool | None] | None = None,
) -> Steps:
    """One trial: zero-shot, plan, iterations.

    Parameters
    ----------
    original : Program
        What is rewritten.
    model : LanguageModel
        Who rewrites.
    options : LassiEnergyOptions
        Switches.
    index : int
        Number of the trial.
    opinions : dict, optional
        Filled with the judge's opinions by identity.

    Yields
    ------
    Variant
        Each is sent what came of it.
    """
    source = original.files[original.sources[0]]
    talk = Conversation(model, options.lassi.sampling, index)
    how = {"flags": original.flags, "language": original.language}
    least = 1.0
    results: list[str] = []
    plan = ""
    temperature = options.lassi.sampling.temperature
    try:
        for stage in range(1 + options.most_iterations):
            if stage == 1:
                plan = talk.ask(code_prompts.plan_question(source, "\n".join(results))).text

            def question(note: str = "", plan: str = plan) -> list[Message]:
                said = "\n".join([*results, note]).strip()
                return code_prompts.refactoring_question(source, plan, said)

            talk.temperature = temperature
            last = yield from corrected(talk, question, options.lassi, **how)  # type: ignore[arg-type]
            cost = _cost(last[1]) if last is not None else math.nan
            if last is not None and last[1].accepted:
                results.append(f"{last[0].change}: {cost:.3g} of the original's energy.")
                if options.judge and opinions is not None:
                    opinions[last[0].identity] = _opinion(talk, source, last[0].text)
            improved = cost < least
            least = min(least, cost) if improved else least
            temperature = options.lassi.sampling.temperature if improved else temperature + WARMER
            if temperature > options.hottest + 1e-9:
                return
    except ModelError:
        return  # no further answer: what was accepted before stays


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
