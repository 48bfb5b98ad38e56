"""`rheostat site drift|refit`: how right a saved model was by week; a new one if it is better."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import option
from rheostat.cli.site.site_options import DryRun, Log


@asks("site.drift", o.shown, log="jobs")
def drift(
    log: Log,
    model: Annotated[Path, option("What rheostat fit --out wrote.", metavar="FILE")],
) -> None:
    """Say by week how right a saved model was, and raise an alarm with its reason.

    An alarm is raised where the newest week's 90 % intervals held clearly less than 85 %, beyond
    what chance between users' applications explains, or where half of its forecasts were off by 1.5
    times what was usual before. Jobs that the model learned from flatter it. FILE.previous, the
    last model that newest jobs confirmed, is asked as well: what changed since is an alarm until it
    holds again or rheostat site refit --accept says that it is right.
    """


@asks("site.refit", o.shown, log="jobs")
def refit(
    log: Log,
    model: Annotated[Path, option("The model in use, which is replaced.", metavar="FILE")],
    test_period: Annotated[
        str, option("The newest jobs that models are judged on.", metavar="TIME")
    ] = "7d",
    kind: o.Kind = "auto",
    accept: Annotated[
        bool, option("The newest jobs are recorded rightly, whatever changed.", "--accept")
    ] = False,
    dry_run: DryRun = False,
    seed: o.Seed = 0,
) -> None:
    """Fit anew; the new model replaces the saved one if it is not worse on the newest jobs.

    It is judged on jobs of the newest --test-period that have ended, after learning from those that
    had ended before; then it learns from all. It replaces the model in use where its score is in no
    quantity higher by more than one standard error of the difference or 5 %. The last model that
    newest jobs confirmed stays beside it as FILE.previous: while they contradict it there is an
    alarm, until --accept, and a change of more than ten times is not learned before.
    """
