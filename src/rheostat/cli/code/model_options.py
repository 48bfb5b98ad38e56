"""Options of language models: one that is asked first, a larger one behind it, and how."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli.asks import Values
from rheostat.cli.options.declared import option

ModelName = Annotated[str, option("The language model, as its service names it.", "--model")]
BaseUrl = Annotated[
    str, option("Address of an OpenAI-compatible service; the key comes from RHEOSTAT_MODEL_KEY.")
]
Gguf = Annotated[Path | None, option("A model file (GGUF) to run in this process instead.")]
Larger = Annotated[
    str, option("A larger model, asked only where the first one's programs are wrong or repeat.")
]
LargerUrl = Annotated[
    str,
    option(
        "Its service, with the key from RHEOSTAT_LARGER_KEY where that is set.  "
        "[default: --base-url]"
    ),
]
LargerGguf = Annotated[Path | None, option("The larger model as a file (GGUF).")]
TranscriptFile = Annotated[
    Path | None,
    option(
        "Questions and answers, kept and replayed from here.  [default: in the folder]",
        "--transcript",
        writable=True,
    ),
]
MostTokens = Annotated[
    int, option("Tokens in all, of both models; 0: no limit.", min=0, max=10**15)
]
Samples = Annotated[int, option("Chains, each a sample of its own.", min=1, max=1000)]
Corrections = Annotated[int, option("Corrections of each chain.", min=0, max=1000)]
MaxTokens = Annotated[int, option("Tokens of an answer, at most.", min=1, max=10_000_000)]
Temperature = Annotated[float, option("Of sampling, at first.", min=0.0, max=2.0)]
Unsafe = Annotated[
    bool, option("Run code without a sandbox, if you trust it.", "--unsafe-no-sandbox")
]
NoOutputCheck = Annotated[
    bool, option("As published: the model hears of builds and crashes alone.")
]
NewlinesDeleted = Annotated[bool, option("As published: errors as one line.")]
UnlimitedCorrections = Annotated[
    bool, option("As published: corrections have no limit but --budget.")
]
OneRun = Annotated[bool, option("As published: each candidate is timed once, without an interval.")]
SelfPrompting = Annotated[
    bool, option("Ask for summary and description of context and source first.")
]


def models(
    name: str, base_url: str, gguf: Path | None,
    larger: str, larger_url: str, larger_gguf: Path | None,
) -> Values:  # fmt: skip
    """The model that is asked first, and the larger one, each at a service or in a file."""
    from rheostat.questions.code import ModelAddress

    return {"model": ModelAddress(name, base_url, gguf),
            "larger": ModelAddress(larger, larger_url or base_url, larger_gguf)}  # fmt: skip


def asked_so(
    temperature: float, max_tokens: int, corrections: int, *, self_prompting: bool,
    no_output_check: bool, newlines_deleted: bool, unlimited_corrections: bool,
) -> Values:  # fmt: skip
    """How a model is asked."""
    from rheostat.questions.code.chains import LassiOptions, Sampling

    how = LassiOptions(
        Sampling(temperature, max_tokens=max_tokens), corrections, self_prompting=self_prompting,
        no_output_check=no_output_check, unlimited_corrections=unlimited_corrections,
        newlines_deleted=newlines_deleted,
    )  # fmt: skip
    return {"how": how}
