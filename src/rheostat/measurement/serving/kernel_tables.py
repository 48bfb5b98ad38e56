"""A directory of AIConfigurator's kernel tables: what each GPU reaches, and the watts it draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rheostat.core.storage.file_kinds import describe_file
from rheostat.errors import DataError
from rheostat.measurement.serving.kernel_caches import read_caches
from rheostat.measurement.serving.kernel_joins import Join, read_joins
from rheostat.measurement.serving.kernel_weights import WeightRates, read_experts, read_products

Reader = Callable[[Sequence[Path], list[str]], Mapping[str, Any]]
KINDS: Mapping[str, tuple[Reader, tuple[str, ...]]] = {
    "products": (read_products, ("*gemm_perf.parquet",)),
    "experts": (read_experts, ("*moe_perf.parquet",)),
    "attention": (read_caches, ("*generation_attention_perf.parquet",)),
    "all-reduces": (read_joins, ("*nccl_perf.parquet", "*custom_allreduce_perf.parquet")),
}
"""What reads each kind of kernel, and the names of its files."""


@dataclass(frozen=True)
class KernelRates:
    """What kernels reach on one type of GPU; what no table says is absent or NaN.

    ``products`` and ``experts`` are by bits of a weight (16, 8, 4), ``joins`` by number of GPUs.
    """

    device: str
    products: Mapping[int, WeightRates] = field(default_factory=dict)
    experts: Mapping[int, WeightRates] = field(default_factory=dict)
    cache_b_per_s: float = float("nan")
    joins: Mapping[int, Join] = field(default_factory=dict)
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class KernelTables:
    """Rates of each device, and what was left out or is not there."""

    rates: tuple[KernelRates, ...]
    notes: tuple[str, ...] = ()


def read_kernels(directory: str | Path) -> KernelTables:
    """Rates of every GPU that a directory has kernel tables of.

    Parameters
    ----------
    directory
        With files of some of the `KINDS`, in folders below it too.

    Returns
    -------
    KernelTables
        One entry for each device, in the order of their names; ``sources`` says which engine's
        tables were taken for what.

    Raises
    ------
    DataError
        Nothing of the kind is there, or a file is none of them: all such files in one error.
    """
    folder = Path(directory)
    if not folder.is_dir():
        what = f"expected a folder of kernel tables, got {describe_file(folder)}"
        raise DataError(str(directory), [what])
    files = {kind: sorted(f for name in names for f in folder.rglob(name))
             for kind, (_, names) in KINDS.items()}  # fmt: skip
    if not any(files.values()):
        wanted = ", ".join(name for _, names in KINDS.values() for name in names)
        raise DataError(str(directory), [f"no kernel table: expected files {wanted}, got none"])
    made: dict[str, Mapping[str, Any]] = {}
    problems: list[str] = []
    notes: list[str] = []
    for kind, (read, names) in KINDS.items():
        try:
            made[kind] = read(files[kind], notes) if files[kind] else {}
        except DataError as error:
            problems += error.problems
        if not files[kind]:
            notes.append(f"no kernel tables of {kind} ({', '.join(names)})")
    devices = sorted({device for by_device in made.values() for device in by_device})
    if not devices and not problems:
        problems = ["expected products of 50 to 800 MB of weights with m <= 16 and m >= 4096, "
                    "experts, attention or all-reduces in a known format, got none"]  # fmt: skip
    if problems:
        raise DataError(str(directory), problems)
    return KernelTables(tuple(_rates(device, made) for device in devices), tuple(notes))


def _rates(device: str, made: Mapping[str, Mapping[str, Any]]) -> KernelRates:
    products, experts = (made[kind].get(device, {}) for kind in ("products", "experts"))
    said = [f"{kind} of {bits} bits {by[bits].source}"
            for kind, by in (("products", products), ("experts", experts))
            for bits in sorted(by, reverse=True)]  # fmt: skip
    engine, cache_b_per_s = made["attention"].get(device, ("", float("nan")))
    joins = made["all-reduces"].get(device, {})
    said += [f"attention {engine}"] if engine else []
    said += [f"all-reduces of {', '.join(map(str, joins))} GPUs"] if joins else []
    return KernelRates(device, products, experts, cache_b_per_s, joins, tuple(said))
