"""A trace of requests served under several orders: latencies, and who waits over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheostat.core.report import Chart, Grid, Report, Section
from rheostat.core.units import unit_of
from rheostat.explanation.number_words import share

Array = NDArray[np.float64]
SHARES = np.concatenate([np.linspace(0.01, 0.95, 48), np.linspace(0.955, 0.995, 9)])
MOMENTS = 150
SPREAD = (
    "Figures are of the requests as they came, 90 % intervals of runs in which they come with "
    "other gaps between them: where one burst decides, a figure lies outside its interval."
)


def serving_report(
    facts: Mapping[str, Any],
    gains: Mapping[str, Mapping[str, tuple[float, float, float]]],
    said: Sequence[str],
) -> Report:
    """What each order makes of the requests.

    Parameters
    ----------
    facts
        ``policies``: order to figure to number.
    gains
        Order to quantity to its relative change from first come, first served: as the requests
        came, and its interval.
    said
        Whether an order can help.
    """
    figures = facts["policies"]
    names = tuple(next(iter(figures.values())))
    units = ("", *("share" if n.endswith("_share") else unit_of(n) for n in names))
    rows = tuple((name, *values.values()) for name, values in figures.items())
    sections = [Section("answer", tuple(said))]
    if gains:
        quantities = tuple(next(iter(gains.values())))
        beside = tuple((name, *own.values()) for name, own in gains.items())
        change = Grid(("order", *quantities), beside, ("", *("%" for _ in quantities)))
        sections.append(Section("Beside first come, first served", (SPREAD,), change))
    return Report(
        "", [*sections, Section("Each order", (), Grid(("order", *names), rows, units))], facts
    )


def calibration_report(
    facts: Mapping[str, Any], times: Mapping[str, tuple[Array, Array, Array]]
) -> Report:
    """How far a calibrated server is from the recorded one.

    Parameters
    ----------
    facts
        ``errors``: name to errors by what was measured; ``notes``; ``requests`` and ``learned``.
    times
        ``recorded`` and ``calibrated`` to the moments of submission, first and last token (s),
        each (n,).
    """
    kinds = tuple(facts["median_error"])
    rows = tuple((name, *off.values()) for name, off in facts["errors"].items())
    off = ", ".join(f"{share(v, 1)} of {kind}" for kind, v in facts["median_error"].items())
    said = (f"The calibrated server is off by a median of {off}.",
            f"Errors relative to what was recorded; learned from the first {facts['learned']} of "
            f"{facts['requests']} requests, errors of the others.", *facts["notes"])  # fmt: skip
    grid = Grid(("error", *kinds), rows, ("", *("share" for _ in kinds)))
    first = Section("How far off", said, grid)
    return Report("A server as recorded and as calibrated", [first, *over_time(times)], facts)


def candidates_section(rows: Sequence[Mapping[str, Any]], most: int) -> Section:
    """What each configuration and order makes of a trace: a table of some, a picture of all.

    Parameters
    ----------
    rows
        Of a ``setting`` and figures, the best first.
    most
        How many the table shows.
    """
    more = (f"The table shows {most} of {len(rows)} candidates, the best first; a pipe, --json and "
            "--html all.",) if len(rows) > most else ()  # fmt: skip
    drawn = [{"name": order, "x": [r["ttft_p99_s"] for r in rows if r["order"] == order],
              "y": [r["energy_per_token_j"] for r in rows if r["order"] == order]}
             for order in dict.fromkeys(r["order"] for r in rows)]  # fmt: skip
    chart = Chart("scatter", tuple(drawn), ("first tokens of 99 % within", "energy per token"),
                  log=True, units=("s", "J"))  # fmt: skip
    return Section("Candidates on the trace", more, candidates_grid(rows[:most]), chart)


def candidates_grid(rows: Sequence[Mapping[str, Any]]) -> Grid:
    """A row a candidate, settings first."""
    keys = [k for k in rows[0] if k not in ("setting", "excess")]
    cells = tuple((*r["setting"].values(), *(r[k] for k in keys)) for r in rows)
    return Grid((*rows[0]["setting"], *keys), cells)


def over_time(times: Mapping[str, tuple[Array, Array, Array]]) -> list[Section]:
    """First tokens, answers, and who waits: charts of each server or order.

    Parameters
    ----------
    times
        Name to the moments of submission, first and last token (s), each (n,).
    """
    first = Chart("line", tuple(_within(n, s, t) for n, (s, t, _) in times.items()),
                  ("share of requests", "first token within"), units=("share", "s"))  # fmt: skip
    latency = Chart("line", tuple(_within(n, s, t) for n, (s, _, t) in times.items()),
                    ("share of requests", "latency at most"), units=("share", "s"))  # fmt: skip
    waiting = Chart("line", tuple(_waiting(n, *t) for n, t in times.items()),
                    ("time", "requests without a first token"), units=("s", ""))  # fmt: skip
    return [Section("First tokens", (), None, first), Section("Latency", (), None, latency),
            Section("Who waits", (), None, waiting)]  # fmt: skip


def _within(name: str, submit: Array, moment: Array) -> dict[str, Any]:
    """Within what time how many of the requests have come so far."""
    return {"name": name, "line": True, "x": SHARES.tolist(),
            "y": np.quantile(moment - submit, SHARES).tolist()}  # fmt: skip


def _waiting(name: str, submit: Array, first: Array, end: Array) -> dict[str, Any]:
    at = np.linspace(submit.min(), end.max(), MOMENTS)
    come, begun = (np.searchsorted(np.sort(t), at, side="right") for t in (submit, first))
    return {"name": name, "line": True, "x": (at - at[0]).tolist(), "y": (come - begun).tolist()}
