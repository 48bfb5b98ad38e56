"""``rheostat decide``: a setting for every job of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import option, written


@asks("decide", o.table, o.drawn, quiet="out")
def decide(
    file: o.File,
    past: Annotated[Path | None, option("Learn from this log instead of from FILE.")] = None,
    trial: o.TrialPlan = None,
    model: o.Saved = None,
    knob: o.Knobs = None,
    objectives: o.AdviceObjectives = "",
    rule: o.RuleText = "",
    slowdown: o.Slowdown = None,
    within: o.Within = None,
    kind: o.Kind = "auto",
    out: Annotated[
        Path | None,
        written(
            "Write the advice: .csv, .tsv, .parquet or .json; a pipe is then left empty.",
            "--out",
            "-o",
        ),
    ] = None,
    seed: o.Seed = 0,
    known: o.Known = None,
) -> None:
    """Advise a setting for every job of FILE, with the predicted saving and its interval.

    Without --rule: least energy (without it node-hours) at no more than 10 % slowdown (--slowdown)
    against what each job asked for with 80 % confidence, as surely no more energy, and what is
    saved counts as far as that is sure to hold. Where a log cannot tell what a setting does, it is
    said what to record or to try (exit code 3); --kind names a model to be used nevertheless.
    Without --model or --past the forecast learns from the finished jobs of FILE itself.
    """
