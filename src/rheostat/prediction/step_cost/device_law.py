"""How long a step takes on a device that nobody ran: the roofline of its data sheet, as it is used.

Every operation takes the longer of its arithmetic and its traffic, and a start:

    t = sum_o  max(f_o / (F c_k), b_o / (B m)) + l,
    c_k = u_k / (1 + (u_k F w / P) ^ 4) ^ (1/4)

with F and B the sheet's rates.  Arithmetic goes at a share u of its kind (products, convolutions,
either in few bits), or as fast as the board's watts P allow: w watts for each FLOP/s, which fell by
s a year, as did a start.  A device departs from the others in arithmetic, in traffic, in starts and
in convolutions; one with the chip of another departs much as that one.  All is learned in
logarithms with Gaussian priors from runs on other devices; the posterior is that of Gauss and
Newton, so that a few runs on a device narrow its departures and nothing else has to be said.

Notation
--------
n  rows      p  parameters, `NAMES` and then four departures of each of D devices
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.optimize import least_squares

from rheostat.core.graph import Graph
from rheostat.prediction.accelerators import Accelerator, chip
from rheostat.prediction.step_cost.terms import lanes_share

Array = NDArray[np.float64]
NAMES = ("product", "convolution", "product_few_bits", "convolution_few_bits", "memory", "start_s",
         "w_per_tflop_s", "few_bits_w", "per_year", "amd", "start_per_year")  # fmt: skip
MEAN = np.array([np.log(0.75), np.log(0.5), np.log(0.55), np.log(0.35), np.log(0.8), np.log(1e-5),
                 np.log(12.0), np.log(0.14), np.log(0.8), 0.0, -0.1])  # fmt: skip
SPREAD = np.array([0.3, 0.5, 0.35, 0.5, 0.2, 0.7, 0.4, 0.4, 0.05, 0.4, 0.1])
"""Prior: shares of the sheet's rates, seconds to start an operation, watts for a TFLOP/s in 32 bits
in 2020 and their ratio in few bits, their fall in a year; what AMD's matrix units do otherwise; the
fall of a start in a year, as the hosts around a device are of its time."""
DEPARTURE = np.array([0.15, 0.15, 0.4, 0.3])
"""Log spread of one device from the others: of arithmetic, traffic and starts, and of convolutions
beside other arithmetic, as libraries have other ways to compute them on each."""
SAME_CHIP = 0.7
"""Correlation of the departures of two devices with the same chip."""
NOISE, CONVOLUTION_NOISE = 0.1, 0.3
"""Log error of a run that everything is known of: kernels, framework, counting; and what comes on
top where all arithmetic is convolutions, which libraries choose among many ways to compute."""
FEW_BITS = ("f16", "bf16", "f8e4m3fn", "f8e5m2")
COMPLEX, COMPLEX_PRODUCTS = ("c64", "c128"), 4.0
"""Real products in one of complex numbers, which graphs count once, as XLA does."""
MIXED = (0.5, 0.7)
"""Traffic in mixed precision: of products, and of the rest, part of which stays in 32 bits."""
TF32_W = 2.0
"""Watts of a TFLOP/s in TF32 beside 16 bits."""
IDLE = ("parameter_constant", "control")
YEAR, SHARP = 2020, 4.0
FEWER_PRODUCTS = 2015
"""Since when libraries compute convolutions with fewer products than they have (Winograd): on older
chips their share is no larger than that of products."""
STEP = 1e-4


class Work(NamedTuple):
    """Operations of one step, (o,) each: which share they go at, and what they do."""

    kind: NDArray[np.int64]
    flops: Array
    bytes: Array
    times: Array

    @staticmethod
    def of(graph: Graph, *, tf32: Sequence[str] = (), bits: int = 32) -> Work:
        """Of a graph.

        Of the classes in ``tf32`` what is computed in 32 bits is rounded to TF32 where a device
        can.  With 16 ``bits`` products go in 16, and what moves is less by `MIXED`.  Convolutions
        are counted in whole lanes: few channels cost what 64 do.

        >>> from rheostat.prediction.architectures import training_step
        >>> len(Work.of(training_step("lenet5", 32, 16, 10)).kind)
        48
        """
        nodes = graph.nodes.with_columns(lanes=lanes_share(graph)).filter(
            (pl.col("times") > 0)
            & ~pl.col("op_class").is_in(IDLE)
            & ((pl.col("bytes") > 0) | (pl.col("flops") > 0))
        )
        kind = np.full(len(nodes), -1, dtype=np.int64)
        op_class = nodes["op_class"].to_numpy()
        kind[op_class == "matmul"], kind[op_class == "convolution"] = 0, 1
        heavy = kind >= 0
        small = nodes["dtype"].is_in(FEW_BITS).to_numpy() | (bits < 32)
        kind[heavy & small] += 2
        kind[heavy & ~small & np.isin(op_class, list(tf32))] += 4
        flops, moved, times = (
            nodes[c].fill_nan(0.0).to_numpy().astype(float) for c in ("flops", "bytes", "times")
        )
        flops[heavy & nodes["dtype"].is_in(COMPLEX).to_numpy()] *= COMPLEX_PRODUCTS
        flops *= nodes["lanes"].to_numpy()
        if bits < 32:
            moved = moved * np.where(heavy, *MIXED)
        return Work(kind, flops, moved, times)


@dataclass(frozen=True)
class DeviceLaw:
    """Fitted parameters with their covariance, the first of them `NAMES`.

    Parameters
    ----------
    parameters : array, (p,)
        Logarithms.
    covariance : array, (p, p)
        Of the posterior.
    devices : tuple of str
        Those with departures, one of each of `DEPARTURE`, behind `NAMES`.
    noise : float
        Log spread of one run.
    """

    parameters: Array
    covariance: Array
    devices: tuple[str, ...] = ()
    noise: float = NOISE

    @staticmethod
    def shipped() -> DeviceLaw:
        """Learned from public tables: ``python benchmarks/dnn_device_law.py --write``.

        NeuSight (MIT; transformers, 11 types of GPU) and PROFET (MIT; CNNs, 4 types).
        """
        text = files("rheostat.prediction.step_cost").joinpath("device_law.json").read_text("utf-8")
        return DeviceLaw.from_dict(json.loads(text))

    @staticmethod
    def prior() -> DeviceLaw:
        """Before any run."""
        return DeviceLaw(MEAN, np.diag(SPREAD**2))

    def predict(self, work: Work, sheet: Accelerator, device: str = "") -> tuple[float, float]:
        """Mean and standard deviation of the log of one step's seconds.

        ``device`` is one that was learned from, or any other name for one that was not.
        """
        wider, place = self._with(device)
        at = np.concatenate([wider.parameters[: len(NAMES)], wider.parameters[place]])
        mean = _log_time(at, work, sheet)
        slope = _slopes(at, work, sheet)
        keep = np.concatenate([np.arange(len(NAMES)), place])
        variance = slope @ wider.covariance[np.ix_(keep, keep)] @ slope
        return mean, float(np.sqrt(variance + _noise(self.noise, work) ** 2))

    def parts(self, work: Work, sheet: Accelerator, device: str = "") -> dict[str, float]:
        """Seconds of products, convolutions, traffic and starts."""
        wider, place = self._with(device)
        at = np.concatenate([wider.parameters[: len(NAMES)], wider.parameters[place]])
        compute, memory, start = _operation_times(at, work, sheet)
        slow, dense = memory >= compute, work.kind % 2 == 0
        busy = np.maximum(compute, memory) * work.times
        return {
            "products": float(busy[dense & ~slow].sum()),
            "convolutions": float(busy[~dense & ~slow].sum()),
            "traffic": float(busy[slow].sum()),
            "starts": float((start * work.times).sum()),
        }

    def given(
        self, works: Sequence[Work], sheets: Sequence[Accelerator], devices: Sequence[str],
        log_s: Array,
    ) -> DeviceLaw:  # fmt: skip
        """The law when these runs are known, too: departures of their devices are added."""
        law = self
        for name in dict.fromkeys(devices):
            law = law._with(name)[0]
        names = list(law.devices)
        place = np.array([names.index(d) for d in devices])
        root = np.linalg.cholesky(np.linalg.inv(law.covariance)).T
        spread = 1.0 / np.array([_noise(law.noise, w) for w in works])

        def misfit(p: Array) -> Array:
            made = [_log_time(_own(p, i), w, s) for i, w, s in zip(place, works, sheets,
                                                                   strict=True)]  # fmt: skip
            return np.concatenate([(np.array(made) - log_s) * spread,
                                   root @ (p - law.parameters)])  # fmt: skip

        def jacobian(p: Array) -> Array:
            rows = np.zeros((len(log_s), len(p)))
            for row, i, w, s in zip(rows, place, works, sheets, strict=True):
                row[_places(i)] = _slopes(_own(p, i), w, s)
            return np.concatenate([rows * spread[:, None], root])

        fit = least_squares(misfit, law.parameters, jac=jacobian, method="trf", max_nfev=60)
        information = fit.jac.T @ fit.jac
        return DeviceLaw(fit.x, np.linalg.inv(information), law.devices, law.noise)

    def _with(self, device: str) -> tuple[DeviceLaw, NDArray[np.int64]]:
        """A law that has the device, and where its departures are."""
        if device in self.devices:
            return self, _places(self.devices.index(device))[len(NAMES) :]
        n = len(self.parameters)
        carry = np.zeros((len(DEPARTURE), n))
        if (kin := self._same_chip(device)) is not None:
            carry[:, _places(kin)[len(NAMES) :]] = SAME_CHIP * np.eye(len(DEPARTURE))
        own = np.diag(DEPARTURE**2) * (1.0 - SAME_CHIP**2 * (kin is not None))
        cross = carry @ self.covariance
        wide = np.block([[self.covariance, cross.T], [cross, cross @ carry.T + own]])
        more = DeviceLaw(np.concatenate([self.parameters, carry @ self.parameters]), wide,
                         (*self.devices, device), self.noise)  # fmt: skip
        return more, np.arange(n, n + len(DEPARTURE))

    def _same_chip(self, device: str) -> int | None:
        """The last device with the chip of this one, if there is one."""
        asked = chip(device)
        known = [i for i, d in enumerate(self.devices) if asked and chip(d) == asked]
        return known[-1] if known else None

    def to_dict(self) -> dict[str, Any]:
        """Numbers, rounded, as the package ships them.

        A device's departures are kept with their own covariance; what they share with the
        parameters of all is left out, which makes intervals a little wider.
        """
        n = len(NAMES)
        k = len(DEPARTURE)
        own = [(d, slice(n + k * i, n + k * i + k)) for i, d in enumerate(self.devices)]
        return {
            "names": list(NAMES), "noise": round(self.noise, 4),
            "parameters": np.round(self.parameters[:n], 4).tolist(),
            "covariance": np.round(self.covariance[:n, :n], 6).tolist(),
            "devices": {d: {"departures": np.round(self.parameters[s], 4).tolist(),
                            "covariance": np.round(self.covariance[s, s], 6).tolist()}
                        for d, s in own},
        }  # fmt: skip

    @staticmethod
    def from_dict(facts: Mapping[str, Any]) -> DeviceLaw:
        """What `to_dict` gave."""
        own = facts["devices"].values()
        parameters = np.concatenate([facts["parameters"], *(d["departures"] for d in own)])
        covariance = block_diag(facts["covariance"], *(d["covariance"] for d in own))
        return DeviceLaw(parameters, covariance, tuple(facts["devices"]), float(facts["noise"]))


def _noise(noise: float, work: Work) -> float:
    """Of one run."""
    done = work.flops * work.times
    heavy = float(done[work.kind >= 0].sum())
    share = float(done[(work.kind >= 0) & (work.kind % 2 == 1)].sum()) / heavy if heavy else 0.0
    return float(np.hypot(noise, CONVOLUTION_NOISE * share))


def _places(device: int) -> NDArray[np.int64]:
    first = len(NAMES) + len(DEPARTURE) * device
    return np.concatenate([np.arange(len(NAMES)), np.arange(first, first + len(DEPARTURE))])


def _own(p: Array, device: int) -> Array:
    return np.asarray(p[_places(device)])


def _operation_times(at: Array, work: Work, sheet: Accelerator) -> tuple[Array, Array, Array]:
    """Seconds of arithmetic and traffic of each operation (o,), and of a start."""
    shares, (memory, start, watts, few_w, per_year, amd, start_year) = at[:4], at[4 : len(NAMES)]
    arithmetic, traffic, starts, convolutions = at[len(NAMES) :]
    ours = sheet.matrix32_per_s > sheet.flop32_per_s
    rounds = np.isfinite(sheet.tf32_per_s)
    middle = sheet.tf32_per_s if rounds else sheet.matrix32_per_s
    peak = np.repeat([sheet.matrix32_per_s, sheet.flop_per_s, middle], 2)
    few = np.repeat([0.0, few_w, (few_w + np.log(TF32_W)) * rounds], 2)
    if sheet.year < FEWER_PRODUCTS:
        shares = np.minimum(shares, np.repeat(shares[::2], 2))
    shares = np.concatenate([shares, shares[2:] if rounds else shares[:2]])
    each = watts + per_year * (sheet.year - YEAR) + few
    reach = peak * np.exp(shares + amd * ours)
    most = sheet.power_w / np.exp(each) * 1e12
    rate = reach / (1.0 + (reach / most) ** SHARP) ** (1.0 / SHARP) * np.exp(-arithmetic)
    rate[1::2] *= np.exp(-convolutions)
    compute: Array = np.where(work.kind >= 0, work.flops / rate[work.kind], 0.0)
    moved = work.bytes / (sheet.memory_b_per_s * np.exp(memory - traffic))
    return compute, moved, np.exp(start + start_year * (sheet.year - YEAR) + starts)


def _log_time(at: Array, work: Work, sheet: Accelerator) -> float:
    compute, memory, start = _operation_times(at, work, sheet)
    return float(np.log(np.sum((np.maximum(compute, memory) + start) * work.times)))


def _slopes(at: Array, work: Work, sheet: Accelerator) -> Array:
    """By differences: there are few parameters, and a step has a few thousand operations."""
    eye = STEP * np.eye(len(at))
    up = [_log_time(at + e, work, sheet) for e in eye]
    down = [_log_time(at - e, work, sheet) for e in eye]
    return np.asarray((np.array(up) - np.array(down)) / (2.0 * STEP))
