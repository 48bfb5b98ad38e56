"""Words for many jobs: what an advice would change, and what a back-test found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from rheostat.core.report import Chart, Grid, Section
from rheostat.core.units import format_moment, plain_name, unit_of
from rheostat.decision.accuracy import accuracy_facts
from rheostat.decision.backtest import Backtest, changes_by
from rheostat.decision.decide import Advice, WiderLimit
from rheostat.decision.evidence import e_value
from rheostat.decision.totals import Change
from rheostat.explanation.choices.checked_forecasts import (
    accuracy_words,
    calibration_chart,
    unheld_words,
)
from rheostat.explanation.formats.grid_cells import change
from rheostat.explanation.number_words import quantity, share, signed

Explained = tuple[list[Section], dict[str, Any]]
SHOWN, GROUPS = 20, 12

PROMISED = "Promised is the upper end, for all of them together; of a single job nothing is."
NOT_PROMISED = (
    "Nothing is promised of these shares: where the forecast of an application errs, all advised "
    "jobs may miss the limits."
)


def explain_advice(advice: Advice, shown: int = SHOWN) -> Explained:
    """How many jobs change, what that saves, and the first jobs in a table."""
    counts = advice.counts()
    said = Section("decide", (*_sums(advice, counts), _predicted(advice)))
    jobs = Section("jobs", (f"At most {shown}, the largest savings first.",),
                   advice_grid(advice, shown))  # fmt: skip
    return [said, *_by_group(advice), jobs], {**advice_facts(advice), "jobs": advice_rows(advice)}


def _by_group(advice: Advice) -> list[Section]:
    """A picture of what changes for each application, or for each user where none is known."""
    column = next((c for c in ("app", "user") if c in advice.table.columns), "app")
    frame = changes_by(advice, column)
    names = [q for q in CHECKED if f"{q}_change" in frame.columns]
    known = frame.filter(pl.any_horizontal(pl.col(f"{q}_change").is_not_null() for q in names))
    if not names or not len(known):
        return []
    drawn = known.head(GROUPS)
    groups = ["unknown" if v is None else str(v) for v in drawn[column]]
    series = tuple(
        {"name": plain_name(q), "x": groups, "y": drawn[f"{q}_change"].to_list()} for q in names
    )
    what = {"app": "application"}.get(column, column)
    chart = Chart("bar", series, (what, "predicted change"), units=("", "share"))
    left = f" The first {GROUPS} of {len(known)}." if len(known) > GROUPS else ""
    said = f"Change of the sums over each {what}'s jobs, largest predicted energy first.{left}"
    return [Section(f"by {what}", (said,), None, chart)]


def _sums(advice: Advice, counts: dict[str, int]) -> list[str]:
    limits = f" within {' and '.join(advice.limits)}" if advice.limits else ""
    said = [
        f"{counts['advised']:,} of {len(advice):,} jobs should change, {counts['kept']:,} stay as"
        f" asked (rule: {advice.rule}{limits})."
    ]
    if advice.totals and counts["advised"]:
        totals = {q: t for q, t in advice.totals.items() if q in advice.objectives}
        said.append(f"Predicted in all: {'; '.join(_total(q, t) for q, t in totals.items())}.")
        said += _over_limit(advice) + _sensitivity(advice)
    if advice.limits and (alone := _without_other(advice)):
        said.append(
            f"That a job stays does not say that its setting is best: for {alone:,} that stay no "
            "other one is shown to hold these limits."
        )
    said += [_at_wider(w, advice.objectives) for w in advice.wider]
    grades = {g: n for g, n in advice.evidence().items() if n}
    if grades:
        said.append(f"Evidence: {', '.join(f'{n:,} {g}' for g, n in grades.items())}.")
    if advice.hints():
        said.append(
            f"Hints, not counted: for {advice.hints():,} jobs only runs of other applications "
            "speak for another setting."
        )
    if advice.impossible:
        said.append(f"{advice.impossible:,} forecasts contradict physics and are left out.")
    said += [
        f"{n:,} forecasts are left out: {r.removesuffix(': no prediction')}."
        for r, n in advice.doubted.items()
    ]
    said += [
        f"{n.count} job{'s' if n.count > 1 else ''}: {n.message}."
        for n in advice.table.notes
        if n.count
    ]
    return said


def _without_other(advice: Advice) -> int:
    """Jobs that stay as no other setting is shown to hold the limits."""
    answered = advice.table.frame.filter(pl.col("status").is_in(["advised", "kept"]))
    made = zip(answered["status"], advice.decision.assignments, strict=True)
    return sum(s == "kept" and a.because.runner_up is None for s, a in made)


def _ran(advice: Advice) -> bool:
    """Whether runs of a measured table at every advised setting are what is predicted."""
    if "submit_s" in advice.table.columns:
        return False
    advised = advice.counts()["advised"]
    return bool(advised) and advice.evidence().get("measured", 0) == advised


def _predicted(advice: Advice) -> str:
    return f"{MEASURED if _ran(advice) else UNMEASURED} {FIGURES}"


def _over_limit(advice: Advice) -> list[str]:
    """How many advised jobs may miss a limit: of the group, since no single job is promised."""
    said = []
    if advice.over_limit is not None:
        slower = (pl.col("status") == "advised") & (pl.col("runtime_s_change") > 0)
        said.append(
            f"Over the limit of slowdown: {_of(advice.over_limit)} of the advised jobs, mostly "
            f"among the {len(advice.table.frame.filter(slower)):,} forecast to take longer than as "
            "asked."
        )
    if advice.more_energy is not None:
        promised = PROMISED if advice.more_energy[2] < 1 else NOT_PROMISED
        said.append(
            f"Over the limit of energy: {_of(advice.more_energy)} of the advised jobs. {promised}"
        )
    return said


def _at_wider(wide: WiderLimit, objectives: Sequence[str]) -> str:
    """What a wider limit of slowdown would advise, all else as asked."""
    at = f"--slowdown {100 * (wide.factor - 1):g}"
    if not wide.advised:
        return f"Nor would any job change at {at}."
    missed = {"slowdown": wide.over_limit, "energy": wide.more_energy}
    over = [f"over the limit of {q}: {_of(m)} of them" for q, m in missed.items() if m is not None]
    totals = [f"{plain_name(q)} {change(wide.totals[q].change)}" for q in objectives
              if q in wide.totals]  # fmt: skip
    many = f"{wide.advised:,} job{'s' * (wide.advised > 1)} would change"
    return f"With {at}, {many}: {'; '.join([*totals, *over])}."


def _of(missed: tuple[float, float, float]) -> str:
    mean, low, high = (share(v, 1) for v in missed)
    return f"{mean} [{low}, {high}]"


def _sensitivity(advice: Advice) -> list[str]:
    """How strong a cause that the log hides would have to be to undo the saving."""
    shown = [q for q in ("energy_j", "node_hours") if q in advice.objectives]
    saved = next((q for q in shown if q in advice.totals), None)
    if saved is None or not advice.totals[saved].change[0] < 0:
        return []
    mean, limit = e_value(advice.totals[saved].change)
    return [
        f"A cause that the log hides could undo the saving in {plain_name(saved)} if it went with "
        f"the setting and with {plain_name(saved)} by a factor of {mean:.2f} each (E-value; "
        f"{limit:.2f} at the end of the interval)."
    ]


def _total(name: str, total: Change) -> str:
    before, after = (quantity(v, unit_of(name)) for v in (total.before, total.after))
    return f"{plain_name(name)} {change(total.change)}, from {before} to {after}"


def advice_grid(advice: Advice, shown: int | None = SHOWN) -> Grid:
    """One row per job; ``shown`` limits the rows, those with the largest change first."""
    frame = advice.table.frame
    order = "energy_j_change" if "energy_j_change" in frame.columns else "status"
    if shown is not None:
        frame = frame.sort(order, nulls_last=True, maintain_order=True).head(shown)
    who = [c for c in ("job_id", "user", "app") if c in frame.columns]
    heads: list[str] = list(who)
    units, columns = [""] * len(who), [frame[c].to_list() for c in who]
    for k in advice.knobs:
        heads += [f"{k} asked", k]
        units += ["", ""]
        columns += [frame[f"{k}_requested"].to_list(), frame[k].to_list()]
    for q in (o for o in advice.objectives if f"{o}_change" in frame.columns):
        heads.append(f"Δ {plain_name(q)}")
        units.append("%")
        columns.append(_triples(frame, f"{q}_change"))
    heads += ["similar", "status"]
    columns += [
        [None if v is None else int(v) for v in frame["support"]],
        frame["status"].to_list(),
    ]
    if "evidence" in frame.columns:
        heads.append("evidence")
        columns.append(frame["evidence"].to_list())
    for k in advice.knobs if advice.hints() else ():
        heads.append(f"{k} hint")
        columns.append(frame[f"{k}_hint"].to_list())
    units += [""] * (len(heads) - len(units))
    return Grid(tuple(heads), tuple(zip(*columns, strict=True)), tuple(units))


def _triples(frame: pl.DataFrame, name: str) -> list[tuple[float, float, float] | None]:
    rows = frame.select(name, f"{name}_low", f"{name}_high").rows()
    return [None if None in row else row for row in rows]


def advice_facts(advice: Advice) -> dict[str, Any]:
    """Everything but the jobs, as data."""
    return {
        "rule": advice.rule,
        "constraints": list(advice.limits),
        "knobs": list(advice.knobs),
        "objectives": list(advice.objectives),
        "counts": advice.counts(),
        "evidence": advice.evidence(),
        "hints": advice.hints(),
        "impossible": advice.impossible,
        "doubted": dict(advice.doubted),
        "over_limit": _span(advice.over_limit),
        "more_energy": _span(advice.more_energy),
        "wider": [
            {
                "slowdown_percent": round(100 * (w.factor - 1), 9),
                "advised": w.advised,
                "totals": {q: change_facts(t) for q, t in w.totals.items()},
                "over_limit": _span(w.over_limit),
                "more_energy": _span(w.more_energy),
            }
            for w in advice.wider
        ],
        "advised_settings_ran": _ran(advice),
        "statistic": "means over draws; power_w is mean energy over mean runtime",
        "totals": {q: change_facts(t) for q, t in advice.totals.items()},
        "notes": [{"message": n.message, "count": n.count} for n in advice.table.notes],
    }


def _span(missed: tuple[float, float, float] | None) -> dict[str, float] | None:
    return None if missed is None else dict(zip(("mean", "low", "high"), missed, strict=True))


def change_facts(change: Change) -> dict[str, Any]:
    """A change of a total, as data."""
    mean, low, high = change.change
    return {
        "before": change.before,
        "after": change.after,
        "change": mean,
        "interval": [low, high],
        "e_value": dict(zip(("mean", "limit"), e_value(change.change), strict=True)),
    }


def advice_rows(advice: Advice) -> list[dict[str, Any]]:
    """One mapping per job, as the table has it."""
    return advice.table.frame.rows(named=True)


def explain_backtest(result: Backtest) -> Explained:
    """What would have changed, from what that was learnt, and how right it was."""
    when = format_moment(result.edge_s, "%Y-%m-%d %H:%M UTC")
    learnt = f"{result.learnt:,} jobs that ended before {when}"
    left = f" ({result.unfinished} still running then are left out)" if result.unfinished else ""
    sections = [
        Section(
            "predicted",
            (
                *unheld_words(result.accuracy),
                *_far_off_words(result),
                *_sums(result.advice, result.advice.counts()),
                _predicted(result.advice),
            ),
        ),
        Section("learnt", (f"{learnt}{left}; advised: the {len(result.advice):,} after it.",)),
        Section(
            "checked",
            (*(accuracy_words(q, a) for q, a in result.accuracy.items()),),
            None,
            calibration_chart(result.accuracy),
        ),
        Section("by user", ("Largest predicted energy first.",), _user_grid(result)),
        *_by_group(result.advice),
    ]
    if result.true is not None:
        said = "; ".join(_true(q, t) for q, t in result.true.items() if q in CHECKED)
        sections.insert(
            3, Section("truth", (f"Known here, because the trace is generated: {said}.",))
        )
    facts = {
        "learnt": result.learnt,
        "unfinished": result.unfinished,
        "edge_s": result.edge_s,
        "accuracy": accuracy_facts(result.accuracy),
        **advice_facts(result.advice),
        "far_off": dict(result.far_off),
        "by_user": result.by_user.rows(named=True),
        "true": None
        if result.true is None
        else {q: change_facts(t) for q, t in result.true.items()},
    }
    return sections, facts


def _far_off_words(result: Backtest) -> list[str]:
    """Which totals are left out since those of what ran are forecast far off."""
    return [
        f"The total of {plain_name(q)} is left out: forecasts of the settings that ran add up to "
        f"{ratio:.3g} times what was measured. Do not rely on what the advice saves."
        for q, ratio in result.far_off.items()
    ]


UNMEASURED = "These changes are predictions: the advised settings never ran."
MEASURED = (
    "These changes are what other runs of the same applications took at the advised settings; "
    "these jobs themselves did not run there."
)
FIGURES = "Figures are means; power is mean energy over mean runtime."
CHECKED = ("runtime_s", "energy_j")


def _true(name: str, total: Change) -> str:
    return f"{plain_name(name)} {signed(total.change[0])}"


def _user_grid(result: Backtest, most: int = 10) -> Grid:
    frame = result.by_user.head(most)
    heads = ["user", "jobs", "changed"]
    units = ["", "", ""]
    for q in CHECKED:
        if f"{q}_change" in frame.columns:
            heads.append(f"Δ {plain_name(q)}")
            units.append("%")
    names = ["user", "jobs", "changed", *(f"{q}_change" for q in CHECKED)]
    kept = [n for n in names if n in frame.columns]
    return Grid(tuple(heads), tuple(frame.select(kept).rows()), tuple(units))
