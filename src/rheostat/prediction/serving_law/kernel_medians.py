"""Prior medians of the law's parameters, row by row, from what kernels reach on a GPU type.

What kernels reach depends on the width of the weights, on whether experts hold them and on the
number of GPUs that join.  The numbers of a type therefore go by the parameter's name, alone or with
what it is of: ``bandwidth``, ``bandwidth of 8 bits``, ``bandwidth of experts of 8 bits``; the most
particular that there is counts.  ``join_s of 4 GPUs`` and ``link of 4 GPUs`` are the seconds of a
short all-reduce and the share of the link's rate that a long one reaches.

A token passes two all-reduces in each layer, of 2 bytes for each number of its width.  No table of
runs states layers l and width h, so they are taken to grow as public models' do:

    l = 32 (P / 8e9)^(1/3)        A = 12 l h^2
    sync' = 2 l join_s / log2 T        exchange' = 2 l 2 h / (a link log2 T)

GPUs in a server also wait for the last of them, ten times as long in the runs that the law's own
prior is from; engines differ.  The prior is half way, in logarithms, between both.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rheostat.prediction.accelerators import accelerator
from rheostat.prediction.serving_law.configurations import Array, Configurations
from rheostat.prediction.serving_law.law import MEDIAN, NAMES

Rows = NDArray[np.bool_]
MOST_GPUS = 8


def medians(kernels: Mapping[str, Mapping[str, float]], c: Configurations) -> Array:
    """Prior medians of the log-parameters of each configuration, (n, k).

    Parameters
    ----------
    kernels
        Type of GPU to its numbers by name, as above.
    c
        n configurations.
    """
    at = np.tile(MEDIAN, (len(c), 1))
    bits = np.select([c.weight_b > 1.5, c.weight_b > 0.75], [16, 8], 4)
    experts = c.active < c.params
    for device, numbers in kernels.items():
        kind = accelerator(device)
        here = np.array([accelerator(name) is kind for name in c.gpu], dtype=bool)
        for k, name in enumerate(NAMES):
            for key, rows in _parts(name, bits, experts):
                if key in numbers:
                    at[here & rows, k] = np.log(numbers[key])
        _join(at, numbers, c, here)
    return at


def _parts(name: str, bits: NDArray[np.int64], experts: Rows) -> list[tuple[str, Rows]]:
    """Names of a parameter with the rows that they are of, the most particular last."""
    widths = [(f" of {b} bits", bits == b) for b in (16, 8, 4)]
    parts = [(name, bits > 0)] + [(name + said, rows) for said, rows in widths]
    return parts + [(f"{name} of experts{said}", rows & experts) for said, rows in widths]


def _join(at: Array, numbers: Mapping[str, float], c: Configurations, here: Rows) -> None:
    """``sync`` and ``exchange`` of rows whose layers are split, in place."""
    split = c.experts_split
    layers = 32.0 * np.cbrt(c.params / 8e9)
    per_hop = 2.0 * layers / np.maximum(np.log2(split), 1.0)
    width = np.sqrt(1e9 / (12.0 * layers))  # for each root of active parameters in 1e9
    for gpus in (2, 4, 8):
        seconds, link = (numbers.get(f"{key} of {gpus} GPUs") for key in ("join_s", "link"))
        rows = here & (split > gpus / 1.5) & ((split <= gpus * 1.5) | (gpus == MOST_GPUS))
        if seconds and link:
            own = (("sync", np.log(per_hop * seconds)),
                   ("exchange", np.log(per_hop * 2.0 * width / link)))  # fmt: skip
            for name, kernels in own:
                k = NAMES.index(name)
                at[rows, k] = (MEDIAN[k] + kernels[rows]) / 2.0
