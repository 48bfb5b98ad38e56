"""Iteration times through a frozen language model by reprogramming (Time-LLM, ICLR 2024).

Patches of the series attend to prototypes of words and so become inputs of the model; before them
it reads a line about the series.  The model comes from a local path; in its place, to see what its
weights add, the same with random weights or a small transformer.
"""

from __future__ import annotations

import copy
import inspect
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from rheostat._optional import require
from rheostat.core.outcome import Array
from rheostat.prediction.iteration_time.smart_config import LANGUAGE, SmartConfig

WORDS = 2000
"""Of the vocabulary, evenly drawn, from which prototypes are made."""
LAGS, MOST_LAYERS = 5, 1000


def language_part(config: SmartConfig) -> Any:
    """A module from series (batch, look_back) to (batch, hidden) by patches; None without one."""
    if config.language == "none":
        return None
    torch = require("torch", extra="network")
    nn = torch.nn
    d, patches = config.hidden, config.look_back - config.patch + 1
    body, vocabulary, width = _body(config)

    class Reprogrammed(nn.Module):  # type: ignore[misc, name-defined]
        """Patches attend to prototypes, linear maps of the words' embeddings."""

        def __init__(self) -> None:
            super().__init__()
            self.body = body  # a module of ours is trained with the rest, unless it is frozen
            self.embed = nn.Linear(config.patch, width)
            self.prototypes = nn.Linear(len(vocabulary), config.prototypes, bias=False)
            self.attend = nn.MultiheadAttention(width, 1, batch_first=True)
            self.out = nn.Linear(patches * width, d)

        def forward(self, series: Any) -> Any:
            middle, scale = series.mean(1, keepdim=True), series.std(1, keepdim=True) + 1e-3
            series = (series - middle) / scale
            embedded = self.embed(series.unfold(1, config.patch, 1))
            words = self.prototypes(vocabulary.T).T[None].expand(len(series), -1, -1)
            asked = self.attend(embedded, words, words)[0]
            if not isinstance(body, LocalModel):
                return self.out(self.body(asked).flatten(1))
            said = [describe(s, config.workload) for s in series.numpy()] if config.prompt else []
            return self.out(body(asked, said).flatten(1))

    return Reprogrammed()


def describe(series: Array, workload: str) -> str:
    """The line that a language model reads before the patches of a series.

    >>> describe(np.array([0.0, 1.0, 0.0, 1.0, 0.0, 2.0]), "milc")
    'milc: forecast the next iteration time from the last 6. Minimum 0.00, maximum 2.00, median
    0.50, trend up, strongest lags 2, 4, 5, 3, 1.'
    """
    away = series - series.mean()
    alike = np.correlate(away, away, "full")[len(series) :]
    lags = ", ".join(str(k + 1) for k in np.argsort(-alike, kind="stable")[:LAGS])
    trend = "up" if np.diff(series).sum() > 0 else "down"
    return (
        f"{workload}: forecast the next iteration time from the last {len(series)}. Minimum "
        f"{series.min():.2f}, maximum {series.max():.2f}, median {np.median(series):.2f}, "
        f"trend {trend}, strongest lags {lags}."
    )


def _body(config: SmartConfig) -> tuple[Any, Any, int]:
    """(what patches go through, word embeddings, width)."""
    torch = require("torch", extra="network")
    if config.language not in LANGUAGE:
        model = LocalModel(config.language, config.language_layers, config.random_weights)
        return model, model.words, model.words.shape[1]
    layer = torch.nn.TransformerEncoderLayer(config.hidden, config.heads, 2 * config.hidden,
                                             dropout=0.0, batch_first=True)  # fmt: skip
    encoder = torch.nn.TransformerEncoder(layer, config.layers, enable_nested_tensor=False)
    if config.language == "random":
        encoder.requires_grad_(False)
    return encoder, torch.randn(4 * config.prototypes, config.hidden), config.hidden


@lru_cache(maxsize=1)
def _loaded(path: str) -> tuple[Any, Any]:
    """(model, tokeniser) of a local path; nothing is fetched."""
    transformers = require("transformers", extra="lm")
    where, given = Path(path), {}
    if where.is_file():
        where, given = where.parent, {"gguf_file": where.name}
    model = transformers.AutoModel.from_pretrained(where, local_files_only=True, dtype="float32",
                                                   **given)  # fmt: skip
    words = transformers.AutoTokenizer.from_pretrained(where, local_files_only=True, **given)
    return model, words


class LocalModel:
    """A frozen causal language model; what it makes of a line is worked out once per line.

    Parameters
    ----------
    path
        Folder, or GGUF file.
    layers
        The first so many of its layers are used; 0: all.
    random_weights
        Draw the weights anew.
    """

    def __init__(self, path: str, layers: int = 0, random_weights: bool = False) -> None:
        transformers = require("transformers", extra="lm")
        model, self.tokeniser = _loaded(path)
        config = copy.deepcopy(model.config)
        config.num_hidden_layers = min(layers or MOST_LAYERS, config.num_hidden_layers)
        self.model = transformers.AutoModel.from_config(config)
        if not random_weights:
            self.model.load_state_dict(model.state_dict(), strict=False)
        self.model.requires_grad_(False).eval()
        takes = inspect.signature(self.model.forward).parameters
        self.cache = "cache" if "cache" in takes else "past_key_values"  # of older ones
        words = self.model.get_input_embeddings().weight.detach()
        self.words = words[:: max(1, len(words) // WORDS)].clone()
        self.read: dict[str, Any] = {}

    def __call__(self, asked: Any, lines: list[str]) -> Any:
        """(batch, patches, width) to the same, each behind its line; none without lines."""
        if not lines:
            return self.model(inputs_embeds=asked, use_cache=False).last_hidden_state
        torch = require("torch", extra="network")
        read = [self._prefix(line) for line in lines]
        length = torch.tensor([p.shape[-2] for p in read])
        longest, steps = int(length.max()), asked.shape[1]
        pad = torch.nn.functional.pad
        behind = torch.stack([pad(p, (0, 0, longest - p.shape[-2], 0)) for p in read])
        cache = require("transformers", extra="lm").DynamicCache()
        for layer in range(behind.shape[1]):
            cache.update(behind[:, layer, 0], behind[:, layer, 1], layer)
        seen = torch.arange(longest) >= (longest - length)[:, None]
        return self.model(
            inputs_embeds=asked, use_cache=True, **{self.cache: cache},
            attention_mask=torch.cat([seen, seen.new_ones(len(read), steps)], dim=1).long(),
            position_ids=length[:, None] + torch.arange(steps),
        ).last_hidden_state  # fmt: skip

    def _prefix(self, line: str) -> Any:
        """Keys and values of a line, (layers, 2, heads, tokens, width of a head)."""
        if line not in self.read:
            torch = require("torch", extra="network")
            tokens = torch.tensor([self.tokeniser(line)["input_ids"]])
            with torch.no_grad():
                cache = getattr(self.model(input_ids=tokens, use_cache=True), self.cache)
            self.read[line] = torch.stack([
                torch.stack([kept.keys[0], kept.values[0]]) for kept in cache.layers])  # fmt: skip
        return self.read[line]
