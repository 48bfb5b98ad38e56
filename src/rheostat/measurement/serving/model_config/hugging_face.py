"""config.json of Hugging Face, which lies beside the weights of every open model: what it says.

It is read from the file that is given; nothing is fetched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment, Note
from rheostat.core.outcome import Array
from rheostat.core.storage.file_kinds import other_kind
from rheostat.core.storage.files import parse_json, read_text
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement.serving.columns import COLUMNS
from rheostat.measurement.serving.model_config.config_fields import INSIDE, ConfigFields
from rheostat.measurement.serving.model_config.config_precision import (
    cached_b,
    state_b,
    weight_precision,
)
from rheostat.measurement.serving.model_config.decoder_size import decoder_size

EXPECTED = "a config.json of a language model (Hugging Face: model_type, hidden_size, ...)"
KNOWN = re.compile(
    r"llama(4(_text)?)?|mistral|mixtral|ministral3?|qwen[23](_moe|_next|(_5)?_vl(_moe)?_text)?"
    r"|gemma[23]?|gemma3_text|gpt_oss|deepseek_v[23]|kimi_(k2|linear)|glm4?"
    r"|glm4_moe|phi3?|phimoe|olmo2?|olmoe|falcon(_h1|_mamba)?|mamba2?|jamba|bamba"
    r"|granite(moe(hybrid)?)?|nemotron(_h)?|cohere2?|starcoder2|stablelm|gpt2|gpt_neox|opt|bloom"
    r"|dbrx|smollm3|exaone4|minimax_m2|seed_oss|internlm2|ernie4_5(_moe)?"
)
"""Families whose layers are as they are read here."""
UNREAD = ("block_configs", "global_head_dim", "num_global_key_value_heads", "use_cla",
          "swa_num_key_value_heads", "cross_attention_layers", "index_head_dim")  # fmt: skip
"""Fields that change the cache of some layers in a way that is not read."""
NO_DECODER = re.compile(r"MaskedLM|Classification|QuestionAnswering|^Bert|^Roberta|^XLMRoberta|^T5")
_S = Moment.SUBMIT
OWN = (
    Column("layers", "", _S, "layers of the decoder"),
    Column("kv_heads", "", _S, "heads whose keys and values are kept, over which GPUs can split"),
    Column("cache_per_token_b", "B", _S, "cache per token, of layers that keep all tokens"),
    Column("window_cache_per_token_b", "B", _S, "cache per token, of layers with a window"),
    Column("window_tokens", "", _S, "tokens that layers with a window keep"),
    Column("state_per_request_b", "B", _S, "state of a request in layers without attention"),
    Column("context_tokens", "", _S, "longest context the model was made for"),
)


@dataclass(frozen=True)
class ModelConfig:
    """What a config.json says of serving the model.

    Parameters
    ----------
    app, architecture
        Name, where it is said, and family.
    params, active_params
        Of the decoder; those that one token passes.
    weight_precision
        As ``bfloat16`` or ``fp8``.
    layers, kv_heads
        Of the decoder; heads of keys and values, 1 where all queries share what is kept.
    cache_per_token_b, window_cache_per_token_b, window_tokens, state_per_request_b
        What a request keeps: of every token, of the last ``window_tokens``, and once.
    context_tokens
        Longest context; NaN where not said.
    notes
        What was guessed.
    """

    app: str
    architecture: str
    params: float
    active_params: float
    weight_precision: str
    layers: int
    kv_heads: int
    cache_per_token_b: float
    window_cache_per_token_b: float
    window_tokens: int
    state_per_request_b: float
    context_tokens: float
    notes: tuple[str, ...] = ()

    def request_b(self, tokens: Array | float) -> Array:
        """Bytes that the cache of a request of so many ``tokens`` takes, once.

        A window bounds its part in an engine that frees what is outside.
        """
        tokens = np.asarray(tokens, dtype=float)
        kept = np.minimum(tokens, self.window_tokens)
        return np.asarray(
            tokens * self.cache_per_token_b
            + kept * self.window_cache_per_token_b
            + self.state_per_request_b
        )


def is_model_config(start: bytes) -> bool:
    """Whether a file that begins so is a config.json of a model."""
    names = (b"hidden_size", b"num_hidden_layers", b"n_layer", b"d_model", *map(str.encode, INSIDE))
    return (
        start.lstrip()[:1] == b"{" and b'"model_type"' in start
        and any(b'"' + n + b'"' in start for n in names)
    )  # fmt: skip


def model_config(path: str | Path) -> ModelConfig:
    """What one config.json says.

    Parameters
    ----------
    path : path
        The file; nothing is fetched.

    Returns
    -------
    ModelConfig
        Its ``notes`` say what was guessed.

    Raises
    ------
    DataError
        It is none, of several models, or its numbers cannot be; all of them at once.
    """
    given = _documents(path)
    if len(given) > 1:
        raise DataError(str(path), [f"expected the config.json of one model, got {len(given)}"])
    return _understood(given[0], path)


def read_model_config(path: str | Path) -> JobTable:
    """Models, one row each: parameters, precision, and what a request keeps in memory.

    Parameters
    ----------
    path : path
        config.json, or several such files after each other (``cat */config.json``).

    Returns
    -------
    JobTable
        Bytes of the cache, parameters and what else was understood; guesses are notes.

    Raises
    ------
    DataError
        The file is none, or its numbers cannot be.
    """
    made = [_understood(given, path) for given in _documents(path)]
    names = [f.name for f in fields(ModelConfig) if f.name != "notes"]
    said: dict[str, list[int]] = {}
    for i, model in enumerate(made):
        for text in model.notes:
            said.setdefault(text, []).append(i)
    notes = [Note(text, tuple(rows[:20]), len(rows)) for text, rows in said.items()]
    frame = pl.DataFrame({n: [getattr(m, n) for m in made] for n in names}, strict=False)
    return table(frame.fill_nan(None), (*COLUMNS, *OWN), notes)


def _documents(path: str | Path) -> list[dict[str, Any]]:
    """The objects in the file, one or several after each other."""
    text, given, at = read_text(path), [], 0
    try:
        while at < len(text.rstrip()):
            at += len(text[at:]) - len(text[at:].lstrip())
            _, end = json.JSONDecoder().raw_decode(text, at)
            given.append(parse_json(text[at:end]))
            at = end
    except (ValueError, RecursionError) as error:
        raise other_kind(path, EXPECTED, error) from error
    if not given or not all(isinstance(g, dict) and _decoding(g) for g in given):
        raise other_kind(path, EXPECTED)
    return given


def _decoding(given: Mapping[str, Any]) -> bool:
    return is_model_config(json.dumps({"model_type": "", **given}).encode())


def _understood(given: Mapping[str, Any], path: str | Path) -> ModelConfig:
    said = ConfigFields(given)
    made = said.get("architectures")
    kind = str(made[0]) if isinstance(made, list) and made else ""
    if given.get("is_encoder_decoder") is True or NO_DECODER.search(kind):
        raise DataError(str(path), [f"expected a decoder, got {kind or 'an encoder and decoder'}"])
    size, precision = decoder_size(said), weight_precision(said)
    if said.problems:
        raise DataError(str(path), sorted(set(said.problems)))
    if not KNOWN.fullmatch(said.model_type):
        family = said.model_type[:60] or "a family that is not said"
        said.guessed.append(f"{family} is not known here: its layers are taken to be as usual")
    if unread := [n for n in UNREAD if said.get(n)]:
        said.guessed.append(f"not read, so that the cache may differ: {', '.join(unread)}")
    value_b = cached_b(said)
    return ModelConfig(
        str(said.get("_name_or_path") or said.model_type), said.model_type, size.params,
        size.active, precision, size.layers, size.kv_heads, value_b * size.per_token,
        value_b * size.per_window_token, size.window_tokens, state_b(said) * size.state_values,
        said.number("context") or float("nan"), tuple(said.guessed),
    )  # fmt: skip
