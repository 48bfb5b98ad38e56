"""The line that starts an engine as a plan chose it: vLLM's or SGLang's own options.

Notation
--------
G  GPUs = D copies x T tensor parallel x N stages      B  batch cap of all copies together

vLLM's ``--max-num-seqs`` is of each copy.  So is SGLang's ``--max-running-requests`` where copies
are servers of their own; where copies of the attention share experts they are one server, whose
tensor parallel size is that of all, and the cap is of all.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping
from typing import Any

from rheostat.errors import DataError

ENGINES = ("vllm", "sglang")
DTYPES = {"bf16": "bfloat16", "bfloat16": "bfloat16", "fp16": "float16", "float16": "float16",
          "float32": "float32"}  # fmt: skip


ENGINE_COLUMN = re.compile(r"(serving_?|inference_?)?(engine|backend|framework)(_?name)?", re.I)
"""A column that names the engine of each run."""
OPTION_COLUMN = re.compile(
    r"(engine_?)?version|.*(specul|spec_?dec|draft|eagle|medusa|attention|attn|kv_?(cache)?_?d?type"
    r"|cuda_?graph|compil|chunk|prefix_?cach|scheduling|quant).*", re.I,
)  # fmt: skip
"""A column that names an option of the engine: what it is turned to in each run."""


def engine_line(model: str, setting: Mapping[str, Any], engine: str = "vllm") -> str:
    """The command that serves ``model`` in this setting.

    Parameters
    ----------
    model
        Name or folder of the weights.
    setting
        ``gpus`` and ``batch_cap`` (of all copies); where they are there ``tp``, ``pp``, ``dp``,
        ``ep``, ``power_cap_w`` and ``weight_precision``: fp8 is made by both engines of other
        weights, narrower ones are a checkpoint of their own and a cap is set beside the engine,
        which comments say.
    engine
        One of `ENGINES`; an engine that the setting names counts instead.

    Raises
    ------
    DataError
        The engine is not known.

    Examples
    --------
    >>> engine_line("Qwen/Qwen3-32B", {"gpus": 4, "tp": 2, "dp": 2, "batch_cap": 512})
    'vllm serve Qwen/Qwen3-32B --tensor-parallel-size 2 --data-parallel-size 2 --max-num-seqs 256'
    >>> engine_line("m", {"gpus": 2, "batch_cap": 64}, "sglang")
    'python -m sglang.launch_server --model-path m --tp-size 2 --max-running-requests 64'
    >>> engine_line("m", {"gpus": 1, "batch_cap": 8, "engine": "TRT-LLM"})
    '# TRT-LLM with tensor parallel size 1 and a batch of 8: no line is known that starts it'
    >>> engine_line("m", {"gpus": 1, "batch_cap": 8, "weight_precision": "fp8"})
    'vllm serve m --max-num-seqs 8 --quantization fp8'
    >>> engine_line("m", {"gpus": 1, "batch_cap": 8, "power_cap_w": 300.0, "gpu_model": "H100"})
    'vllm serve m --max-num-seqs 8  # each GPU capped before: nvidia-smi --power-limit 300'
    """
    if engine not in ENGINES:
        raise DataError("--engine", [f"expected {' or '.join(ENGINES)}, got {engine!r}"])
    gpus, pp, dp, ep = (int(setting.get(k) or 1) for k in ("gpus", "pp", "dp", "ep"))
    tp = int(setting.get("tp") or max(1, gpus // (pp * dp)))
    cap = int(setting["batch_cap"])
    weights = _weights(setting.get("weight_precision")) + _power(setting)
    if named := next((str(v) for k, v in setting.items() if ENGINE_COLUMN.fullmatch(k)), ""):
        engine = next((e for e in ENGINES if e in named.lower()), named)
    if engine not in ENGINES:
        said = f"# {engine} with tensor parallel size {tp} and a batch of {cap}"
        return f"{said}: no line is known that starts it"
    if engine == "vllm":
        start = f"vllm serve {shlex.quote(model)}"
        sizes = {"--tensor-parallel-size": tp, "--pipeline-parallel-size": pp,
                 "--data-parallel-size": dp}  # fmt: skip
        last = (" --enable-expert-parallel" if ep > 1 else "") + _cap("--max-num-seqs", cap, dp)
        return start + _above_one(sizes) + last + weights
    start = f"python -m sglang.launch_server --model-path {shlex.quote(model)}"
    if ep > 1 and dp > 1:
        sizes = {"--tp-size": tp * dp, "--pp-size": pp, "--attn-dp-size": dp, "--ep-size": ep}
        return start + _above_one(sizes) + _cap("--max-running-requests", cap, 1) + weights
    sizes = {"--tp-size": tp, "--pp-size": pp, "--dp-size": dp, "--ep-size": ep}
    return start + _above_one(sizes) + _cap("--max-running-requests", cap, dp) + weights


def _above_one(sizes: Mapping[str, int]) -> str:
    """Options whose value is not the engine's own."""
    return "".join(f" {option} {size}" for option, size in sizes.items() if size > 1)


def _cap(option: str, cap: int, copies: int) -> str:
    """Requests that each copy runs at once."""
    return f" {option} {math.ceil(cap / copies)}"


def _power(setting: Mapping[str, Any]) -> str:
    """What says that the GPUs are capped, which no engine does itself."""
    watts = float(setting.get("power_cap_w") or 0)
    if not watts > 0:
        return ""
    amd = re.search(r"\bMI\d{3}|AMD|Instinct", str(setting.get("gpu_model", "")))
    command = "amd-smi set --power-cap" if amd else "nvidia-smi --power-limit"
    return f"  # each GPU capped before: {command} {watts:.0f}"


def _weights(precision: str | None) -> str:
    """What says the precision of the weights; nothing where it is not chosen."""
    said = (precision or "").lower()
    if said in DTYPES:
        return f" --dtype {DTYPES[said]}"
    if said == "fp8":
        return " --quantization fp8"
    return f"  # MODEL has to be a checkpoint in {said}" if said else ""
