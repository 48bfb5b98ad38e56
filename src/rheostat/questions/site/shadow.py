"""`site_shadow`: what installed advice would have changed, and what a trial of it measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.decision.submission.randomised import effect
from rheostat.decision.submission.shadow import advice_rows, expected_loss
from rheostat.errors import DataError
from rheostat.measurement.job_logs.job_store import OPEN
from rheostat.questions import inputs, listener
from rheostat.questions.listener import question
from rheostat.questions.site.install import SPENT, opened_advice
from rheostat.questions.site.shadow_answer import KIND, KIND_COLUMNS, SiteShadowAnswer, TrialOutcome

ARM = "trial_arm"
ARMS = ("advised", "asked")
ENDS = ("", "_low", "_high")
WHO = ("user", "app", "partition")
MONITORED = "monitoring"


@question
def site_shadow(jobs: inputs.Jobs, advice: pl.DataFrame | Path | str) -> SiteShadowAnswer:
    """Say what advice would have changed for the jobs that came after it; what a trial measured.

    Each job is looked up as Slurm's hooks look it up. What would have been saved is a forecast by
    the model; where chance gave some jobs the advice (``trial_arm``), what it saved is measured.

    Parameters
    ----------
    jobs : JobTable or path
        A log, as the store of `ingest`.
    advice : DataFrame or path
        What ``rheostat decide --out`` wrote before these jobs came.

    Returns
    -------
    SiteShadowAnswer
        With ``by_group``, ``kinds`` and ``trial``.

    Raises
    ------
    DataError
        No such table, or no job has ended that came after the advice.

    Examples
    --------
    >>> import rheostat as rh
    >>> log = rh.table({"app": ["cfd"] * 4, "user": ["ann"] * 4, "nodes": [4] * 4,
    ...     "runtime_s": [10.0] * 4, "energy_j": [100.0] * 4})
    >>> advice = pl.DataFrame({"app": ["cfd"], "nodes_requested": [4], "nodes": [2],
    ...     "status": ["advised"], "energy_j_change": [-0.3], "energy_j_change_low": [-0.4],
    ...     "energy_j_change_high": [-0.1]})
    >>> answer = rh.site.shadow(log, advice)
    >>> answer.total["saved"], answer.total["saved_low"], answer.total["saved_high"]
    (120.0, 40.0, 160.0)
    """
    table = opened_advice(advice)
    log = inputs.opened(jobs)
    log.require("app", "nodes", "runtime_s")
    frame = _ended_after(log, table)
    quantity = _quantity(frame, table)
    frame = _with_advice(frame, table, quantity)
    as_asked = frame.filter(pl.col(ARM).ne_missing("advised"), pl.col("amount").is_not_null())
    groups: dict[str, pl.DataFrame] = {
        n: _sums(as_asked, [n]) for n in ("user", "app") if n in frame.columns
    }
    drawn = frame.filter(pl.col(ARM).is_in(ARMS))
    return SiteShadowAnswer(
        quantity=quantity,
        jobs=len(frame),
        total=_sums(as_asked, []).row(0, named=True),
        by_group=groups,
        trial=_trial(drawn, quantity),
        kinds=_kinds(drawn),
    )


def _ended_after(log: JobTable, table: pl.DataFrame) -> pl.DataFrame:
    """Runs that have ended, of jobs that the advice cannot have learned from."""
    frame = log.frame.filter(pl.col("runtime_s") > 0, pl.col("app").is_not_null())
    if "state" in frame.columns:
        frame = frame.filter(~pl.col("state").is_in(OPEN).fill_null(value=False))
    timed = "submit_s" in frame.columns and "submit_s" in table.columns
    newest = table["submit_s"].max() if timed else None
    if newest is None:
        listener.note("submit_s: not known of both; jobs that the advice learned from count, too")
    else:
        frame = frame.filter(pl.col("submit_s") > newest)
    if not len(frame):
        when = "" if newest is None else " that came after the newest job that the advice knows"
        raise DataError("site shadow", [f"no job has ended{when}: ask again when some have"])
    return frame


def _quantity(frame: pl.DataFrame, table: pl.DataFrame) -> str:
    """What is saved: the first of energy, node-hours and time that log and advice both have."""
    measured = "energy_j" in frame.columns and frame["energy_j"].is_not_null().any()
    forecast = [q for q in SPENT if {f"{q}_change{e}" for e in ENDS} <= set(table.columns)]
    known = [q for q in forecast if q != "energy_j" or measured]
    if not known:
        wanted = ", ".join(f"{SPENT[0]}_change{e}" for e in ENDS)
        problem = f"expected {wanted}, or the same of {' or '.join(SPENT[1:])}, of what the log has"
        raise DataError("advice", [f"{problem}; got {', '.join(table.columns)[:300]}"])
    return known[0]


def _with_advice(frame: pl.DataFrame, table: pl.DataFrame, quantity: str) -> pl.DataFrame:
    """Jobs with what they asked for, what they took, and what they would have been told."""
    own = pl.col("nodes").cast(pl.Int64)
    asked = pl.coalesce("nodes_requested", own) if "nodes_requested" in frame.columns else own
    arm = pl.col(ARM) if ARM in frame.columns else pl.lit(None, pl.String)
    columns = [c for c in (*WHO, "nodes", "nodes_alloc", "runtime_s") if c in frame.columns]
    frame = frame.select(
        *columns,
        asked.cast(pl.Int64).alias("nodes_requested"),
        arm.cast(pl.String).alias(ARM),
        _amount(frame, quantity).alias("amount"),
    )
    frame = frame.with_columns(advice_rows(frame, table).cast(pl.UInt32).alias("row"))
    said = [f"{q}_change{e}" for q in dict.fromkeys((quantity, "runtime_s")) for e in ENDS]
    known = table.select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("row"),
        pl.col("nodes").alias("nodes_advised"),
        pl.col("status").alias("said"),
        *(pl.col(c) if c in table.columns else pl.lit(None, pl.Float64).alias(c) for c in said),
    ).with_columns(pl.col(f"{quantity}_change{e}").alias(f"change{e}") for e in ENDS)
    joined = frame.join(known, on="row", how="left", maintain_order="left")
    change = (pl.col("said") == "advised") & (pl.col("nodes_advised") != pl.col("nodes_requested"))
    ends = (joined[f"change{e}"].fill_null(np.nan).to_numpy() for e in ENDS)
    return joined.with_columns(
        change.fill_null(value=False).alias("would_change"),
        pl.Series("loss", expected_loss(*ends)).fill_nan(None),
    )


def _amount(frame: pl.DataFrame, quantity: str) -> pl.Expr:
    """What a job took; the joules of a node say nothing of jobs that shared it."""
    if quantity == "node_hours":
        names = [c for c in ("nodes_alloc", "nodes") if c in frame.columns]
        return pl.coalesce(names) * pl.col("runtime_s") / 3600.0
    amount = pl.col(quantity).cast(pl.Float64)
    if quantity != "energy_j" or "shared" not in frame.columns:
        return amount
    shared = pl.col("shared").fill_null(value=False)
    if "energy_source" in frame.columns:
        shared &= pl.col("energy_source").ne_missing(MONITORED)
    if count := frame.select((shared & amount.is_not_null()).sum()).item():
        listener.note(
            f"energy_j of {count:,} jobs that shared a node is that of the node: left out"
        )
    return pl.when(~shared).then(amount)


def _sums(frame: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """What jobs took as asked, and the forecast of what advice would have saved; ends added up."""
    amount = pl.col("amount")
    sums = [
        pl.len().alias("jobs"),
        pl.col("would_change").sum(),
        amount.sum().alias("took"),
        _summed(-amount * pl.col("change")).alias("saved"),
        _summed(-amount * pl.col("change_high")).alias("saved_low"),
        _summed(-amount * pl.col("change_low")).alias("saved_high"),
        _summed(amount * pl.col("loss")).alias("expected_loss"),
        _summed(pl.col("runtime_s") * pl.col("runtime_s_change")).alias("slower_s"),
    ]
    if not by:
        return frame.select(sums)
    return frame.group_by(by).agg(sums).sort("saved", *by, descending=[True, *(False for _ in by)])


def _summed(value: pl.Expr) -> pl.Expr:
    """The sum over jobs that advice would have changed; null where none has a forecast."""
    here = value.filter("would_change")
    unknown = (here.len() > 0) & (here.count() == 0)
    return pl.when(~unknown).then(here.sum())


def _trial(drawn: pl.DataFrame, quantity: str) -> tuple[TrialOutcome, ...]:
    """What chance showed of the quantity and of run time, beside the forecast for the same jobs."""
    made = []
    for name in dict.fromkeys((quantity, "runtime_s")):
        values = drawn["amount" if name == quantity else "runtime_s"]
        measured = effect(*_arms(drawn, values))
        if measured is not None:
            made.append(TrialOutcome(name, measured, _forecast(drawn, name, quantity)))
    return tuple(made)


def _arms(drawn: pl.DataFrame, values: pl.Series) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    who = [c for c in ("user", *KIND) if c in drawn.columns]
    kinds = drawn.select(who).unique(maintain_order=True).with_row_index("kind")
    kind = drawn.join(kinds, on=who, how="left", nulls_equal=True, maintain_order="left")["kind"]
    amounts = values.cast(pl.Float64).fill_null(np.nan).to_numpy()
    return amounts, (drawn[ARM] == "advised").to_numpy(), kind.to_numpy().astype(np.int64)


def _forecast(drawn: pl.DataFrame, name: str, quantity: str) -> tuple[float, float, float]:
    """The change that was forecast for the jobs that chance kept as asked."""
    kept = drawn.filter(pl.col(ARM) == "asked")
    said, amount = ("change", "amount") if name == quantity else ("runtime_s_change", "runtime_s")
    mean, low, high = (_weighed(kept[amount], kept[f"{said}{end}"]) for end in ENDS)
    return mean, low, high


def _weighed(amount: pl.Series, change: pl.Series) -> float:
    """Change of a sum, from changes of its parts; NaN where none is known."""
    known = amount.filter(change.is_not_null())
    total = float(known.sum())
    return float((amount * change).sum()) / total if total else float("nan")


def _kinds(drawn: pl.DataFrame) -> pl.DataFrame:
    """What chance showed of each application at each number of nodes, the dearest advice first."""
    rows = []
    for key, part in drawn.group_by(KIND, maintain_order=True):
        e = effect(*_arms(part, part["amount"]))
        if e is not None:
            more = e.after - e.before
            rows.append((*key, e.advised, e.asked, e.change, e.low, e.high, more))
    frame = pl.DataFrame(rows, schema=KIND_COLUMNS, orient="row")
    return frame.sort("more", *KIND, descending=[True, False, False])
