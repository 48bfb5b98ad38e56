"""Options of commands that simulate a batch system."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli.options.declared import argument, option

Trace = Annotated[Path, argument("A job log: SWF, sacct, parquet, ...")]
MachineSize = Annotated[str, option("Processors, or a TOML file; the trace's header by default.")]
Estimates = Annotated[
    str,
    option(
        "What planning believes of run times: user, perfect, last2, boost, forest, "
        "xgboost, lightgbm, or the file of a saved model."
    ),
]
Semantics = Annotated[
    str, option("textbook, or cqsim: waiting jobs planned with their true run time.")
]
Ties = Annotated[str, option("One scheduling pass per event, or per time stamp (batch).")]
Overdue = Annotated[
    str,
    option(
        "When a job that outlived its estimate is expected to end: in the past as "
        "estimated, now, or later, its estimate raised step by step; the same for all "
        "policies of a table.  [default: past; in compare, with learned estimates and "
        "beside agent:ours, extend]",
        metavar="past|now|extend",
    ),
]

Guard = Annotated[
    str,
    option(
        "Keep the longest wait of every policy near so many times that of FCFS with "
        "EASY: jobs go first before theirs is longer.  A single policy: NAME+1.5x.",
        metavar="1.5x",
    ),
]
