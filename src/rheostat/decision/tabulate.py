"""The advice as a table: one row per job, predictions next to what was asked for."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment, Schema
from rheostat.core.outcome import GRADES, Array
from rheostat.decision.batch_choice import BatchChoice

KEPT = ("job_id", "user", "account", "app", "partition", "submit_s")
_UNITS = {"_s": "s", "_w": "W", "_j": "J", "_js": "J s"}


def advice_table(
    jobs: JobTable, chosen: BatchChoice, names: Sequence[str], hints: BatchChoice | None = None
) -> JobTable:
    """One row per job: who, each knob advised and requested, predictions, changes, support.

    ``hints`` is what would be chosen if forecasts borrowed from other applications counted.
    """
    data: dict[str, pl.Series] = {c: jobs.frame[c] for c in KEPT if c in jobs.columns}
    columns: list[Column] = [jobs.schema[c] for c in data]
    for name in names:
        old = jobs.schema[name]
        data[name] = pl.Series(chosen.settings[name])
        data[f"{name}_requested"] = pl.Series(chosen.settings[f"{name}_requested"])
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
    if (chosen.grade >= 0).any():
        data["evidence"] = pl.Series([GRADES[g] if g >= 0 else None for g in chosen.grade])
        columns.append(Column("evidence", "", Moment.SUBMIT, "what the predicted change rests on"))
    for column, series in [] if hints is None else _hinted(chosen, hints, names):
        data[column.name] = series
        columns.append(column)
    return JobTable(pl.DataFrame(data), Schema(columns))


def _hinted(
    chosen: BatchChoice, hints: BatchChoice, names: Sequence[str]
) -> list[tuple[Column, pl.Series]]:
    """Settings, and changes, that only runs of other applications speak for; null elsewhere."""
    here = pl.Series((hints.status == "advised") & (hints.pick != chosen.pick))
    text = "by runs of other applications"
    made = [
        (Column(f"{n}_hint", "", Moment.SUBMIT, f"{n} {text}"), pl.Series(hints.settings[n]))
        for n in names
    ]
    made += [
        (
            Column(f"{q}_change_hint", "", Moment.SUBMIT, f"relative change of {q} {text}"),
            pl.Series(hints.change[q][0]).fill_nan(None),
        )
        for q in hints.quantities
    ]
    return [(c, pl.select(pl.when(here).then(v)).to_series()) for c, v in made]


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
