"""``rheostat front``: what one job would cost at each setting, and which one to take."""

from __future__ import annotations

from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import option


@asks("front", o.table, o.front_drawn)
def front(
    file: o.File,
    job: Annotated[str, option("The job's id.")] = "",
    where: Annotated[
        list[str] | None,
        option("Instead of --job: column=value, the newest job of a log; these make runs alike."),
    ] = None,
    knob: o.Knobs = None,
    rule: o.RuleText = "knee",
    within: o.Within = None,
    model: o.Saved = None,
    trial: o.TrialPlan = None,
    kind: o.Kind = "auto",
    seed: o.Seed = 0,
    known: o.Known = None,
) -> None:
    """Forecast one job at every setting and take one: the front, the choice and the reasons.

    Without --model the forecast learns from the jobs in FILE that had ended when this one was
    submitted; such a log is first asked whether it can tell what a setting does (exit code 3 if
    not), and --kind names a model to be used nevertheless.  In a table of measured runs (no
    submission times) a setting that was run shows its measurement, and the model fills only the
    settings that were not; if all are of one application, none has to be named.
    """
