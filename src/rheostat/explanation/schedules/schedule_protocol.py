"""What a comparison of policies over many traces says: ratios, gates, and claims if any."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rheostat.core.report import Chart, Grid, Report, Section
from rheostat.explanation.number_words import listed, share
from rheostat.explanation.schedules.schedule import LOGGED, SAME, SLOWDOWN, logged_rows

Facts = Mapping[str, Any]
FEW = 4


def protocol_grid(facts: Facts) -> Grid:
    """A row per policy: ratios to the best heuristic under EASY, and the longest wait."""
    rows = []
    for name, p in facts["policies"].items():
        parts = [_triple(p[k]) for k in PARTS]
        failed = ", ".join(p["failed"]) or "none"
        rows.append((name, *parts, p["max_wait_ratio"], failed))
    heads = ("policy", *PARTS.values(), "max wait x", "failed gates")
    return Grid(heads, tuple(rows), ("", "1", "1", "1", "", ""))


PARTS = {"whole": "all traces", "later": "later part", "unseen": "unseen"}


def _ratios(facts: Facts) -> Chart:
    """Each policy's ratio over all traces, their later parts and those it was not fitted on."""
    names = list(facts["policies"])
    series = []
    for part, words in PARTS.items():
        ratios = [facts["policies"][name][part] for name in names]
        ends = {
            ours: [_finite(None if f is None else f[theirs]) for f in ratios]
            for ours, theirs in (("y", "ratio"), ("low", "low"), ("high", "high"))
        }
        series.append({"name": words, "x": names, **ends})
    return Chart("bar", tuple(series), ("policy", "ratio to the best simple order"))


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _triple(part: Facts | None) -> tuple[float, float, float] | None:
    return None if part is None else (part["ratio"], part["low"], part["high"])


def trace_grid(facts: Facts) -> Grid:
    """A row per trace: what is logged, if anything is, and what EASY and the best orders reach."""
    logged = any(t["logged"] for t in facts["traces"].values())
    part = _partly_logged(facts)
    rows = []
    for name, t in facts["traces"].items():
        whole = t["whole"]
        was = [t["logged"] and t["logged"]["bounded_slowdown"]["mean"]] if logged else []
        if part:
            same = (t["logged"] or {"same_jobs": {}})["same_jobs"].get(facts["protocol"]["base"])
            was.append(same and same["bounded_slowdown"]["mean"])
        best = [whole["best"], whole["best_slowdown"]]
        held = [whole["best_within_limit"], whole["best_within_limit_slowdown"]]
        rows.append((name, t["jobs"], t["procs"], *was, whole["base_slowdown"], *best, *held))
    known = (LOGGED, *((f"EASY, {SAME}",) if part else ())) if logged else ()
    heads = ("trace", "jobs", "processors", *known, "EASY", "best order", "its slowdown",
             "best in limit", "its slowdown")  # fmt: skip
    return Grid(heads, tuple(rows))


def _partly_logged(facts: Facts) -> bool:
    """Whether the log of a trace records the waits of some of its jobs only."""
    return any(t["logged"] and t["logged"]["same_jobs"] for t in facts["traces"].values())


def _trace_words(facts: Facts) -> tuple[str, ...]:
    notes = [
        f"{n}: {t['logged']['jobs']:,} of {t['jobs']:,} jobs have a wait recorded; those alone are "
        f"in {LOGGED} and {SAME}."
        for n, t in facts["traces"].items()
        if t["logged"] and t["logged"]["same_jobs"]
    ]
    return ("Mean bounded slowdowns of whole traces.", SLOWDOWN, *notes)


def sweep_grid(facts: Facts) -> Grid:
    """A row per trace and policy: the headline metrics, for pipes and pages.

    What a log records of its own waits is the first row of its trace.
    """
    rows = []
    for trace, t in facts["traces"].items():
        for name, p in (logged_rows(t["logged"]) | t["policies"]).items():
            wait, slow = p["wait_s"], p["bounded_slowdown"]
            spreads = [wait["mean"], wait["p95"], wait["max"], slow["mean"], slow["p95"]]
            rows.append((trace, name, *spreads, p["utilisation"]))
    heads = ("trace", "policy", "wait", "p95 wait", "max wait", "slowdown", "p95 slowdown", "used")
    return Grid(heads, tuple(rows), ("", "", "s", "s", "s", "", "", "share"))


def protocol_report(facts: Facts, *, full: bool = False) -> Report:
    """Claims first, then ratios and the bar on each trace; ``full`` adds gates and every run."""
    rules = facts["protocol"]
    ratios = (
        "Mean bounded slowdown over that of the best simple order under EASY, chosen in hindsight "
        "for each trace; geometric mean over traces, below 1 is better.",
        f"{share(rules['level'])} intervals draw blocks of time and traces anew.",
        f"Max wait x: longest wait as a multiple of that under FCFS with EASY, on the worst trace; "
        f"limit {rules['max_wait_limit']:.3g}.",
    )
    sections = [
        Section("claims", short_claims(facts)),
        Section("ratios", ratios, protocol_grid(facts), _ratios(facts) if full else None),
        Section("traces", _trace_words(facts), trace_grid(facts)),
    ]
    if full:
        said = tuple(f"{name}: {words}." for name, words in rules["gates"].items())
        sections.insert(2, Section("gates", (*said, *claims(facts))))
        sections.append(Section("every run", (), sweep_grid(facts)))
    names = list(facts["policies"])
    who = listed(names) if len(names) < FEW else f"{len(names)} policies"
    traces = f"{len(facts['traces'])} trace{'s' * (len(facts['traces']) > 1)}"
    return Report(f"{who} on {traces}" if full else "", sections, facts)


def short_claims(facts: Facts) -> tuple[str, ...]:
    """The claims, and one line on the policies that have none."""
    policies = facts["policies"]
    said = [p["claim"] for p in policies.values() if p["claim"] is not None]
    silent = [name for name, p in policies.items() if p["claim"] is None]
    if silent:
        said.append(f"No claim for {listed(silent)}: failed gates are in the last column.")
    return (*said, *replayed_words(facts))


def replayed_words(facts: Facts) -> tuple[str, ...]:
    """What is left of each ratio where submissions move a little, if that was asked for."""
    said = []
    for name, p in facts["policies"].items():
        if "replayed" not in p:
            continue
        moved = p["replayed"]["whole"]
        one = list(moved["by_trace"].values())
        over = one[0] if len(one) == 1 else moved  # traces of which there is one have no interval
        chance = [t for t, of in moved["by_trace"].items() if not of["apart"]]
        words = (f"{name}: over each trace and {moved['number']} replays of it with submissions "
                 f"moved by up to {moved['moved_s']:g} s, {over['ratio']:.3f} "
                 f"[{over['low']:.3f}, {over['high']:.3f}] times the slowdown of the best simple "
                 "order")  # fmt: skip
        words += f"; on {listed(chance)} they differ by less than that does" if chance else ""
        said.append(f"{words}.")
    return tuple(said)


def claims(facts: Facts) -> tuple[str, ...]:
    """One line per policy: the claim, or which gate forbids it and what was found there."""
    said = []
    for name, p in facts["policies"].items():
        if p["claim"] is not None:
            said.append(p["claim"])
            continue
        failed = [f"{g['gate']} ({g['found']})" for g in p["gates"] if not g["passed"]]
        ratio = f"{p['whole']['ratio']:.3g} times the slowdown of the best simple order"
        said.append(f"{name}: {ratio}, no claim. Failed gates: {'; '.join(failed)}.")
    return (*said, *replayed_words(facts))
