"""Pools by the source that published them, so that a source can be left out of every choice.

A *source* is one campaign of measurement: its machines, meters and habits.  What is tuned on a
source flatters itself there; a method is therefore judged on a source by the variant that was best
on the others (leave-one-source-out).  Tables of one group about one subject count as one source.
"""

from __future__ import annotations

import fnmatch
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from .catalogue import load_folder, read_csv, unusable
from .noise import of_repeats
from .pools import Array, Pool, make_pool

FEWEST = 12
"""Settings that a pool must have: of fewer, eight evaluations leave nothing to choose."""
SOURCES = {
    "spechpc": ("spechpc-*",),
    "lulesh": ("lulesh/*",),
    "zeus": ("zeus-*",),
    "gridpilot": ("v100-capclock/*",),
}
"""Sources below ``runs`` by the names of their pools."""


@dataclass(frozen=True)
class Table:
    """A table below the data folder: what is run, what may be turned, and what a run cost."""

    path: str
    family: tuple[str, ...]
    app: tuple[str, ...]
    knobs: dict[str, str]
    runtime_s: pl.Expr
    power_w: pl.Expr
    only: pl.Expr | None = None


def _tokens(rate: str) -> pl.Expr:
    """Seconds per thousand tokens."""
    return 1000.0 / pl.col(rate)


TABLES: dict[str, tuple[Table, ...]] = {
    "dual-caps": (
        Table(
            "power/open_dualcap_a100/dualcap_raw_aggregated.csv",
            ("suite",),
            ("app",),
            {"cpu_cap_w": "cpu_cap_w", "gpu_cap_w": "gpu_cap_w"},
            pl.col("runtime_s"),
            pl.col("energy_j") / pl.col("runtime_s"),
        ),
        Table(
            "power/zzheng_power_caps/cap_sweeps_energy_runtime.csv",
            ("folder",),
            ("app", "size"),
            {"CPU Cap (W)": "cpu_cap_w", "GPU Cap (W)": "gpu_cap_w"},
            pl.col("Runtime (s)"),
            (pl.col("CPU_E (J)") + pl.col("GPU_E (J)")) / pl.col("Runtime (s)"),
            pl.col("sweep") == "dual",
        ),
        Table(
            "power/zzheng_power_caps/cpu_cap_pcm_counters.csv",
            (),
            ("app", "size"),
            {"cpu_cap_w": "cpu_cap_w"},
            pl.col("span_s"),
            pl.col("proc_power_w") + pl.col("dram_energy_j") / pl.col("span_s"),
        ),
    ),
    "ml-energy": (
        Table(
            "llm/mlenergy_v3/mlenergy_v3_llm_mllm.csv",
            ("task", "gpu_model"),
            ("model_id", "weight_precision"),
            {"max_num_seqs": "batch_size", "num_gpus": "gpus"},
            _tokens("output_throughput_tokens_per_sec"),
            pl.col("avg_power_watts"),
        ),
        Table(
            "llm/mlenergy_v2/mlenergy_v2_llm_mllm.csv",
            ("task", "GPU"),
            ("Model",),
            {"Max BS (reqs)": "batch_size", "TP": "gpus"},
            _tokens("Token tput (tok/s)"),
            pl.col("Energy/req (J)") / pl.col("Avg Output Tokens") * pl.col("Token tput (tok/s)"),
            pl.col("PP") == 1,
        ),
    ),
    "splitwise": (
        Table(
            "llm/splitwise/perf_model.csv",
            ("hardware",),
            ("model", "prompt_size", "token_size"),
            {"batch_size": "batch_size", "tensor_parallel": "gpus"},
            pl.col("e2e_time") / 1000.0 / pl.col("batch_size"),
            pl.col("average_power") * pl.col("tensor_parallel") * 700.0,
            pl.col("average_power") > 0,
        ),
    ),
}
"""Tables that need to be told what their columns are.  Splitwise gives shares of a GPU's limit."""


def load(data: Path, said: Callable[[str], None] = print) -> dict[str, list[Pool]]:
    """Source to its pools below the data folder; a source without any is left out, and said."""
    found, _ = load_folder(data / "runs")
    whole = [p for p in found if p.n >= FEWEST]
    by = {s: [p for p in whole if _named(p, patterns)] for s, patterns in SOURCES.items()}
    for source, tables in TABLES.items():
        by[source] = [p for t in tables if (data / t.path).exists() for p in pools_of(t, data)]
    for source in [s for s, pools in by.items() if not pools]:
        said(f"{source}: no pools below {data}")
        del by[source]
    return by


def _named(pool: Pool, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatch(pool.name, p) for p in patterns)


def pools_of(told: Table, data: Path) -> list[Pool]:
    """One pool per application of the table; repeats of a setting by their median."""
    path = data / told.path
    names = list(told.knobs.values())
    runs = (
        read_csv(path)
        .filter(pl.lit(value=True) if told.only is None else told.only)
        .select(
            family=_label(told.family),
            app=_label(told.app),
            t=told.runtime_s.cast(pl.Float64),
            p=told.power_w.cast(pl.Float64),
            **{to: pl.col(of).cast(pl.Float64) for of, to in told.knobs.items()},
        )
        .filter(pl.all_horizontal(pl.col("t", "p").is_finite() & (pl.col("t", "p") > 0)))
        .drop_nulls()
    )
    pools = []
    for (family, app), own in sorted(runs.group_by("family", "app")):
        turned = [k for k in names if own[k].n_unique() > 1]
        if not turned:
            continue
        settings, y, repeats = _settings(own, turned)
        pool = make_pool(
            f"{path.stem}-{family}/{app}" if family else f"{path.stem}/{app}",
            f"{path.stem}-{family}",
            str(app),
            knobs=tuple(turned),
            settings=settings,
            y=y,
            source=path.name,
            repeats=repeats,
        )
        if len(settings) >= FEWEST and not unusable(pool):
            pools.append(pool)
    return pools


def _label(columns: tuple[str, ...]) -> pl.Expr:
    """One name of several columns, without slashes, which separate families."""
    if not columns:
        return pl.lit("")
    texts = [pl.col(c).cast(pl.String).fill_null("") for c in columns]
    return pl.concat_str(texts, separator="-").str.replace_all("/", "-").str.strip_chars("-")


def _settings(own: pl.DataFrame, knobs: list[str]) -> tuple[Array, Array, Array | None]:
    """Settings (N, k), medians of runtime, power and energy (N, 3), noise of repeats."""
    values = own.select(knobs).to_numpy()
    unique, place = np.unique(values, axis=0, return_inverse=True)
    t, p = own.select("t", "p").to_numpy().T
    y = np.stack([t, p, t * p], axis=1)
    runs = [y[place.reshape(-1) == i] for i in range(len(unique))]
    median = np.array([np.median(r, axis=0) for r in runs])
    median[:, 2] = median[:, 0] * median[:, 1]
    return unique, median, of_repeats([np.log(r) for r in runs])


def drawn(pools: list[Pool], count: int) -> list[Pool]:
    """At most ``count`` of a source's pools: families in turn, by chance within each."""
    families: dict[str, list[Pool]] = {}
    for pool in sorted(pools, key=lambda p: zlib.crc32(p.name.encode())):
        families.setdefault(pool.family, []).append(pool)
    longest = max(map(len, families.values()))
    turns = [of[i] for i in range(longest) for _, of in sorted(families.items()) if i < len(of)]
    return sorted(turns[:count], key=lambda p: p.name)
