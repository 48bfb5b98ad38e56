"""Language models as they are typed: one that is asked first, and a larger one behind it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

if TYPE_CHECKING:
    from rheostat.prediction.language_model.conversation import LanguageModel, Sampling
    from rheostat.prediction.language_model.transcript import RecordedModel
    from rheostat.questions.code.code_search import CodeSearch
    from rheostat.recipes.lassi import Conversation

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


class ModelAddress(NamedTuple):
    """Where a model is: by its name at a service, or in a file."""

    name: str
    base_url: str
    gguf: Path | None


class AskedModels(NamedTuple):
    """Models in the order in which they are asked; they share a transcript and a budget."""

    models: tuple[RecordedModel, ...]

    @property
    def name(self) -> str:
        """Of all."""
        return " then ".join(m.name for m in self.models)

    def talks(self, sampling: Sampling, chains: int) -> list[Conversation]:
        """A conversation for each chain, with the first model until it hands over."""
        from rheostat.recipes.lassi import Conversation

        first, *larger = self.models
        return [Conversation(first, sampling, i, larger=list(larger)) for i in range(chains)]

    def with_cost(self, result: CodeSearch) -> CodeSearch:
        """The result with what each model took; problems are told, and raised if none spoke."""
        from dataclasses import replace

        from rheostat.cli.output import tell
        from rheostat.prediction.language_model.conversation import ModelError

        problems = list(dict.fromkeys(p for m in self.models for p in m.problems))
        if problems and not any(m.used for m in self.models) and not result.rows:
            raise ModelError(problems[0])
        for problem in problems:
            tell(f"note: {problem}")
        levels = [{"model": m.name, "answers": len(m.used), "tokens": m.tokens,
                   "seconds": m.seconds} for m in self.models]  # fmt: skip
        cost = {
            "tokens": sum(m.tokens for m in self.models), "model": self.name,
            "model_seconds": sum(m.seconds for m in self.models), "models": levels,
            "unanswered": self.models[0].transcript.cost["unanswered"],
        }  # fmt: skip
        return replace(result, cost=result.cost | cost)


def asked_models(
    first: ModelAddress, larger: ModelAddress, transcript: Path, most_tokens: int
) -> AskedModels:
    """The models that were asked for, recorded; by its name alone a model is replayed."""
    from rheostat.prediction.language_model.openai_model import KEY, LARGER_KEY, OTHER_KEY
    from rheostat.prediction.language_model.transcript import RecordedModel, Transcript

    if (first.gguf is None) == (not first.name):
        raise typer.BadParameter("expected --model NAME or --gguf FILE", param_hint="--model")
    if larger.gguf is not None and larger.name:
        raise typer.BadParameter("expected one of --larger and --larger-gguf, got both",
                                 param_hint="--larger")  # fmt: skip
    every = [_model(first, (KEY, OTHER_KEY))]
    if larger.gguf is not None or larger.name:
        every.append(_model(larger, (LARGER_KEY, KEY, OTHER_KEY)))
    kept, spent = Transcript(transcript), dict[str, int]()
    models = tuple(RecordedModel(m, kept, most_tokens, spent) for m in every)
    if len({m.name for m in models}) < len(models):
        problem = f"expected another model than {models[0].name}"
        raise typer.BadParameter(problem, param_hint="--larger")
    return AskedModels(models)


def _model(address: ModelAddress, keys: Sequence[str]) -> LanguageModel | str:
    from rheostat.prediction.language_model.gguf_model import GgufModel
    from rheostat.prediction.language_model.openai_model import OpenAIModel

    if address.gguf is not None:
        return GgufModel(address.gguf)
    if not address.base_url:
        return address.name
    return OpenAIModel(address.name, address.base_url, keys=keys)


def chain_facts(talks: Sequence[Conversation]) -> list[dict[str, Any]]:
    """Per chain: answers, corrections, and its first accepted program."""
    rows = []
    for talk in talks:
        good = [(name, before) for name, before, r in talk.results if r.accepted]
        name, before = good[0] if good else (None, talk.corrections)
        rows.append({"chain": talk.index, "model": talk.model.name, "answers": talk.answers,
                     "corrections": before, "verified": bool(good), "variant": name})  # fmt: skip
    return rows
