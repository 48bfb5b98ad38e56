"""`rheostat site refit`: fit anew, and replace the model in use if the new one is not worse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import option
from rheostat.cli.site.site_options import DryRun, Log


@asks("site.refit", log="jobs")
def refit(
    log: Log,
    model: Annotated[Path, option("The model in use, which is replaced.", metavar="FILE")],
    test_period: Annotated[
        str, option("The newest jobs that models are judged on.", metavar="TIME")
    ] = "7d",
    kind: o.Kind = "auto",
    dry_run: DryRun = False,
    seed: o.Seed = 0,
    json: o.Json = False,
) -> None:
    """Fit anew; the new model replaces the saved one if it is not worse on the newest jobs.

    It is judged on jobs of the newest --test-period that have ended, after learning from those that
    had ended before; then it learns from all. It replaces the model in use where its score is in no
    quantity higher by more than one standard error of the difference or 5 %. The model before it
    stays beside it as FILE.previous.
    """
