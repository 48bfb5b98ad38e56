"""Options of language models: one that is asked first, a larger one behind it, and how."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rheostat.questions.code import ModelAddress
    from rheostat.questions.code.chains import LassiOptions

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
Larger = Annotated[
    str,
    typer.Option(
        help="A larger model, asked only where the first one's programs are wrong or repeat."
    ),
]
LargerUrl = Annotated[
    str,
    typer.Option(
        help="Its service, with the key from RHEOSTAT_LARGER_KEY where that is set.  "
        "[default: --base-url]"
    ),
]
LargerGguf = Annotated[Path | None, typer.Option(help="The larger model as a file (GGUF).")]
TranscriptFile = Annotated[
    Path | None,
    typer.Option(
        "--transcript",
        help="Questions and answers, kept and replayed from here.  [default: in the folder]",
        writable=True,
    ),
]
MostTokens = Annotated[
    int, typer.Option(min=0, max=10**15, help="Tokens in all, of both models; 0: no limit.")
]
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


def address(name: str, base_url: str, gguf: Path | None) -> ModelAddress:
    """A model at a service or in a file."""
    from rheostat.questions.code import ModelAddress

    return ModelAddress(name, base_url, gguf)


def lassi_options(
    temperature: float, max_tokens: int, corrections: int, *, self_prompting: bool,
    no_output_check: bool, newlines_deleted: bool, unlimited_corrections: bool,
) -> LassiOptions:  # fmt: skip
    """How a model is asked."""
    from rheostat.questions.code.chains import LassiOptions, Sampling

    return LassiOptions(
        Sampling(temperature, max_tokens=max_tokens), corrections, self_prompting=self_prompting,
        no_output_check=no_output_check, unlimited_corrections=unlimited_corrections,
        newlines_deleted=newlines_deleted,
    )  # fmt: skip
