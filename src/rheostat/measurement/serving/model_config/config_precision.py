"""Bytes of weights and of cached values, as a config.json says them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rheostat.measurement.serving.model_config.config_fields import ConfigFields

BY_METHOD = {"fp8": "fp8", "fbgemm_fp8": "fp8", "mxfp4": "mxfp4", "nvfp4": "nvfp4", "fp4": "fp4"}
BY_BITS = {4: "int4", 8: "int8"}
BITS_OF = {"awq": 4, "gptq": 4}


def weight_precision(fields: ConfigFields) -> str:
    """Format of the weights, as `configurations` names it; 16 bits where nothing is said.

    Examples
    --------
    >>> weight_precision(ConfigFields({"torch_dtype": "bfloat16"}))
    'bfloat16'
    >>> weight_precision(ConfigFields({"quantization_config": {"quant_method": "awq", "bits": 4}}))
    'int4'
    """
    given = fields.get("quantization_config")
    if isinstance(given, Mapping):
        if (precision := _quantized(given)) is not None:
            return precision
        said = f"{given.get('quant_method')} {given.get('quant_algo') or ''}".strip()
        fields.guessed.append(f"quantization {said[:60]} is not known here: 16-bit weights")
        return "bfloat16"
    dtype = str(fields.get("dtype") or fields.get("torch_dtype") or "").removeprefix("torch.")
    if dtype == "float32":
        fields.guessed.append("weights are stored as float32: servers load them as 16 bits")
    elif dtype not in ("bfloat16", "float16"):
        fields.guessed.append(f"precision {dtype[:40] or 'not said'}: taken as 16 bits")
    return dtype if dtype in ("bfloat16", "float16") else "bfloat16"


def _quantized(given: Mapping[str, Any]) -> str | None:
    """The format that a quantization states; None for one that is not known."""
    words = " ".join(
        str(given.get(k, "")).lower() for k in ("quant_method", "quant_algo", "format")
    )
    if given.get("load_in_8bit") is True:
        return "int8"
    if given.get("load_in_4bit") is True:
        return "int4"
    groups = given.get("config_groups")
    weights = next((g.get("weights") for g in groups.values() if isinstance(g, Mapping)), None) \
        if isinstance(groups, Mapping) else None  # fmt: skip
    named = next((BY_METHOD[n] for n in ("mxfp4", "nvfp4", "fp8", "fp4") if n in words), None)
    if named is not None:
        return named
    if isinstance(weights, Mapping):
        bits, real = weights.get("num_bits"), weights.get("type") == "float"
        return {8: "fp8", 4: "fp4"}.get(bits) if real else BY_BITS.get(bits)  # type: ignore[arg-type]
    bits = given.get("bits", BITS_OF.get(str(given.get("quant_method")).lower()))
    return BY_BITS.get(bits) if isinstance(bits, int) else None


def cached_b(fields: ConfigFields) -> float:
    """Bytes of one cached value: 1 where the config says that the cache is of 8 bits, else 2."""
    given = fields.get("quantization_config")
    if not isinstance(given, Mapping):
        return 2.0
    scheme, named = given.get("kv_cache_scheme"), str(given.get("kv_cache_quant_algo", ""))
    bits = scheme.get("num_bits") if isinstance(scheme, Mapping) else None
    if isinstance(bits, int) and not isinstance(bits, bool) and 0 < bits <= 16:
        return bits / 8
    return 1.0 if named.upper() == "FP8" else 2.0


def state_b(fields: ConfigFields) -> float:
    """Bytes of one value of a recurrent state: 4 where the config asks for it, else 2."""
    names = ("mamba_ssm_dtype", "mamba_ssm_cache_dtype")
    return 4.0 if any(fields.get(n) == "float32" for n in names) else 2.0
