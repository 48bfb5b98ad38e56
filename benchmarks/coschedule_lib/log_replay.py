"""Replay what a log says was done: the same jobs on the same GPUs in the same order per GPU.

Only the order on each GPU is kept, not the times: a job starts when the GPUs that it had are free
of those who had them before.  So a simulator is judged on durations and energy alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rheostat.decision.coschedule.gpu_profiles import Profiles
from rheostat.decision.coschedule.shared_node import NodeState, Start, Waiting
from rheostat.errors import DataError


class Recorded:
    """A policy that does what ``rows`` (job, app, gpus, gpu_ids, domain) did, in start order."""

    name = "recorded"

    def __init__(
        self, rows: Sequence[Mapping[str, Any]], profiles: Profiles, tenants: int = 2
    ) -> None:
        modes = {(a, m.gpus): m for a, ms in profiles.items() for m in ms}
        missing = [f"{r['app']} on {r['gpus']} GPUs is in no profile" for r in rows
                   if (r["app"], r["gpus"]) not in modes]  # fmt: skip
        if missing:
            raise DataError("recorded", missing)
        self.rows = [(r, modes[r["app"], r["gpus"]]) for r in rows]
        self.tenants = tenants

    def choose(self, waiting: Sequence[Waiting], state: NodeState) -> tuple[Start, ...]:
        """The first recorded job whose GPUs are free and not waited for by an earlier one."""
        if len(state.tenants) >= self.tenants:
            return ()
        free, claimed = set(state.free), set[int]()
        by_name = {w.name: w for w in waiting}
        for k, (row, mode) in enumerate(self.rows):
            ids = set(row["gpu_ids"])
            if not ids & claimed and ids <= free and row["job"] in by_name:
                del self.rows[k]
                domain = int(row.get("domain", 0))
                return (Start(by_name[row["job"]], mode, tuple(row["gpu_ids"]), domain),)
            claimed |= ids
        return ()
