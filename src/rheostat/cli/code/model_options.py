"""Options of language models: one that is asked first, a larger one behind it, and how."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli.asks import Values
from rheostat.cli.options.declared import option

Corrections = Annotated[int, option("Corrections of each chain.", min=0, max=1000)]


def models(
    model: Annotated[str, option("The language model, as its service names it.", "--model")] = "",
    base_url: Annotated[
        str,
        option("Address of an OpenAI-compatible service; the key comes from RHEOSTAT_MODEL_KEY."),
    ] = "",
    gguf: Annotated[
        Path | None, option("A model file (GGUF) to run in this process instead.")
    ] = None,
    larger: Annotated[
        str,
        option("A larger model, asked only where the first one's programs are wrong or repeat."),
    ] = "",
    larger_url: Annotated[
        str,
        option(
            "Its service, with the key from RHEOSTAT_LARGER_KEY where that is set.  "
            "[default: --base-url]"
        ),
    ] = "",
    larger_gguf: Annotated[Path | None, option("The larger model as a file (GGUF).")] = None,
    transcript: Annotated[
        Path | None,
        option(
            "Questions and answers, kept and replayed from here.  [default: in the folder]",
            "--transcript",
            writable=True,
        ),
    ] = None,
    most_tokens: Annotated[
        int, option("Tokens in all, of both models; 0: no limit.", min=0, max=10**15)
    ] = 0,
) -> Values:
    """The model that is asked first, and the larger one, each at a service or in a file."""
    from rheostat.questions.code import ModelAddress

    return {"model": ModelAddress(model, base_url, gguf),
            "larger": ModelAddress(larger, larger_url or base_url, larger_gguf)}  # fmt: skip


def asked_so(
    samples: Annotated[int, option("Chains, each a sample of its own.", min=1, max=1000)] = 1,
    corrections: Corrections = 4,
    temperature: Annotated[float, option("Of sampling, at first.", min=0.0, max=2.0)] = 0.2,
    max_tokens: Annotated[
        int, option("Tokens of an answer, at most.", min=1, max=10_000_000)
    ] = 4096,
    self_prompting: Annotated[
        bool, option("Ask for summary and description of context and source first.")
    ] = True,
    no_output_check: Annotated[
        bool, option("As published: the model hears of builds and crashes alone.")
    ] = False,
    newlines_deleted: Annotated[bool, option("As published: errors as one line.")] = False,
    unlimited_corrections: Annotated[
        bool, option("As published: corrections have no limit but --budget.")
    ] = False,
    one_run: Annotated[
        bool, option("As published: each candidate is timed once, without an interval.")
    ] = False,
) -> Values:
    """How a model is asked."""
    from rheostat.questions.code.chains import LassiOptions, Sampling

    how = LassiOptions(
        Sampling(temperature, max_tokens=max_tokens), corrections, self_prompting=self_prompting,
        no_output_check=no_output_check, unlimited_corrections=unlimited_corrections,
        newlines_deleted=newlines_deleted,
    )  # fmt: skip
    return {"how": how}
