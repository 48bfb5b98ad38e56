"""A step on a device, from the device's data sheet: seconds, bytes, and how sure of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from rheostat.core.graph import Graph
from rheostat.core.outcome import Outcome
from rheostat.errors import DataError
from rheostat.prediction.accelerators import Accelerator, accelerator, sheet_name
from rheostat.prediction.step_cost.device_law import DeviceLaw, Work
from rheostat.prediction.step_cost.several_devices import ring_all_reduce_s
from rheostat.prediction.step_cost.step_memory import StepMemory, step_memory

NORMAL_90 = float(norm.ppf(0.95))
DRAWS = 201
"""Of which one is the median and one each end of 90 %."""
UNSEEN_SPREAD = 0.3
"""Log spread of a step that is none of the tables': its code, framework and host are its own.  With
it transformers of one table and networks of the other, each predicted from the other table alone,
lie in 90 % intervals as often as that (84 and 100 %: python benchmarks/dnn_device_law.py --tasks
other-source)."""
UNKNOWN_SPREAD = 0.5
"""Log spread for each share of the operations whose arithmetic is not known, or never timed."""
EXCHANGE_SPREAD = 0.5
"""Log spread of what several devices exchange: their way to one another is not on a sheet."""
MEMORY_LOW, MEMORY_HIGH, MEMORY_MORE_B = 0.9, 1.2, 0.5e9
"""Of the bytes that live at once: fragments, scratch, frameworks; set, not measured."""
TF32 = {"torch": ("convolution",), "torch with TF32": ("convolution", "matmul"),
        "jax": ("convolution", "matmul"),
        "onnx": ("convolution", "matmul"), "graph": ("convolution", "matmul")}  # fmt: skip
"""What each framework rounds to TF32 unless it is told not to, on devices that can."""
SHEET, TABLES = "from the data sheet", "this GPU was measured in public tables, this step was not"


@dataclass(frozen=True)
class StepForecast:
    """One step on one device.

    Parameters
    ----------
    device : str
        As it was named.
    sheet : Accelerator
        What it is.
    outcome : Outcome
        Draws of ``runtime_s`` and ``memory_peak_b``, one row.
    parts_s : dict
        Seconds of products, convolutions, traffic and starts.
    memory : StepMemory
        By part.
    grade : str
        What the forecast rests on.
    """

    device: str
    sheet: Accelerator
    outcome: Outcome
    parts_s: dict[str, float]
    memory: StepMemory
    grade: str

    @property
    def runtime_s(self) -> tuple[float, float, float]:
        """Median, low and high end of 90 %."""
        return _span(self.outcome, "runtime_s")

    @property
    def memory_b(self) -> tuple[float, float, float]:
        """Median, low and high end of 90 %."""
        return _span(self.outcome, "memory_peak_b")

    @property
    def fits(self) -> str:
        """yes, no, or how likely."""
        middle, low, high = self.memory_b
        if high <= self.sheet.memory_b:
            return "yes"
        if low > self.sheet.memory_b:
            return "no"
        return "likely" if middle <= self.sheet.memory_b else "unlikely"


def forecast_step(
    graph: Graph, device: str, optimizer: str = "", *, framework: str = "torch", bits: int = 32,
    law: DeviceLaw | None = None, gpus: int = 1,
) -> StepForecast:  # fmt: skip
    """Time and memory of one step on a device that nobody ran it on.

    Parameters
    ----------
    graph : Graph
        Of the step.
    device : str
        A name that `rheostat.prediction.accelerators.accelerator` knows.
    optimizer : str
        What keeps numbers beside the parameters, if the graph does not hold them.
    framework : str
        torch, torch with TF32, jax, onnx or graph: what it rounds to TF32.
    bits : int
        16 for mixed precision.
    law : DeviceLaw, optional
        The shipped one by default.
    gpus : int
        Devices of one machine that each do this step and sum their gradients over its links.

    Examples
    --------
    >>> from rheostat.prediction.architectures import training_step
    >>> made = forecast_step(training_step("resnet50", 224, 32), "T4", "sgd")
    >>> made.fits, made.grade == TABLES, made.runtime_s[1] < made.runtime_s[0]
    ('yes', True, True)
    """
    law = law or DeviceLaw.shipped()
    sheet = accelerator(device).part()
    name = sheet_name(device)
    work = Work.of(graph, tf32=TF32[framework], bits=bits)
    mean, spread = law.predict(work, sheet, name)
    spread = float(np.linalg.norm([spread, UNSEEN_SPREAD, UNKNOWN_SPREAD * unknown_share(graph)]))
    memory = step_memory(graph, optimizer, bits)
    parts = law.parts(work, sheet, name)
    if gpus > 1:
        if not memory.parameters_b:
            problem = "expected a module of PyTorch, as what is trained is not told from data here"
            raise DataError(graph.name, [problem, "ask about one GPU"])
        exchange = ring_all_reduce_s(memory.parameters_b, gpus, sheet)
        share = exchange / (np.exp(mean) + exchange)
        spread = float(np.hypot((1.0 - share) * spread, share * EXCHANGE_SPREAD))
        mean, parts["exchange"] = float(np.log(np.exp(mean) + exchange)), exchange
    return StepForecast(device, sheet, _drawn(float(mean), spread, memory.peak_b), parts, memory,
                        TABLES if name in law.devices else SHEET)  # fmt: skip


def _drawn(log_s: float, spread: float, peak_b: float) -> Outcome:
    """Draws of a step, at the same levels for every step: what is not known is common to them.

    Seconds are log-normal; bytes lie between two bounds, normal to either side.
    """
    level = np.random.default_rng(0).permutation(DRAWS) / (DRAWS - 1)
    z = norm.ppf(np.clip(level, 0.25 / DRAWS, 1.0 - 0.25 / DRAWS))
    least, most = MEMORY_LOW * peak_b, MEMORY_HIGH * peak_b + MEMORY_MORE_B
    wide = np.where(z < 0, peak_b - least, most - peak_b) / NORMAL_90
    memory_b = np.maximum(peak_b + wide * z, 1.0)
    return Outcome({"runtime_s": np.exp(log_s + spread * z)[:, None],
                    "memory_peak_b": memory_b[:, None]})  # fmt: skip


def _span(outcome: Outcome, name: str) -> tuple[float, float, float]:
    low, high = outcome.interval(name)
    return float(outcome.quantile(name, 0.5)[0]), float(low[0]), float(high[0])


def unknown_share(graph: Graph) -> float:
    """Share of a step's traffic in operations whose arithmetic no rule knows, or no table timed."""
    moved = np.nan_to_num(graph.numpy("bytes") * graph.numpy("times"))
    bad = np.isnan(graph.numpy("flops")) | recurrent(graph)
    return float(moved[bad].sum() / max(moved.sum(), 1.0))


def recurrent(graph: Graph) -> NDArray[np.bool_]:
    """Which operations are of recurrent layers, that no table of ours has timed on a GPU."""
    return np.char.startswith(graph.nodes["opcode"].to_numpy().astype(np.str_), "recurrent")


def unknown_operations(graph: Graph) -> Sequence[str]:
    """Their names."""
    bad = np.isnan(graph.numpy("flops"))
    return sorted(set(np.array(graph.nodes["opcode"].to_list())[bad].tolist()))
