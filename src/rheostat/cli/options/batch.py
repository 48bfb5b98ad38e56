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


def planned(
    estimates: Estimates = "user",
    semantics: Annotated[
        str, option("textbook, or cqsim: waiting jobs planned with their true run time.")
    ] = "textbook",
    ties: Annotated[
        str, option("One scheduling pass per event, or per time stamp (batch).")
    ] = "event",
    overdue: Annotated[
        str,
        option(
            "When a job that outlived its estimate is expected to end: in the past as "
            "estimated, now, or later, its estimate raised step by step; the same for all "
            "policies of a table.  [default: past; in compare, with learned estimates and "
            "beside agent:ours, extend]",
            metavar="past|now|extend",
        ),
    ] = "",
) -> None:
    """What planning believes of run times, and when it is done."""
