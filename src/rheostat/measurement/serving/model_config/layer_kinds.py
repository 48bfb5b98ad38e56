"""What each layer of a decoder keeps of a request: all its tokens, a window, a state, or nothing.

Families say it as a list of names, a pattern of letters, a period, or a list of layers.
"""

from __future__ import annotations

from collections.abc import Sequence

from rheostat.measurement.serving.model_config.config_fields import ConfigFields

FULL, WINDOW, STATE, BOTH, NONE = "full", "window", "state", "full and state", "none"
LISTS = ("layer_types", "layers_block_type", "block_types", "_block_types", "hybrid_layer_types")
WORDS = {
    "full_attention": FULL, "attention": FULL, "full": FULL, "global_attention": FULL,
    "sliding_attention": WINDOW, "chunked_attention": WINDOW, "local_attention": WINDOW,
    "sliding_window": WINDOW, "linear_attention": STATE, "mamba": STATE, "mamba2": STATE,
    "conv": STATE, "recurrent": STATE, "hybrid": BOTH, "mlp": NONE, "moe": NONE, "dense": NONE,
}  # fmt: skip
LETTERS = {"M": STATE, "*": FULL, "-": NONE, "E": NONE, "L": WINDOW, "G": FULL}
NO_ATTENTION = ("mamba", "mamba2", "falcon_mamba")
ALTERNATING = {"gemma2": 2, "gpt_oss": 2, "cohere2": 4}
"""Every so many layers look at all tokens, where the config does not say it."""


def layer_kinds(fields: ConfigFields, layers: int) -> list[str]:
    """Kind of each of the decoder's ``layers``; what is not understood is added to the problems.

    Examples
    --------
    >>> layer_kinds(ConfigFields({"sliding_window": 512, "sliding_window_pattern": 3}), 4)
    ['window', 'window', 'full', 'window']
    """
    made = _stated(fields, layers) or _periodic(fields, layers) or _windows(fields, layers)
    sharing = fields.number("num_kv_shared_layers")  # the last layers read the cache of others
    return made if not sharing else made[: max(layers - sharing, 0)] + [NONE] * sharing


def _stated(fields: ConfigFields, layers: int) -> list[str] | None:
    """Each layer by its name or letter; a shorter list repeats."""
    pattern = fields.get("hybrid_override_pattern")
    named = next((fields.get(n) for n in LISTS if fields.get(n)), None)
    if isinstance(pattern, str):
        return _repeated(pattern, LETTERS, layers, fields)
    if isinstance(named, list):
        made = _repeated([str(n) for n in named], WORDS, layers, fields)
        local = fields.get("attention_window_size")  # its attention has no other
        return [WINDOW if local and k == FULL else k for k in made]
    return None


def _repeated(
    said: Sequence[str], known: dict[str, str], layers: int, fields: ConfigFields
) -> list[str]:
    unknown = sorted({s for s in said if s not in known})
    if unknown or not said:
        fields.problems.append(f"layers of an unknown kind: {', '.join(unknown)[:100] or 'none'}")
        return [FULL] * layers
    return [known[said[i % len(said)]] for i in range(layers)]


def _periodic(fields: ConfigFields, layers: int) -> list[str] | None:
    """Layers with a state, between which some have attention."""
    every = range(layers)
    if fields.model_type in NO_ATTENTION:
        return [STATE] * layers
    if fields.model_type == "falcon_h1":
        return [BOTH] * layers
    if fields.get("attn_type_list") is not None:
        full = [i for i, kind in enumerate(fields.numbers("attn_type_list") or ()) if kind]
    elif fields.get("attn_layer_indices") is not None:
        full = fields.numbers("attn_layer_indices") or []
    elif period := fields.number("attn_layer_period"):
        full = [i for i in every if i % period == fields.number("attn_layer_offset")]
    elif period := fields.number("full_attention_interval"):
        full = [i for i in every if (i + 1) % period == 0]
    elif isinstance(linear := fields.get("linear_attn_config"), dict):
        full = [i - 1 for i in ConfigFields(linear).numbers("full_attn_layers") or ()]
    else:
        return None
    return [FULL if i in set(full) else STATE for i in every]


def _windows(fields: ConfigFields, layers: int) -> list[str]:
    """Layers with attention, all or some of which see the last tokens only."""
    every = range(layers)
    if not fields.number("window") or fields.get("use_sliding_window") is False:
        return [FULL] * layers
    pattern = fields.get("sliding_window_pattern") or fields.get("_sliding_window_pattern")
    if isinstance(pattern, str):
        return _repeated(pattern, LETTERS, layers, fields)
    if fields.get("attention_chunk_size"):
        rope = fields.numbers("no_rope_layers") or [(i + 1) % 4 for i in every]
        return [WINDOW if rope[i % len(rope)] else FULL for i in every]
    if fields.get("use_sliding_window") is True and fields.get("max_window_layers") is not None:
        return [WINDOW if i >= fields.number("max_window_layers") else FULL for i in every]
    period = pattern if isinstance(pattern, int) else ALTERNATING.get(fields.model_type, 0)
    return [FULL if period and (i + 1) % period == 0 else WINDOW for i in every]


def expert_layers(fields: ConfigFields, layers: int) -> list[bool]:
    """Which layers have experts, of a decoder that has some."""
    every = range(layers)
    pattern = fields.get("hybrid_override_pattern")
    if isinstance(pattern, str) and pattern:
        return [pattern[i % len(pattern)] == "E" for i in every]
    if period := fields.number("expert_layer_period"):
        return [i % period == fields.number("expert_layer_offset") for i in every]
    if step := fields.number("interleave_moe_layer_step") or fields.number("decoder_sparse_step"):
        dense = set(fields.numbers("mlp_only_layers") or ())
        return [(i + 1) % step == 0 and i not in dense for i in every]
    first = fields.number("first_k_dense_replace") or fields.number("moe_layer_start_index")
    return [i >= first for i in every]
