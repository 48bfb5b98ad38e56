"""Parameters of a decoder and bytes of its cache, layer by layer, from the sizes in its config.

Norms and biases are left out (less than a thousandth).  Active are the parameters that one token
passes, both embeddings included, as makers mostly count them.

Notation
--------
h  hidden size    d  size of a head    q, k  heads of queries, of keys and values    r  ranks of MLA
s  size of a state    e  inner width of a state layer
"""

from __future__ import annotations

from dataclasses import dataclass

from rheostat.measurement.serving.model_config.config_fields import ConfigFields
from rheostat.measurement.serving.model_config.layer_kinds import (
    BOTH,
    FULL,
    STATE,
    WINDOW,
    expert_layers,
    layer_kinds,
)

MOST_LAYERS = 10_000
UNGATED = {"gpt2", "gpt_neo", "gpt_neox", "gptj", "gpt_bigcode", "opt", "bloom", "falcon", "phi",
           "mpt", "starcoder2", "nemotron", "nemotron_h"}  # fmt: skip
"""Families whose feed-forward layers have two matrices; those of all others have three."""


@dataclass(frozen=True)
class DecoderSize:
    """Parameters, and what a request keeps: values per token, in a window, and of a state."""

    layers: int
    kv_heads: int
    params: float
    active: float
    per_token: float
    per_window_token: float
    window_tokens: int
    state_values: float


def decoder_size(fields: ConfigFields) -> DecoderSize:
    """Sizes of a decoder; what is missing or cannot be is added to the problems of ``fields``."""
    layers = fields.needed("layers")
    if layers > MOST_LAYERS:
        fields.problems.append(f"num_hidden_layers: expected at most {MOST_LAYERS}, got {layers}")
        layers = 1
    kinds = layer_kinds(fields, layers)
    attention, kept = _attention(fields) if {FULL, WINDOW, BOTH} & set(kinds) else (0, 0)
    state, state_values = _state(fields) if {STATE, BOTH} & set(kinds) else (0, 0)
    mixers = sum(attention * (k in (FULL, WINDOW, BOTH)) + state * (k in (STATE, BOTH))
                 for k in kinds)  # fmt: skip
    # a layer that shares the cache of another has the matrices all the same, but for k and v
    mixers += attention * min(fields.number("num_kv_shared_layers"), layers)
    dense, experts, active = _feed_forward(fields, kinds)
    embeddings = fields.needed("vocab") * fields.needed("hidden")
    embeddings *= 2 if fields.get("tie_word_embeddings") is False else 1
    windows = kinds.count(WINDOW)
    return DecoderSize(
        layers, _kv_heads(fields), float(mixers + dense + experts + embeddings),
        float(mixers + dense + active + embeddings),
        float(kept * (kinds.count(FULL) + kinds.count(BOTH))), float(kept * windows),
        fields.number("window") if windows else 0,
        float(state_values * (kinds.count(STATE) + kinds.count(BOTH))),
    )  # fmt: skip


def _kv_heads(fields: ConfigFields) -> int:
    """Heads that keep keys and values; 1 where all share them (MLA, one head of keys)."""
    if fields.number("kv_lora_rank"):
        return 1
    if fields.get("multi_query") and not fields.get("new_decoder_architecture"):
        return 1
    return max(fields.number("kv_heads", fields.number("heads")), 1)


def _attention(fields: ConfigFields) -> tuple[int, int]:
    """Parameters of one attention layer, and values that it keeps of a token."""
    h, q = fields.needed("hidden"), fields.needed("heads")
    if r := fields.number("kv_lora_rank"):
        nope, rope = fields.needed("qk_nope_head_dim"), fields.number("qk_rope_head_dim")
        v, of_q = fields.needed("v_head_dim"), fields.number("q_lora_rank")
        queries = h * of_q + of_q * q * (nope + rope) if of_q else h * q * (nope + rope)
        return queries + h * (r + rope) + r * q * (nope + v) + q * v * h, r + rope
    d, k = fields.number("head_dim") or max(h // q, 1), _kv_heads(fields)
    v = fields.number("v_head_dim") or d
    gate = 2 if fields.get("attn_output_gate") or fields.model_type == "qwen3_next" else 1
    return h * q * d * gate + h * k * (d + v) + q * v * h, k * (d + v)


def _state(fields: ConfigFields) -> tuple[int, int]:
    """Parameters of one layer with a state, and values of the state of a request."""
    h, width = fields.needed("hidden"), max(fields.number("state_width", 4), 1)
    if q := fields.number("linear_num_value_heads"):  # gated delta rule
        k = fields.needed("linear_num_key_heads")
        d, v = fields.needed("linear_key_head_dim"), fields.needed("linear_value_head_dim")
        inner = 2 * k * d + q * v
        width = fields.number("linear_conv_kernel_dim", 4)
        return h * (inner + q * v + 2 * q) + q * v * h, q * d * v + inner * (width - 1)
    if isinstance(linear := fields.get("linear_attn_config"), dict):
        part = ConfigFields(linear)
        q, d = part.needed("num_heads"), part.needed("head_dim")
        fields.problems += part.problems
        return 4 * h * q * d, q * d * d + 3 * q * d * (part.number("short_conv_kernel_size", 4) - 1)
    s = fields.number("state")
    if not s:
        fields.guessed.append("the state of layers without attention is not said: none is counted")
        return 4 * h * h, 0
    heads = fields.number("state_heads")
    if heads and (d := fields.number("state_head_dim")):  # Mamba 2
        e, groups = heads * d, max(fields.number("state_groups", 1), 1)
        mixed = e + 2 * groups * s
        return h * (e + mixed + heads) + e * h, e * s + mixed * (width - 1)
    e = max(fields.number("state_expand", 2), 1) * h
    rank = fields.number("mamba_dt_rank") or fields.number("time_step_rank") or -(-h // 16)
    return h * 2 * e + e * (rank + 2 * s) + rank * e + e * s + e * h, e * (s + width - 1)


def _feed_forward(fields: ConfigFields, kinds: list[str]) -> tuple[int, int, int]:
    """Parameters of dense feed-forward layers, of all experts, and of those a token passes."""
    h, layers = fields.needed("hidden"), len(kinds)
    matrices = 2 if fields.model_type in UNGATED else 3
    every = fields.number("experts")
    sparse = expert_layers(fields, layers) if every > 1 else [False] * layers
    pattern = fields.get("hybrid_override_pattern")
    if isinstance(pattern, str) and pattern:  # a letter is all of a layer
        dense = sum(pattern[i % len(pattern)] == "-" for i in range(layers))
    else:
        bare = fields.model_type in ("mamba", "mamba2", "falcon_mamba")
        dense = 0 if bare else sparse.count(False)
    width = fields.number("feed_forward", 0 if not dense else 4 * h)
    dense_params = dense * matrices * h * width
    if not any(sparse):
        return dense_params, 0, 0
    one = matrices * h * fields.needed("expert_feed_forward")
    used = fields.number("active_experts")
    if not used:
        fields.guessed.append("experts per token are not said: all are taken to be active")
        used = every
    shared = fields.number("shared_experts", int(fields.model_type.startswith("llama4"))) * one
    shared = matrices * h * fields.number("shared_feed_forward") or shared
    beside = shared + h * every  # and the router
    return dense_params, sparse.count(True) * (every * one + beside), \
        sparse.count(True) * (min(used, every) * one + beside)  # fmt: skip
