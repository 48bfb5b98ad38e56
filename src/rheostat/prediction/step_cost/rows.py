"""Rows of a table of training runs as arrays: what a step computes, where, and of which network."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.jobs import JobTable
from rheostat.errors import DataError
from rheostat.prediction.architectures.named import (
    ARCHITECTURES,
    architecture,
    known_name,
    training_step,
)
from rheostat.prediction.architectures.single import (
    LAYERS,
    NEEDED,
    nearest_optimizer,
    single_layer,
)
from rheostat.prediction.step_cost.terms import TERMS, cost_terms

Array = NDArray[np.float64]
CLASSES, PIXELS, BITS = 1000, 224, 32
ASKED = tuple(dict.fromkeys((
    "app", "device", "batch_size", "image_px", "classes", "optimizer", "activation", "gpus",
    "precision_bits", "graph", *(c for n in NEEDED.values() for c in n), "padding", "use_bias",
)))  # fmt: skip
"""Columns that are read where they are there."""
_BYTES = np.array(["_b" in t for t in TERMS])


@dataclass(frozen=True)
class TrainingRows:
    """n rows; ``terms`` (n, J) are those of `cost_terms`, NaN where no graph is known."""

    terms: Array
    device: NDArray[np.str_]
    app: NDArray[np.str_]
    batch: Array

    def __len__(self) -> int:
        return len(self.batch)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Rows whose graph is known, (n,)."""
        return np.asarray(np.isfinite(self.terms).all(axis=1))

    def rows(self, index: Any) -> TrainingRows:
        """Some of them."""
        return TrainingRows(self.terms[index], self.device[index], self.app[index],
                            self.batch[index])  # fmt: skip

    @staticmethod
    def of(jobs: JobTable, graphs: Mapping[str, Array] | None = None) -> TrainingRows:
        """Read a table of training runs.

        Parameters
        ----------
        jobs : JobTable
            ``app`` and ``batch_size``, and what tells the graph: ``graph`` for one of ``graphs``,
            the sizes of a layer, or the name of a network and ``image_px`` (224), ``classes``
            (1000) and ``optimizer`` (sgd).
        graphs : mapping of str to array
            `cost_terms` of graphs, by what stands in column ``graph``.

        Returns
        -------
        TrainingRows
            In the order of the table.
        """
        jobs.require("app")
        here = [c for c in ASKED if c in jobs.columns]
        rows = jobs.frame.select(here).fill_nan(None).rows(named=True)
        made = [_terms(row, graphs or {}) for row in rows]
        return TrainingRows(
            np.array(made).reshape(len(rows), len(TERMS)),
            np.array([_device(row) for row in rows], dtype=np.str_),
            np.array([known_name(str(row["app"])) for row in rows], dtype=np.str_),
            np.array([float(row.get("batch_size") or 1) for row in rows]),
        )


def without_graph(jobs: JobTable, rows: TrainingRows) -> list[str]:
    """What the rows without a graph are, one problem for each kind, and what to do about them."""
    frame = jobs.frame.filter(pl.Series(~rows.known))
    said = [c for c in ("app", "batch_size", "image_px", "graph") if c in frame.columns]
    kinds = frame.select(said).unique(maintain_order=True).head(5).rows(named=True)
    problems = [f"no graph of {', '.join(f'{c}={v}' for c, v in kind.items())}" for kind in kinds]
    return [
        *problems,
        f"expected a batch size, and a file in column graph or one of {', '.join(ARCHITECTURES)}",
    ]


def _terms(row: Mapping[str, Any], graphs: Mapping[str, Array]) -> Array:
    if (name := row.get("graph")) is not None and name in graphs:
        return graphs[name]
    values = {k: v for k, v in row.items() if v is not None}
    if not {"app", "batch_size"} <= set(values):
        return np.full(len(TERMS), np.nan)
    devices = max(int(values.get("gpus", 1)), 1)
    share = -(-int(values["batch_size"]) // devices)
    bits = _precision(row)[1]
    try:
        if values["app"] in LAYERS and set(NEEDED[values["app"]]) <= set(values):
            made = cost_terms(single_layer({**values, "batch_size": share}), devices)
        else:
            network = architecture(str(values["app"]))
            made = _of_network(network, int(values.get("image_px", PIXELS)), share,
                               int(values.get("classes", CLASSES)),
                               nearest_optimizer(str(values.get("optimizer", "sgd"))),
                               devices)  # fmt: skip
    except DataError:
        return np.full(len(TERMS), np.nan)
    return np.where(_BYTES, made * bits / BITS, made)


@lru_cache(maxsize=4096)
def _of_network(
    app: str, image: int, batch: int, classes: int, optimizer: str, devices: int
) -> Array:
    return cost_terms(training_step(app, image, batch, classes, optimizer=optimizer), devices)


def _device(row: Mapping[str, Any]) -> str:
    """Another precision is another device: its rates have nothing in common with the first's.

    >>> _device({"device": "T4", "precision_bits": 16}), _device({"device": "T4 16 bit"})
    ('T4 16 bit', 'T4 16 bit')
    """
    name, bits = _precision(row)
    return name if bits == BITS else f"{name} {bits:g} bit"


def _precision(row: Mapping[str, Any]) -> tuple[str, float]:
    """Device and bits of a number; where nothing is stated, the device's name may say them."""
    name, bits = str(row.get("device") or ""), row.get("precision_bits")
    if named := re.fullmatch(r"(.*) (\d+) bit", name):
        return named[1], float(bits or named[2])
    return name, float(bits or BITS)
