"""Named repairs: what a caller may do to a table that a reader will not do by itself.

Each returns a new table with a note on what was changed, so that a result can be traced back.
"""

from __future__ import annotations

import polars as pl

from rheostat.core.jobs import Column, JobTable, Moment, Note
from rheostat.core.vocabulary import column

TOTALS = {"cores": "cores_per_node", "gpus": "gpus_per_node", "tasks": "tasks_per_node"}


def complete_only(jobs: JobTable) -> JobTable:
    """Leave out censored rows: runs that failed, were cancelled or cut off.

    >>> from rheostat.core.vocabulary import table
    >>> jobs = complete_only(table({"runtime_s": [5.0, 9.0], "censored": [False, True]}))
    >>> len(jobs), jobs.notes[0].message
    (1, 'complete_only: left out 1 censored rows of 2')

    What remains is biased towards runs that fit their limit: shorter ones.  Rows whose end is not
    known (null) stay.
    """
    jobs.require("censored")
    kept = jobs.rows(~pl.col("censored").fill_null(value=False))
    gone = len(jobs) - len(kept)
    return kept.noted(Note(f"complete_only: left out {gone} censored rows of {len(jobs)}"))


def per_node_power(jobs: JobTable) -> JobTable:
    """Add power_per_node_w: power_w over the nodes received (asked for, where that is missing).

    >>> from rheostat.core.vocabulary import table
    >>> per_node_power(table({"nodes": [4], "power_w": [2800.0]})).numpy("power_per_node_w")
    array([700.])
    """
    by = "nodes_alloc" if "nodes_alloc" in jobs.schema else "nodes"
    jobs.require("power_w", by)
    share = pl.when(pl.col(by) > 0).then(pl.col("power_w") / pl.col(by))
    added = jobs.with_columns([column("power_per_node_w")], power_per_node_w=share)
    return added.noted(Note(f"per_node_power: power_per_node_w is power_w over {by}"))


def per_node_requests(jobs: JobTable) -> JobTable:
    """Replace cores, gpus and tasks of the whole job by amounts per node.

    Totals go out of date when the node count is turned, and betray it when it is not: a model that
    splits on cores has learnt nothing about nodes.  Amounts per node stay true.
    """
    jobs.require("nodes")
    have = {k: v for k, v in TOTALS.items() if k in jobs.schema}
    per = {
        v: pl.when(pl.col("nodes") > 0).then(pl.col(k) / pl.col("nodes")) for k, v in have.items()
    }
    columns = [Column(v, "", Moment.SUBMIT, f"{k} asked for, per node") for k, v in have.items()]
    changed = jobs.with_columns(columns, **per)
    kept = changed.select([c for c in changed.columns if c not in have])
    return kept.noted(Note(f"per_node_requests: {', '.join(have)} became amounts per node"))


def known_runtime(jobs: JobTable) -> JobTable:
    """Leave out rows whose runtime is not known or zero: a logarithm wants more than nothing."""
    jobs.require("runtime_s")
    kept = jobs.rows((pl.col("runtime_s") > 0).fill_null(value=False))
    gone = len(jobs) - len(kept)
    return kept.noted(Note(f"known_runtime: left out {gone} rows of {len(jobs)} without runtime"))
