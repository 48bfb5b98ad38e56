"""A model file (GGUF) run in this process by llama.cpp, without a network."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rheostat._optional import require
from rheostat.core.storage.file_kinds import describe_file
from rheostat.core.storage.files import file_digest, ordinary_file
from rheostat.errors import DataError
from rheostat.prediction.language_model.conversation import (
    ChatCompletion,
    Message,
    ModelError,
    Sampling,
    plain_messages,
)

MAGIC = b"GGUF"


class GgufModel:
    """Weights on this machine; its name holds a hash of the file, so that transcripts tell them.

    Parameters
    ----------
    path : str or Path
        A GGUF file.
    context_tokens : int
        Longest question and answer together.
    threads : int
        That generate; one is the fastest where other work runs beside it.

    Raises
    ------
    DataError
        The file is no GGUF.
    """

    def __init__(self, path: str | Path, *, context_tokens: int = 8192, threads: int = 1) -> None:
        self.path = ordinary_file(path)
        with open(self.path, "rb") as file:
            if file.read(4) != MAGIC:
                what = describe_file(self.path)
                raise DataError(
                    str(path), [f"expected a GGUF file, which begins with GGUF, got {what}"]
                )
        self.name = f"{self.path.stem}@{file_digest(self.path)[:12]}"
        self.context_tokens, self.threads = context_tokens, threads
        self._made: Any = None

    @property
    def _server(self) -> Any:
        if self._made is None:
            library = require("xllamacpp", extra="gguf")
            params = library.CommonParams()
            params.model.path = str(self.path)
            params.n_ctx, params.n_parallel, params.n_gpu_layers = self.context_tokens, 1, 0
            params.cpuparams.n_threads = params.cpuparams_batch.n_threads = self.threads
            params.warmup, params.verbosity = False, -1
            try:
                self._made = library.Server(params)
            except RuntimeError as error:
                raise ModelError(f"{self.path}: {error}") from error
        return self._made

    def complete(
        self, messages: Sequence[Message], sampling: Sampling, index: int = 0
    ) -> ChatCompletion:
        """One answer; see `LanguageModel`."""
        began = time.perf_counter()
        answer = self._server.handle_chat_completions({
            "messages": plain_messages(messages), "temperature": sampling.temperature,
            "top_p": sampling.top_p, "max_tokens": sampling.max_tokens,
            "seed": sampling.seed + index, "cache_prompt": False,
        })  # fmt: skip
        return _completion(answer, self.name, time.perf_counter() - began)


def _completion(answer: Mapping[str, Any], name: str, seconds: float) -> ChatCompletion:
    choices = answer.get("choices") or []
    if not choices:
        said = answer.get("error") or answer
        raise ModelError(f"{name}: {said.get('message') or answer!r:.300}")
    usage = answer.get("usage") or {}
    return ChatCompletion(
        choices[0]["message"].get("content") or "",
        str(choices[0].get("finish_reason") or "stop"),
        name,
        int(usage.get("prompt_tokens", 0)),
        int(usage.get("completion_tokens", 0)),
        seconds,
    )
