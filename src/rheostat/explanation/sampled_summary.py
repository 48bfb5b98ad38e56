"""What samples of power say, as a report: rows are devices that were watched, no jobs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rheostat.core.report import Grid, Section
from rheostat.core.units import format_moment
from rheostat.explanation.narrate import Narrative
from rheostat.explanation.number_words import duration, number_words

HEADS = {"device": ("device", ""), "gpu_model": ("model", ""), "samples": ("samples", "count"),
         "runtime_s": ("watched", "s"), "energy_j": ("energy", "J"), "power_w": ("mean", "W"),
         "power_max_w": ("highest", "W"), "utilisation_mean": ("in use", "share")}  # fmt: skip
NO_JOBS = (
    "Samples do not say which job ran when: energy of jobs comes from a log of them with these "
    "readings beside it (rheostat site power, from Prometheus), or from the scheduler's own record."
)


def sampled_report(facts: Mapping[str, Any]) -> Narrative:
    """How long each device was watched, its energy and its power."""
    devices = facts["devices"]
    shown = {k: v for k, v in HEADS.items() if any(_known(d.get(k)) for d in devices)}
    rows = tuple(tuple(_cell(d.get(k)) for k in shown) for d in devices)
    grid = Grid(tuple(h for h, _ in shown.values()), rows, tuple(u for _, u in shown.values()))
    said = _sampled(devices, facts["together"])
    sections = [Section("sampled", said, grid), Section("jobs", (NO_JOBS,))]
    return Narrative(facts["file"].rpartition("/")[2], sections, facts, ())


def _sampled(devices: Sequence[Mapping[str, Any]], together: str | None) -> tuple[str, ...]:
    """When they were watched, and their energy, together where they add up."""
    count, samples = len(devices), sum(d["samples"] for d in devices)
    longest = max(d["runtime_s"] for d in devices)
    starts = [d["start_s"] for d in devices if _known(d.get("start_s"))]
    ends = [d["end_s"] for d in devices if _known(d.get("end_s"))]
    when = f" from {format_moment(min(starts))} to {format_moment(max(ends))} (UTC)" if ends else ""
    said = [f"{count:,} device{'' if count == 1 else 's'} watched{when}: {samples:,} samples in "
            f"{duration(longest)}."]  # fmt: skip
    known = [d["energy_j"] for d in devices if _known(d.get("energy_j"))]
    if len(known) < count:
        said.append(f"Energy: known of {len(known):,} of {count:,}, the others have gaps.")
    elif together:
        said.append(f"{together[0].upper()}{together[1:]}, idle time included.")
    elif count == 1:
        said.append(f"Energy: {number_words(known[0], 'J')}, idle time included.")
    else:
        said.append("One may be a part of another, as the cores of a package: no sum is given.")
    return tuple(said)


def _known(value: object) -> bool:
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def _cell(value: Any) -> Any:
    return value if _known(value) else None
