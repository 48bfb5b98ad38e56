"""A model behind any OpenAI-compatible address: OpenAI, vLLM, Ollama, a site's gateway."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from rheostat._optional import require
from rheostat.prediction.language_model.conversation import (
    ChatCompletion,
    Message,
    ModelError,
    Sampling,
    plain_messages,
)

KEY = "RHEOSTAT_MODEL_KEY"
OTHER_KEY = "OPENAI_API_KEY"
LARGER_KEY = "RHEOSTAT_LARGER_KEY"
LOCAL = ("127.0.0.1", "localhost", "::1")
HIDDEN = "(key)"
LIMIT, OTHER_LIMIT = "max_tokens", "max_completion_tokens"
"""Models that reason take the second alone, and no temperature."""


class OpenAIModel:
    """Asks a service; its key comes from the environment and is never written anywhere.

    A setting that the service refuses by name with status 400 (as models that reason refuse
    ``temperature``) is left out from then on, ``max_tokens`` sent as ``max_completion_tokens``.
    A reply that is no completion is asked for once more.

    Parameters
    ----------
    name : str
        The model, as the service calls it.
    base_url : str
        Address of the service, as http://127.0.0.1:8000/v1.
    retries : int
        Questions that are asked again after 429, 503 and lost connections.
    timeout_s : float
        Longest wait for an answer.
    keys : sequence of str
        Variables of the environment that may hold the key, the first that is set.

    Raises
    ------
    ModelError
        The address is none, or holds a key; no key for a service that is not on this machine.
    """

    def __init__(
        self,
        name: str,
        base_url: str,
        *,
        retries: int = 4,
        timeout_s: float = 600.0,
        keys: Sequence[str] = (KEY, OTHER_KEY),
    ) -> None:
        place = urlsplit(base_url)
        if place.scheme not in ("http", "https") or not place.hostname or place.username:
            shown = place._replace(netloc=place.netloc.rpartition("@")[2]).geturl()
            raise ModelError(f"{shown}: expected an address such as http://127.0.0.1:8000/v1; "
                             f"a key belongs into the variable {KEY}")  # fmt: skip
        self.name = name
        self.base_url = base_url
        self._key = next(filter(None, (os.environ.get(k) for k in keys)), "")
        if not self._key and place.hostname not in LOCAL:
            raise ModelError(f"{base_url}: expected a key in the variable {' or '.join(keys)}")
        self._retries, self._timeout_s = retries, timeout_s
        self._made: Any = None
        self._instead: dict[str, str] = {}

    @property
    def _client(self) -> Any:
        if self._made is None:
            library = require("openai", extra="models")
            self._made = library.OpenAI(
                base_url=self.base_url, api_key=self._key or "none", max_retries=self._retries,
                timeout=self._timeout_s,
            )  # fmt: skip
        return self._made

    def complete(
        self, messages: Sequence[Message], sampling: Sampling, index: int = 0
    ) -> ChatCompletion:
        """One answer; see `LanguageModel`."""
        library = require("openai", extra="models")
        settings = {"temperature": sampling.temperature, "top_p": sampling.top_p,
                    LIMIT: sampling.max_tokens, "seed": sampling.seed + index}  # fmt: skip
        malformed = (library.APIResponseValidationError, TypeError, ValueError)
        try:
            try:
                return self._asked(messages, settings)
            except malformed:
                return self._asked(messages, settings)
        except (library.OpenAIError, TypeError, ValueError) as error:
            raise ModelError(f"{self.name} at {self.base_url}: {self._safe(error)}") from None

    def _asked(self, messages: Sequence[Message], settings: Mapping[str, Any]) -> ChatCompletion:
        """One answer with the settings that this model takes; what it refuses is learned."""
        library = require("openai", extra="models")
        for _ in range(len(settings) + 1):
            given = {self._instead.get(k, k): v for k, v in settings.items()}
            given.pop("", None)
            began = time.perf_counter()
            try:
                answer = self._client.chat.completions.create(
                    model=self.name, messages=plain_messages(messages), **given
                )
            except library.BadRequestError as error:
                refused = _refused(error, settings.keys() - self._instead.keys())
                if not refused:
                    raise
                self._instead[refused] = OTHER_LIMIT if refused == LIMIT else ""
            else:
                return _completion(answer, self.name, time.perf_counter() - began)
        raise AssertionError("every setting is refused once at most")

    def _safe(self, error: Exception) -> str:
        """What went wrong, without the key that some services repeat."""
        said = f"{type(error).__name__}: {error}"
        return (said.replace(self._key, HIDDEN) if self._key else said)[:500]

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r}, {self.base_url!r})"


def _refused(error: Exception, settings: Collection[str]) -> str:
    """Which of the settings the service says it does not take; empty where it names none.

    >>> _refused(Exception("Unsupported value: 'top_p' does not support 0.9"), {"seed", "top_p"})
    'top_p'
    """
    said = f"{getattr(error, 'param', None) or ''} {error}"
    return next((s for s in sorted(settings) if re.search(rf"\b{s}\b", said)), "")


def _completion(answer: Any, name: str, seconds: float) -> ChatCompletion:
    try:
        choice = answer.choices[0]
        refusal = getattr(choice.message, "refusal", None)
        text = choice.message.content or refusal or ""
    except (AttributeError, IndexError, KeyError, TypeError):
        text = None
    if not isinstance(text, str):
        raise TypeError(f"expected a chat completion, got {answer!r:.200}")
    finish = "refusal" if refusal else str(choice.finish_reason or "stop")
    return ChatCompletion(
        text,
        "refusal" if finish == "content_filter" else finish,
        str(answer.model or name),
        _count(answer.usage, "prompt_tokens"),
        _count(answer.usage, "completion_tokens"),
        seconds,
    )


def _count(usage: Any, name: str) -> int:
    """Tokens as the service counts them; 0 where it does not."""
    value = getattr(usage, name, 0)
    return value if isinstance(value, int) else 0
