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
import shlex
from collections.abc import Mapping
from typing import Any

from rheostat.errors import DataError

ENGINES = ("vllm", "sglang")


def engine_line(model: str, setting: Mapping[str, Any], engine: str = "vllm") -> str:
    """The command that serves ``model`` in this setting.

    Parameters
    ----------
    model
        Name or folder of the weights.
    setting
        ``gpus`` and ``batch_cap`` (of all copies); where they are there ``tp``, ``pp``, ``dp`` and
        ``ep``.
    engine
        One of `ENGINES`.

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
    """
    if engine not in ENGINES:
        raise DataError("--engine", [f"expected {' or '.join(ENGINES)}, got {engine!r}"])
    gpus, pp, dp, ep = (int(setting.get(k) or 1) for k in ("gpus", "pp", "dp", "ep"))
    tp = int(setting.get("tp") or max(1, gpus // (pp * dp)))
    cap = int(setting["batch_cap"])
    if engine == "vllm":
        start = f"vllm serve {shlex.quote(model)}"
        sizes = {"--tensor-parallel-size": tp, "--pipeline-parallel-size": pp,
                 "--data-parallel-size": dp}  # fmt: skip
        last = (" --enable-expert-parallel" if ep > 1 else "") + _cap("--max-num-seqs", cap, dp)
        return start + _above_one(sizes) + last
    start = f"python -m sglang.launch_server --model-path {shlex.quote(model)}"
    if ep > 1 and dp > 1:
        sizes = {"--tp-size": tp * dp, "--pp-size": pp, "--attn-dp-size": dp, "--ep-size": ep}
        return start + _above_one(sizes) + _cap("--max-running-requests", cap, 1)
    sizes = {"--tp-size": tp, "--pp-size": pp, "--dp-size": dp, "--ep-size": ep}
    return start + _above_one(sizes) + _cap("--max-running-requests", cap, dp)


def _above_one(sizes: Mapping[str, int]) -> str:
    """Options whose value is not the engine's own."""
    return "".join(f" {option} {size}" for option, size in sizes.items() if size > 1)


def _cap(option: str, cap: int, copies: int) -> str:
    """Requests that each copy runs at once."""
    return f" {option} {math.ceil(cap / copies)}"
