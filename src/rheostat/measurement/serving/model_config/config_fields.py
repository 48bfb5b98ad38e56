"""Values of a config.json, by any of the names that families of models give them.

A model with pictures or sound has its decoder inside (``text_config``), where Transformers leaves
out what equals the family's default: those are filled in, and said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NAMES = {
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "hidden": ("hidden_size", "n_embd", "d_model"),
    "heads": ("num_attention_heads", "n_head", "n_heads"),
    "kv_heads": ("num_key_value_heads", "num_kv_heads", "n_head_kv", "kv_n_heads",
                 "multi_query_group_num"),
    "head_dim": ("head_dim", "kv_channels", "attention_head_dim"),
    "feed_forward": ("intermediate_size_mlp", "intermediate_size", "ffn_dim", "ffn_hidden_size",
                     "n_inner"),
    "vocab": ("padded_vocab_size", "vocab_size"),
    "context": ("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length",
                "seq_length"),
    "window": ("sliding_window", "attention_chunk_size", "attention_window_size"),
    "experts": ("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts",
                "num_routed_experts"),
    "active_experts": ("num_experts_per_tok", "num_experts_per_token", "moe_top_k", "moe_topk",
                       "moe_k", "experts_per_token", "top_k_experts"),
    "expert_feed_forward": ("moe_intermediate_size", "moe_ffn_hidden_size", "expert_ffn_dim",
                            "intermediate_size", "ffn_hidden_size"),
    "shared_experts": ("n_shared_experts", "num_shared_experts", "num_shared_expert",
                       "moe_num_shared_experts"),
    "shared_feed_forward": ("shared_expert_intermediate_size", "shared_intermediate_size",
                            "moe_shared_expert_intermediate_size"),
    "state_heads": ("mamba_n_heads", "mamba_num_heads", "n_mamba_heads", "num_heads"),
    "state_head_dim": ("mamba_d_head", "mamba_head_dim", "mamba_headdim", "head_dim"),
    "state": ("mamba_d_state", "ssm_state_size", "state_size"),
    "state_groups": ("mamba_n_groups", "mamba_ngroups", "n_groups"),
    "state_width": ("mamba_d_conv", "conv_kernel", "conv_L_cache", "conv1d_width"),
    "state_expand": ("mamba_expand", "expand"),
}  # fmt: skip
"""What is asked for, and what families call it; the first that is there is taken."""
LARGEST = 10**9
INSIDE = ("thinker_config", "text_config", "llm_config", "language_config")
SHARED = ("quantization_config", "torch_dtype", "dtype", "tie_word_embeddings", "_name_or_path",
          "architectures")  # fmt: skip
"""What may stand outside of the decoder's part."""
PARTS = ("attn_config", "ffn_config")
SEVEN_B: Mapping[str, Any] = {
    "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 32000,
    "tie_word_embeddings": False,
}  # fmt: skip
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "llama": {**SEVEN_B, "intermediate_size": 11008},
    "mistral": {**SEVEN_B, "intermediate_size": 14336, "num_key_value_heads": 8},
    "qwen2": {**SEVEN_B, "intermediate_size": 22016, "vocab_size": 151_936},
    "gemma3_text": {
        "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26, "head_dim": 256,
        "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 262_208,
        "sliding_window_pattern": 6,
    },
}  # fmt: skip
"""Of the configuration classes of Transformers 4, where a nested config leaves them out."""


class ConfigFields:
    """A decoder's fields; what cannot be meant is added to ``problems``, guesses to ``guessed``."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.problems: list[str] = []
        self.guessed: list[str] = []
        self.given, nested = _decoder(given)
        self.model_type = str(self.given.get("model_type") or "")
        lacking = {k: v for k, v in DEFAULTS.get(self.model_type, {}).items()
                   if nested and self.given.get(k) is None}  # fmt: skip
        self.given |= lacking
        if lacking:
            said = ", ".join(f"{k} {v}" for k, v in lacking.items())
            self.guessed.append(f"not said, as Transformers has it for {self.model_type}: {said}")

    def get(self, name: str) -> Any:
        """The field of exactly this name; None where it is not said."""
        return self.given.get(name)

    def number(self, what: str, otherwise: int = 0) -> int:
        """The first of the names of ``what`` that is said, as a count; ``otherwise`` where none."""
        for name in NAMES.get(what, (what,)):
            value = self.given.get(name)
            if value is None or value is False:
                continue
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if not isinstance(value, int) or not 0 <= value <= LARGEST:
                self.problems.append(f"{name}: expected a number from 0 on, got {str(value)[:60]}")
                return otherwise
            return int(value)
        return otherwise

    def needed(self, what: str) -> int:
        """The same above 0; where it is not said that is a problem."""
        before = len(self.problems)
        value = self.number(what)
        if value < 1 and len(self.problems) == before:
            self.problems.append(f"{NAMES.get(what, (what,))[0]} is missing or 0")
        return max(value, 1)

    def numbers(self, name: str) -> list[int] | None:
        """A list of numbers; None where it is not said."""
        value = self.given.get(name)
        if isinstance(value, list) and all(type(v) in (int, bool) for v in value):
            return [int(v) for v in value]
        if value is not None:
            self.problems.append(f"{name}: expected a list of numbers, got {str(value)[:60]}")
        return None


def _decoder(given: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Fields of the decoder, parts of it beside the rest; and whether it stood inside another."""
    fields, nested = dict(given), False
    while part := next((fields[n] for n in INSIDE if isinstance(fields.get(n), dict)), None):
        outer = {k: fields[k] for k in SHARED if k in fields}
        fields, nested = {**outer, **part}, True
    for name in PARTS:
        if isinstance(fields.get(name), dict):
            fields = {**fields.pop(name), **fields}
    return fields, nested
