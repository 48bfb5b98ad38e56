"""The advice as a table: one row per job, predictions next to what was asked for."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment, Schema
from rheostat.core.outcome import Array
from rheostat.decision.batch_choice import BatchChoice

KEPT = ("job_id", "user", "account", "app", "partition", "submit_s")
_UNITS = {"_s": "s", "_w": "W", "_j": "J", "_js": "J s"}


def advice_table(jobs: JobTable, chosen: BatchChoice, names: Sequence[str]) -> JobTable:
    """One row per job: who, each knob advised and requested, predictions, changes, support."""
    data: dict[str, pl.Series] = {c: jobs.frame[c] for c in KEPT if c in jobs.columns}
    columns: list[Column] = [jobs.schema[c] for c in data]
    for name in names:
        old = jobs.schema[name]
        data[name] = pl.Series(chosen.settings[name])
        data[f"{name}_requested"] = jobs.frame[name]
        columns += [
            Column(name, old.unit, Moment.SUBMIT, f"advised {name}"),
            Column(f"{name}_requested", old.unit, Moment.SUBMIT, f"{name} as submitted"),
        ]
    for quantity in chosen.quantities:
        for column, values in _predicted(chosen, quantity):
            data[column.name] = pl.Series(values).fill_nan(None)
            columns.append(column)
    data["support"] = pl.Series(chosen.support).fill_nan(None)
    data["status"] = pl.Series(chosen.status.tolist())
    columns += [
        Column("support", "", Moment.SUBMIT, "similar past runs at the advised setting"),
        Column("status", "", Moment.SUBMIT, "advised, kept, infeasible or abstained"),
    ]
    return JobTable(pl.DataFrame(data), Schema(columns))


def _predicted(chosen: BatchChoice, quantity: str) -> list[tuple[Column, Array]]:
    unit = next((u for end, u in _UNITS.items() if quantity.endswith(end)), "")
    q, bounds = quantity, ("", "_low", "_high")
    made = [
        (Column(f"{q}_advised{b}", unit, Moment.SUBMIT, f"predicted {q} as advised"), v)
        for b, v in zip(bounds, chosen.advised[q], strict=True)
    ]
    made.append(
        (
            Column(f"{q}_requested", unit, Moment.SUBMIT, f"predicted {q} as requested"),
            chosen.requested[q],
        )
    )
    return made + [
        (Column(f"{q}_change{b}", "", Moment.SUBMIT, f"relative change of {q}, predicted"), v)
        for b, v in zip(bounds, chosen.change[q], strict=True)
    ]
