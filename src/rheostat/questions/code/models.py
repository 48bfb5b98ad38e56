"""Language models that are asked: one first, and a larger one behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rheostat.errors import QuestionError
from rheostat.prediction.language_model.conversation import LanguageModel, ModelError, Sampling
from rheostat.prediction.language_model.gguf_model import GgufModel
from rheostat.prediction.language_model.openai_model import (
    KEY,
    LARGER_KEY,
    OTHER_KEY,
    OpenAIModel,
)
from rheostat.prediction.language_model.transcript import RecordedModel, Transcript
from rheostat.questions import listener
from rheostat.questions.code.code_search import CodeSearch
from rheostat.recipes.lassi import Conversation


@dataclass(frozen=True)
class ModelAddress:
    """Where a language model is: by its name at a service, or in a file.

    Parameters
    ----------
    name : str
        As its service names it; by its name alone a model is replayed.
    base_url : str
        Of an OpenAI-compatible service.
    gguf : Path, optional
        A file, to be run in this process instead.
    """

    name: str = ""
    base_url: str = ""
    gguf: Path | None = None

    def __bool__(self) -> bool:
        return bool(self.name or self.gguf)


NO_MODEL = ModelAddress()


@dataclass(frozen=True)
class AskedModels:
    """Models in the order in which they are asked; they share a transcript and a budget."""

    models: tuple[RecordedModel, ...]

    @property
    def name(self) -> str:
        """Of all."""
        return " then ".join(m.name for m in self.models)

    def talks(self, sampling: Sampling, chains: int) -> list[Conversation]:
        """A conversation for each chain, with the first model until it hands over."""
        first, *larger = self.models
        return [Conversation(first, sampling, i, larger=list(larger)) for i in range(chains)]

    def with_cost(self, result: CodeSearch) -> CodeSearch:
        """The result with what each model took; problems are noted, and raised if none spoke."""
        problems = list(dict.fromkeys(p for m in self.models for p in m.problems))
        if problems and not any(m.used for m in self.models) and not result.rows:
            raise ModelError(problems[0])
        for problem in problems:
            listener.note(problem)
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
    if (first.gguf is None) == (not first.name):
        raise QuestionError("--model", ["expected --model NAME or --gguf FILE"])
    if larger.gguf is not None and larger.name:
        raise QuestionError("--larger", ["expected one of --larger and --larger-gguf, got both"])
    every = [_model(first, (KEY, OTHER_KEY))]
    if larger:
        every.append(_model(larger, (LARGER_KEY, KEY, OTHER_KEY)))
    kept, spent = Transcript(transcript), dict[str, int]()
    models = tuple(RecordedModel(m, kept, most_tokens, spent) for m in every)
    if len({m.name for m in models}) < len(models):
        raise QuestionError("--larger", [f"expected another model than {models[0].name}"])
    return AskedModels(models)


def _model(address: ModelAddress, keys: Sequence[str]) -> LanguageModel | str:
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
