"""A model behind any OpenAI-compatible address: OpenAI, vLLM, Ollama, a site's gateway."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
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
LOCAL = ("127.0.0.1", "localhost", "::1")
HIDDEN = "(key)"


class OpenAIModel:
    """Asks a service; its key comes from the environment and is never written anywhere.

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

    Raises
    ------
    ModelError
        No key in RHEOSTAT_MODEL_KEY or OPENAI_API_KEY for a service that is not on this machine.
    """

    def __init__(
        self, name: str, base_url: str, *, retries: int = 4, timeout_s: float = 600.0
    ) -> None:
        self.name = name
        self.base_url = base_url
        self._key = os.environ.get(KEY) or os.environ.get(OTHER_KEY) or ""
        if not self._key and urlsplit(base_url).hostname not in LOCAL:
            raise ModelError(f"{base_url}: expected a key in the variable {KEY} or {OTHER_KEY}")
        self._retries, self._timeout_s = retries, timeout_s
        self._made: Any = None

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
        began = time.perf_counter()
        try:
            answer = self._client.chat.completions.create(
                model=self.name, messages=plain_messages(messages),
                temperature=sampling.temperature, top_p=sampling.top_p,
                max_tokens=sampling.max_tokens, seed=sampling.seed + index,
            )  # fmt: skip
            return _completion(answer, self.name, time.perf_counter() - began)
        except (library.OpenAIError, ValueError) as error:
            raise ModelError(f"{self.name} at {self.base_url}: {self._safe(error)}") from None

    def _safe(self, error: Exception) -> str:
        """What went wrong, without the key that some services repeat."""
        said = f"{type(error).__name__}: {error}"[:500]
        return said.replace(self._key, HIDDEN) if self._key else said

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r}, {self.base_url!r})"


def _completion(answer: Any, name: str, seconds: float) -> ChatCompletion:
    if isinstance(answer, str) or not getattr(answer, "choices", None):
        raise ValueError(f"expected a chat completion, got {answer!r:.200}")
    choice = answer.choices[0]
    refusal = getattr(choice.message, "refusal", None)
    finish = "refusal" if refusal else str(choice.finish_reason or "stop")
    usage = answer.usage
    return ChatCompletion(
        choice.message.content or refusal or "",
        "refusal" if finish == "content_filter" else finish,
        str(answer.model or name),
        getattr(usage, "prompt_tokens", 0) or 0,
        getattr(usage, "completion_tokens", 0) or 0,
        seconds,
    )
