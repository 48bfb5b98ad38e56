"""What is asked of a language model and what it answers; nothing here knows a service."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

from rheostat.errors import RheostatError


class ModelError(RheostatError):
    """A language model gave no answer: no connection, no key, an error of the service."""


@dataclass(frozen=True)
class Message:
    """A turn of a conversation; ``role`` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True)
class Sampling:
    """How an answer is drawn.

    Parameters
    ----------
    temperature : float
        0 takes the likeliest token each time.
    top_p : float
        Share of probability that tokens are drawn from.
    max_tokens : int
        Longest answer.
    seed : int
        The draw; the index of the sample is added to it.
    """

    temperature: float = 0.2
    top_p: float = 0.9
    max_tokens: int = 4096
    seed: int = 0


@dataclass(frozen=True)
class ChatCompletion:
    """An answer with what it took.

    Parameters
    ----------
    text : str
        What was said.
    finish : str
        "stop", "length" where it was cut off, "refusal", or the service's own word.
    model : str
        Who answered, as the service names it.
    prompt_tokens, completion_tokens : int
        As the service counts them.
    seconds : float
        From question to answer, retries included.
    replayed : bool
        Whether it comes from a transcript and cost nothing now.
    """

    text: str
    finish: str = "stop"
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    replayed: bool = False

    @property
    def tokens(self) -> int:
        """Of question and answer."""
        return self.prompt_tokens + self.completion_tokens


@runtime_checkable
class LanguageModel(Protocol):
    """Answers conversations."""

    @property
    def name(self) -> str:
        """By which it is known."""
        ...

    def complete(
        self, messages: Sequence[Message], sampling: Sampling, index: int = 0
    ) -> ChatCompletion:
        """Answer.

        Parameters
        ----------
        messages : sequence of Message
            The conversation so far.
        sampling : Sampling
            How to draw.
        index : int
            Which of several samples of the same question.

        Returns
        -------
        ChatCompletion
            Text with tokens and seconds.

        Raises
        ------
        ModelError
            Without an answer.
        """
        ...


def question_key(model: str, messages: Sequence[Message], sampling: Sampling, index: int) -> str:
    """The name of a question: model, messages, sampling and the number of the sample.

    Parameters
    ----------
    model : str
        Name of the model.
    messages : sequence of Message
        The conversation.
    sampling : Sampling
        How the answer is drawn.
    index : int
        Number of the sample; without it k samples would be one.

    Returns
    -------
    str
        SHA-256 in hexadecimal digits.

    Examples
    --------
    >>> a = question_key("m", [Message("user", "hi")], Sampling(), 0)
    >>> a == question_key("m", [Message("user", "hi")], Sampling(), 1)
    False
    """
    asked = [model, [asdict(m) for m in messages], asdict(sampling), index]
    return hashlib.sha256(json.dumps(asked, ensure_ascii=False).encode()).hexdigest()


def plain_messages(messages: Sequence[Message]) -> list[Mapping[str, Any]]:
    """As OpenAI-compatible services take them.

    Parameters
    ----------
    messages : sequence of Message
        The conversation.

    Returns
    -------
    list of mapping
        With role and content.
    """
    return [asdict(m) for m in messages]
