"""How columns of published tables are mapped, by names that such a table has."""

from __future__ import annotations

from typing import Any

from rheostat.core.vocabulary import VOCABULARY
from rheostat.measurement.training_columns import COLUMNS

TRAINING = frozenset({"app", "device", "batch_size"})
PRESETS: tuple[tuple[str, frozenset[str], dict[str, Any]], ...] = (
    ("SPEChpc runs measured with LIKWID", frozenset({"rt_unhalted_max", "power_pkg_W", "hosts"}), {
        "columns": {"runtime_s": "rt_unhalted_max", "power_w": ["power_pkg_W", "power_dram_W"],
                    "app": "bench", "nodes": "hosts", "cores": "procs"},
        "known": {"workload": "submit", "cluster": "submit", "group": "submit"},
        "drop": {"columns": ["file"]}}),
    ("LULESH runs measured with LIKWID", frozenset({"wall_s", "total_power_W", "core_freq_GHz"}), {
        "columns": {"runtime_s": "wall_s", "power_w": "total_power_W", "energy_j": "energy_J",
                    "frequency_hz": "core_freq_GHz", "threads": "threads"},
        "known": {"size": "submit", "arch": "submit", "dataset": "submit", "parallel": "submit"}}),
    ("means of PCM samples of 0.1 s", frozenset({"EXEC_mean", "CFREQ_mean", "INST_mean"}), {
        "columns": {"runtime_s": "span_s", "package_power_w": "proc_power_w",
                    "exec_share": "EXEC_mean", "core_hz": {"from": "CFREQ_mean", "scale": 1e9},
                    "uncore_hz": {"from": "UncFREQ (Ghz)_mean", "scale": 1e9},
                    "core_ipc": {"from": "PhysIPC%_mean", "scale": 0.01},
                    "memory_read_b_per_s": {"from": "READ_mean", "scale": 1e10},
                    "memory_write_b_per_s": {"from": "WRITE_mean", "scale": 1e10},
                    "instructions_per_s": {"from": "INST_mean", "scale": 1e7}},
        "drop": {"columns": ["samples"]}}),
    ("Marconi100 jobs", frozenset({"num_nodes_alloc", "run_time", "time_limit", "job_state"}), {
        "columns": {"time_limit_s": {"from": "time_limit", "scale": 60}, "runtime_s": "run_time"}}),
    ("Zeus training runs", frozenset({"time_per_epoch", "average_power", "power_limit"}), {
        "columns": {"runtime_s": "time_per_epoch", "power_w": "average_power",
                    "cap_w": "power_limit", "batch_size": "batch_size", "app": "network"}}),
    ("training steps", TRAINING, {
        "known": {c.name: c.known.name.lower() for c in COLUMNS if c.name not in VOCABULARY}}),
)  # fmt: skip
