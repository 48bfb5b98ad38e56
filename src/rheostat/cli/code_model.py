"""``rheostat code translate`` and ``refactor``: candidates by a language model, verified."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import code_search as c
from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.prediction.language_model.transcript import RecordedModel
    from rheostat.recipes.variant_store import VariantStore
    from rheostat.tradeoff.variants.variant import Steps

ModelName = Annotated[
    str, typer.Option("--model", help="The language model, as its service names it.")
]
BaseUrl = Annotated[
    str,
    typer.Option(
        help="Address of an OpenAI-compatible service; the key comes from RHEOSTAT_MODEL_KEY."
    ),
]
Gguf = Annotated[
    Path | None, typer.Option(help="A model file (GGUF) to run in this process instead.")
]
TranscriptFile = Annotated[
    Path | None,
    typer.Option(
        "--transcript",
        help="Questions and answers, kept and replayed from here.  [default: in the folder]",
        writable=True,
    ),
]
Samples = Annotated[int, typer.Option(min=1, help="Chains, each a sample of its own.")]
Corrections = Annotated[int, typer.Option(min=0, help="Corrections of each chain.")]
MostTokens = Annotated[int, typer.Option(min=0, help="Tokens in all; 0: no limit.")]
Temperature = Annotated[float, typer.Option(min=0.0, max=2.0, help="Of sampling, at first.")]
Unsafe = Annotated[
    bool, typer.Option("--unsafe-no-sandbox", help="Run code without a sandbox, if you trust it.")
]


def translate(
    program: c.ProgramFile,
    to: Annotated[str, typer.Option(help="openmp, target or serial.")],
    model: ModelName = "",
    base_url: BaseUrl = "",
    gguf: Gguf = None,
    transcript: TranscriptFile = None,
    samples: Samples = 1,
    corrections: Corrections = 4,
    temperature: Temperature = 0.2,
    most_tokens: MostTokens = 0,
    search: Annotated[
        bool, typer.Option(help="Also search without the model, where it can (serial to openmp).")
    ] = True,
    no_output_check: Annotated[
        bool, typer.Option(help="As published: the model hears of builds and crashes alone.")
    ] = False,
    newlines_deleted: Annotated[
        bool, typer.Option(help="As published: errors as one line.")
    ] = False,
    unlimited_corrections: Annotated[
        bool, typer.Option(help="As published: corrections have no limit but --budget.")
    ] = False,
    reference: Annotated[
        Path | None,
        typer.Option(help="A program in the target language to be compared with: Sim-T, Sim-L."),
    ] = None,
    budget: Annotated[int, typer.Option(min=1, help="Variants that are run.")] = 12,
    threads: Annotated[int, typer.Option(min=1, help="Threads of timed runs.")] = 2,
    inputs: c.Inputs = None,
    rungs: c.Rungs = "",
    folder: c.Folder = None,
    output: c.Output = None,
    patch: c.Patch = None,
    unsafe_no_sandbox: Unsafe = False,
    seed: c.HiddenSeed = None,
    html: o.Html = None,
    json: o.Json = False,
) -> None:
    """Translate PROGRAM with a language model that is told what goes wrong (LASSI).

    A translation counts only if every rung of rheostat code verify that can run here accepts it.
    """
    from rheostat.core.files import read_text
    from rheostat.prediction.language_model.conversation import Sampling
    from rheostat.recipes.code_search import searched_chains
    from rheostat.recipes.lassi import LassiOptions, lassi_metrics, lassi_steps
    from rheostat.recipes.variant_store import relative

    original = c.load_program(program, inputs)
    if to not in ("openmp", "target", "serial"):
        raise typer.BadParameter(
            f"expected openmp, target or serial, got {to!r}", param_hint="--to"
        )
    compared = None if reference is None else read_text(reference)
    how = LassiOptions(
        Sampling(temperature), corrections, no_output_check=no_output_check,
        unlimited_corrections=unlimited_corrections, newlines_deleted=newlines_deleted,
    )  # fmt: skip
    kept, temporary = c.kept_folder(folder)
    with temporary:
        asked = _model(model, base_url, gguf, transcript or kept / "transcript.jsonl", most_tokens)

        def chains(store: VariantStore) -> Sequence[Steps]:
            own = [lassi_steps(original, to, asked, how, i) for i in range(samples)]
            also = search and to == "openmp" and original.language == "serial"
            return [*own, *(searched_chains(original, to, "runtime_s")(store) if also else ())]

        def facts(result: Any) -> dict[str, Any]:
            best = result.best("runtime_s")
            if best is None or compared is None:
                return {}
            before = [r for r in result.rows if r["proposer"] == best["proposer"]]
            place = [r["variant"] for r in before].index(best["variant"])
            ratio = 1.0 / relative(best, "runtime_s")
            return {"lassi": lassi_metrics(result.text(best["variant"]), compared, place, ratio)}

        result = _searched(original, chains, kept, asked, "runtime_s", to, budget, threads, seed,
                           unsafe=unsafe_no_sandbox, rungs=rungs)  # fmt: skip
        c.show(result, "runtime_s", "rheostat.code-translate/1", output, patch, html, json=json,
               facts=facts(result))  # fmt: skip


def refactor(
    program: c.ProgramFile,
    model: ModelName = "",
    base_url: BaseUrl = "",
    gguf: Gguf = None,
    transcript: TranscriptFile = None,
    samples: Samples = 1,
    corrections: Corrections = 2,
    temperature: Temperature = 0.2,
    most_tokens: MostTokens = 0,
    search: Annotated[bool, typer.Option(help="Also search without the model.")] = True,
    judge: Annotated[
        bool, typer.Option(help="Ask the model for its opinion of what is accepted; advice only.")
    ] = False,
    budget: Annotated[int, typer.Option(min=1, help="Variants that are run.")] = 12,
    threads: Annotated[int, typer.Option(min=1, help="Threads of timed runs.")] = 2,
    inputs: c.Inputs = None,
    rungs: c.Rungs = "",
    folder: c.Folder = None,
    output: c.Output = None,
    patch: c.Patch = None,
    unsafe_no_sandbox: Unsafe = False,
    seed: c.HiddenSeed = None,
    html: o.Html = None,
    json: o.Json = False,
) -> None:
    """Rewrite PROGRAM with a language model so that it takes less energy (LASSI-EE).

    With several --samples energy-reduction@k is given for each k, in both conventions for
    candidates that take more.
    """
    from rheostat.prediction.language_model.conversation import Sampling
    from rheostat.recipes.code_search import searched_chains
    from rheostat.recipes.lassi import LassiOptions
    from rheostat.recipes.lassi_ee import LassiEnergyOptions, lassi_ee_steps

    original = c.load_program(program, inputs)
    how = LassiEnergyOptions(LassiOptions(Sampling(temperature), corrections), judge=judge)
    opinions: dict[str, bool | None] = {}
    kept, temporary = c.kept_folder(folder)
    with temporary:
        asked = _model(model, base_url, gguf, transcript or kept / "transcript.jsonl", most_tokens)

        def chains(store: VariantStore) -> Sequence[Steps]:
            own = [lassi_ee_steps(original, asked, how, i, opinions) for i in range(samples)]
            return [*own, *(searched_chains(original, "", "energy_j")(store) if search else ())]

        result = _searched(original, chains, kept, asked, "energy_j", "", budget, threads, seed,
                           unsafe=unsafe_no_sandbox, rungs=rungs)  # fmt: skip
        facts = {"energy_reduction_at_k": _at_k(result.rows, asked.name, samples),
                 "opinions": opinions}  # fmt: skip
        c.show(result, "energy_j", "rheostat.code-refactor/1", output, patch, html, json=json,
               facts=facts)  # fmt: skip


def _model(
    name: str, base_url: str, gguf: Path | None, transcript: Path, most_tokens: int
) -> RecordedModel:
    """The model that was asked for, recorded; by its name alone it is replayed."""
    from rheostat.prediction.language_model.gguf_model import GgufModel
    from rheostat.prediction.language_model.openai_model import OpenAIModel
    from rheostat.prediction.language_model.transcript import RecordedModel, Transcript

    if (gguf is None) == (not name):
        raise typer.BadParameter("expected --model NAME or --gguf FILE", param_hint="--model")
    kept = Transcript(transcript)
    if gguf is not None:
        return RecordedModel(GgufModel(gguf), kept, most_tokens)
    return RecordedModel(OpenAIModel(name, base_url) if base_url else name, kept, most_tokens)


def _searched(
    original: Any, chains: Callable[[VariantStore], Sequence[Steps]], folder: Path,
    model: RecordedModel, objective: str, to: str, budget: int, threads: int, seed: int | None,
    *, unsafe: bool, rungs: str,
) -> Any:  # fmt: skip
    from dataclasses import replace

    from rheostat.cli.code_options import asked_rungs, confinement
    from rheostat.cli.output import tell
    from rheostat.measurement.code.case import RungOptions
    from rheostat.measurement.code.verdict import RUNGS
    from rheostat.recipes.code_search import SearchSettings, search_code

    settings = SearchSettings(
        budget, options=RungOptions(timing_threads=threads),
        rungs=asked_rungs(rungs, "--rungs") or RUNGS,
        confined_by=confinement("", "/", unsafe=unsafe), seed=seed,
        about={"to": to, "objective": objective, "model": model.name},
    )  # fmt: skip
    result = search_code(original, chains, folder, settings, c.progress_line)
    for problem in dict.fromkeys(model.problems):
        tell(f"note: {problem}")
    cost = {"tokens": model.tokens, "model": model.name, "model_seconds": model.seconds}
    return replace(result, cost=result.cost | cost)


def _at_k(rows: Sequence[Any], proposer: str, samples: int) -> dict[str, dict[str, float]]:
    """energy-reduction@k of the chains' first answers, in both conventions."""
    from rheostat.explanation.variants import ratio
    from rheostat.tradeoff.best_of_k import reduction_at_k

    best: dict[str, float | None] = {}
    for r in (r for r in rows if r["proposer"] == proposer):
        chain = r["change"].partition(",")[0]
        saved = 1.0 - ratio(r, "energy_j") if r["verdict"] == "accepted" else math.nan
        before = best.get(chain)
        if math.isfinite(saved):
            best[chain] = saved if before is None else max(before, saved)
        else:
            best.setdefault(chain, None)
    trials = [*best.values(), *[None] * (samples - len(best))]
    return {
        str(k): {
            "negative_counts": reduction_at_k(trials, k),
            "original_kept": reduction_at_k(trials, k, keeps_original=True),
        }
        for k in range(1, len(trials) + 1)
    }
