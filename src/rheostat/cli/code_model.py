"""``rheostat code translate`` and ``refactor``: candidates by a language model, verified."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rheostat.cli import asked_models as m
from rheostat.cli import code_search as c
from rheostat.cli import options as o

if TYPE_CHECKING:
    from rheostat.measurement.code.program import Program
    from rheostat.questions.code.code_search import CodeSearch, SearchSettings
    from rheostat.questions.code.target_baseline import TargetBaseline
    from rheostat.questions.code.variant_store import VariantStore
    from rheostat.recipes.lassi import Conversation
    from rheostat.tradeoff.variants.variant import Steps

Samples = Annotated[int, typer.Option(min=1, max=1000, help="Chains, each a sample of its own.")]
Corrections = Annotated[int, typer.Option(min=0, max=1000, help="Corrections of each chain.")]
MaxTokens = Annotated[
    int, typer.Option(min=1, max=10_000_000, help="Tokens of an answer, at most.")
]
Temperature = Annotated[float, typer.Option(min=0.0, max=2.0, help="Of sampling, at first.")]
Unsafe = Annotated[
    bool, typer.Option("--unsafe-no-sandbox", help="Run code without a sandbox, if you trust it.")
]
NoOutputCheck = Annotated[
    bool, typer.Option(help="As published: the model hears of builds and crashes alone.")
]
NewlinesDeleted = Annotated[bool, typer.Option(help="As published: errors as one line.")]
UnlimitedCorrections = Annotated[
    bool, typer.Option(help="As published: corrections have no limit but --budget.")
]
OneRun = Annotated[
    bool, typer.Option(help="As published: each candidate is timed once, without an interval.")
]
SelfPrompting = Annotated[
    bool, typer.Option(help="Ask for summary and description of context and source first.")
]


def translate(
    program: c.ProgramFile,
    to: Annotated[str, typer.Option(help="openmp, target or serial.")],
    model: m.ModelName = "",
    base_url: m.BaseUrl = "",
    gguf: m.Gguf = None,
    larger: m.Larger = "",
    larger_url: m.LargerUrl = "",
    larger_gguf: m.LargerGguf = None,
    transcript: m.TranscriptFile = None,
    samples: Samples = 1,
    corrections: Corrections = 4,
    temperature: Temperature = 0.2,
    max_tokens: MaxTokens = 4096,
    most_tokens: m.MostTokens = 0,
    search: Annotated[
        bool, typer.Option(help="Also search without the model, where it can (serial to openmp).")
    ] = True,
    self_prompting: SelfPrompting = True,
    no_output_check: NoOutputCheck = False,
    newlines_deleted: NewlinesDeleted = False,
    unlimited_corrections: UnlimitedCorrections = False,
    one_run: OneRun = False,
    reference: Annotated[
        Path | None,
        typer.Option(
            help="The original in the target language: built and run before the model is asked, "
            "then compared with (Sim-T, Sim-L, Ratio)."
        ),
    ] = None,
    budget: Annotated[int, typer.Option(min=1, max=100_000, help="Variants that are run.")] = 12,
    threads: Annotated[int, typer.Option(min=1, max=4096, help="Threads of timed runs.")] = 2,
    inputs: c.Inputs = None,
    file: c.Changed = "",
    rungs: c.Rungs = "",
    require: c.Required = "output",
    folder: c.Folder = None,
    output: c.Output = None,
    patch: c.Patch = None,
    sarif: c.Sarif = None,
    junit: c.Junit = None,
    unsafe_no_sandbox: Unsafe = False,
    seed: c.HiddenSeed = None,
    html: o.Html = None,
    json: o.Json = False,
) -> None:
    """Translate PROGRAM with a language model that is told what goes wrong (LASSI).

    A translation counts only if every rung of rheostat code verify that can run here accepts it.
    """
    from contextlib import nullcontext

    from rheostat.cli.output import tell
    from rheostat.measurement.code.program import read_program
    from rheostat.prediction.language_model.conversation import Sampling
    from rheostat.questions.code.code_search import search_code
    from rheostat.questions.code.target_baseline import target_baseline
    from rheostat.recipes.lassi import LassiOptions, lassi_steps

    original, tolerance = c.load_program(program, inputs, file)
    if to not in ("openmp", "target", "serial"):
        raise typer.BadParameter(
            f"expected openmp, target or serial, got {to!r}", param_hint="--to"
        )
    compared = None if reference is None else read_program(reference)
    if compared is not None and compared.language != to:
        problem = f"expected a program in {to}, got {compared.language}"
        raise typer.BadParameter(problem, param_hint="--reference")
    how = LassiOptions(
        Sampling(temperature, max_tokens=max_tokens), corrections, self_prompting=self_prompting,
        no_output_check=no_output_check, unlimited_corrections=unlimited_corrections,
        newlines_deleted=newlines_deleted,
    )  # fmt: skip
    kept, temporary = c.kept_folder(folder)
    with temporary:
        asked = m.asked_models(
            m.ModelAddress(model, base_url, gguf),
            m.ModelAddress(larger, larger_url or base_url, larger_gguf),
            transcript or kept / "transcript.jsonl", most_tokens,
        )  # fmt: skip
        settings = _settings(asked.name, to, "runtime_s", budget, threads, seed, tolerance,
                             (rungs, require), one_run=one_run,
                             unsafe=unsafe_no_sandbox)  # fmt: skip
        talks = asked.talks(how.sampling, samples)
        without_model = _searched(original, to) if search else lambda _: []

        def chains(store: VariantStore) -> Sequence[Steps]:
            own = [lassi_steps(original, to, talk, how) for talk in talks]
            return [*own, *without_model(store)]

        first = target_baseline(compared, original, settings) if compared else nullcontext()
        with first as baseline:
            if baseline is not None and baseline.note:
                tell(f"note: the reference is not compared with {program.name}: {baseline.note}")
            result = search_code(original, chains, kept, settings, c.progress_line)
            facts = _translation_facts(result, talks, baseline)
        wanted = c.Written(output, patch, sarif, junit, html)
        c.show(asked.with_cost(result), "runtime_s", "rheostat.code-translate/1", wanted,
               json=json, facts=facts)  # fmt: skip


def refactor(
    program: c.ProgramFile,
    model: m.ModelName = "",
    base_url: m.BaseUrl = "",
    gguf: m.Gguf = None,
    larger: m.Larger = "",
    larger_url: m.LargerUrl = "",
    larger_gguf: m.LargerGguf = None,
    transcript: m.TranscriptFile = None,
    samples: Samples = 1,
    corrections: Corrections = 2,
    temperature: Temperature = 0.2,
    max_tokens: MaxTokens = 4096,
    most_tokens: m.MostTokens = 0,
    search: Annotated[bool, typer.Option(help="Also search without the model.")] = True,
    judge: Annotated[
        bool, typer.Option(help="Ask the model for its opinion of what is accepted; advice only.")
    ] = False,
    self_prompting: SelfPrompting = True,
    no_output_check: NoOutputCheck = False,
    newlines_deleted: NewlinesDeleted = False,
    unlimited_corrections: UnlimitedCorrections = False,
    one_run: OneRun = False,
    budget: Annotated[int, typer.Option(min=1, max=100_000, help="Variants that are run.")] = 12,
    threads: Annotated[int, typer.Option(min=1, max=4096, help="Threads of timed runs.")] = 2,
    inputs: c.Inputs = None,
    file: c.Changed = "",
    rungs: c.Rungs = "",
    require: c.Required = "output",
    folder: c.Folder = None,
    output: c.Output = None,
    patch: c.Patch = None,
    sarif: c.Sarif = None,
    junit: c.Junit = None,
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
    from rheostat.questions.code.code_search import search_code, searched_chains
    from rheostat.recipes.lassi import LassiOptions
    from rheostat.recipes.lassi_ee import LassiEnergyOptions, lassi_ee_steps

    original, tolerance = c.load_program(program, inputs, file)
    lassi = LassiOptions(
        Sampling(temperature, max_tokens=max_tokens), corrections, self_prompting=self_prompting,
        no_output_check=no_output_check, unlimited_corrections=unlimited_corrections,
        newlines_deleted=newlines_deleted,
    )  # fmt: skip
    how = LassiEnergyOptions(lassi, judge=judge)
    kept, temporary = c.kept_folder(folder)
    with temporary:
        asked = m.asked_models(
            m.ModelAddress(model, base_url, gguf),
            m.ModelAddress(larger, larger_url or base_url, larger_gguf),
            transcript or kept / "transcript.jsonl", most_tokens,
        )  # fmt: skip
        settings = _settings(asked.name, "", "energy_j", budget, threads, seed, tolerance,
                             (rungs, require), one_run=one_run,
                             unsafe=unsafe_no_sandbox)  # fmt: skip
        talks = asked.talks(lassi.sampling, samples)

        def chains(store: VariantStore) -> Sequence[Steps]:
            own = [lassi_ee_steps(original, talk, how) for talk in talks]
            return [*own, *(searched_chains(original, "", "energy_j")(store) if search else ())]

        result = search_code(original, chains, kept, settings, c.progress_line)
        wanted = c.Written(output, patch, sarif, junit, html)
        c.show(asked.with_cost(result), "energy_j", "rheostat.code-refactor/1", wanted,
               json=json, facts=_refactoring_facts(talks))  # fmt: skip


def _searched(original: Program, to: str) -> Callable[[VariantStore], Sequence[Steps]]:
    """The chains that need no model, none where there is no rule; which is said."""
    from rheostat.cli.output import tell
    from rheostat.errors import DataError
    from rheostat.questions.code.code_search import searched_chains

    try:
        return searched_chains(original, to, "runtime_s")
    except DataError as e:
        tell(f"note: the model alone translates: {'; '.join(e.problems)}")
        return lambda _: []


def _settings(
    model: str, to: str, objective: str, budget: int, threads: int, seed: int | None,
    tolerance: Any, rungs: tuple[str, str], *, one_run: bool, unsafe: bool,
) -> SearchSettings:  # fmt: skip
    from rheostat.cli.code_options import asked_rungs, confinement
    from rheostat.measurement.code.case import RungOptions
    from rheostat.measurement.code.verdict import RUNGS
    from rheostat.questions.code.code_search import SearchSettings

    options = RungOptions(timing_threads=threads, most_pairs=6 * RungOptions.pairs)
    if one_run:
        options = RungOptions(timing_threads=threads, pairs=1)
    return SearchSettings(
        budget, tolerance=tolerance, options=options,
        rungs=asked_rungs(rungs[0], "--rungs") or RUNGS,
        required=asked_rungs(rungs[1], "--require"),
        confined_by=confinement("", "/", unsafe=unsafe), seed=seed, translates=bool(to),
        about={"to": to, "objective": objective, "model": model},
    )  # fmt: skip


def _translation_facts(
    result: CodeSearch, talks: Sequence[Conversation], baseline: TargetBaseline | None
) -> dict[str, Any]:
    """The chains, and with a target-language original LASSI's figures of the variant taken."""
    from rheostat.recipes.lassi import lassi_metrics

    chains = m.chain_facts(talks)
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


def _refactoring_facts(talks: Sequence[Conversation]) -> dict[str, Any]:
    """The trials, energy-reduction@k of their best in both conventions, the judge's opinions."""
    from rheostat.recipes.lassi_ee import trial_reductions
    from rheostat.tradeoff.variants.best_of_k import reduction_at_k

    trials = trial_reductions(talks)
    at_k = {
        str(k): {
            "negative_counts": reduction_at_k(trials, k),
            "original_kept": reduction_at_k(trials, k, keeps_original=True),
        }
        for k in range(1, len(trials) + 1)
    }
    opinions = {name: said for talk in talks for name, said in talk.opinions.items()}
    return {"chains": m.chain_facts(talks), "energy_reduction_at_k": at_k, "opinions": opinions}
