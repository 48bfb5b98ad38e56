"""``rheostat search``: measure one's own code at a few well-chosen settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.options.declared import argument, option


@asks("search", o.front_drawn)
def search(
    space: Annotated[Path, argument("TOML: a [knobs] table, see --help below.", "SPACE.toml")],
    measure: Annotated[
        str, option("Command to run; {nodes}, outside quotes, is the value of the knob nodes.")
    ],
    budget: Annotated[int, option("Settings to measure in all.", min=1, max=1_000_000)] = 8,
    journal: Annotated[
        Path | None, option("Results on disk as they come; the same call continues.")
    ] = None,
    repeat: Annotated[int, option("Runs of each setting.", min=1, max=10_000)] = 1,
    warm_up: Annotated[
        int, option("Runs of each setting before those that count.", min=0, max=10_000)
    ] = 0,
    check: Annotated[
        str, option("REGEX in the output of a right run, or 'cmd: COMMAND' that reads it.")
    ] = "",
    method: o.Method = "auto",
    prior: o.Prior = None,
    known: Annotated[
        Path | None, option("Runs of this code at hand: told first, not counted.", "--from")
    ] = None,
    power_model: Annotated[
        Path | None, option("Power of runs that are not metered: a model saved by rheostat fit.")
    ] = None,
    timeout: Annotated[str, option("A run that takes longer counts as failed.")] = "1d",
    rule: o.RuleText = "knee",
    within: o.Within = None,
    seed: o.Seed = 0,
    column: o.Columns = None,
) -> None:
    """Measure a few settings of your own code, well chosen, and take one.

    SPACE.toml holds [knobs] with lines like nodes = [1, 2, 4] or cap_w = {low = 100, high = 300};
    [[forbidden]] tables, as solver = "cg" and precision = "half", name what does not run together.
    Runs are timed here. What the command prints counts by its name, as a JSON object on a line:
    {"runtime_s": 12.5, "energy_j": 4100}; a bare number does not. RAPL, NVML or Zeus are read for
    missing watts, where they can, and the report says where each figure came from. Without a meter,
    --objectives runtime_s,node_hours needs no energy, and --power-model predicts it. A run that
    fails, or whose output --check calls wrong, is not asked again.
    """
