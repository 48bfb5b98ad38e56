"""What several simulated runs of one trace say: a table for terminals, a page with pictures.

Everything is made from the facts that ``rheostat simulate --json`` prints, and from the binned
series behind the pictures; nothing here reads a trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rheostat.core.report import Grid, Report, Section
from rheostat.explanation.number_words import listed, share
from rheostat.explanation.schedules import schedule_charts as charts
from rheostat.explanation.schedules.schedule_answer import answer_section

SLOWDOWN = (
    "Slowdown, bounded: (wait + run time) / run time, with at least 10 s below the line, and never "
    "under 1."
)
WORDS = (
    SLOWDOWN,
    "Used: processor-seconds of the jobs over those of the machine, from the first submission to "
    "the last end.",
    "Starved: waited over a day and over ten times the run time planned with.",
)
"""What the heads of the table mean, where they stand."""
HEADS = ("policy", "wait", "p95 wait", "max wait", "slowdown", "p95 slowdown", "used", "starved")
UNITS = ("", "s", "s", "s", "", "", "share", "rate")
LOGGED = "as logged"
SAME = "same jobs"
MOST = 5
Facts = Mapping[str, Any]


def policy_grid(facts: Facts) -> Grid:
    """A row per policy, and one of what the log records: the headline metrics."""
    rows = (logged_rows(facts.get("logged")) | facts["policies"]).items()
    return Grid(HEADS, tuple(tuple(_row(n, p)) for n, p in rows), UNITS)


def logged_rows(logged: Facts | None) -> dict[str, Facts]:
    """What the log records; where not of all jobs, then each policy on those it records."""
    if not logged:
        return {}
    same = logged["same_jobs"].items()
    return {LOGGED: logged} | {f"{n}, {SAME}": p for n, p in same}


def _row(name: str, p: Facts) -> list[Any]:
    wait, slow = p["wait_s"], p["bounded_slowdown"]
    spreads = [wait["mean"], wait["p95"], wait["max"], slow["mean"], slow["p95"]]
    return [name, *spreads, p["utilisation"], p["starvation_rate"]]


def paired_grid(facts: Facts) -> Grid | None:
    """Changes of the mean wait and slowdown from the first policy, with intervals; None: alone."""
    rows = []
    for name, p in facts["policies"].items():
        pair = p["paired"]
        if pair is not None:
            wait, slow = (_change(pair[q]) for q in ("wait_s", "bounded_slowdown"))
            most = pair["wait_s"]["max"]
            rows.append((name, wait, slow, pair["jobs_sooner"], pair["jobs_later"], most))
    if not rows:
        return None
    heads = ("policy", "wait change", "slowdown change", "sooner", "later", "max wait change")
    return Grid(heads, tuple(rows), ("", "%", "%", "share", "share", "+s"))


def _change(pair: Facts) -> tuple[float, float, float]:
    """(relative change, low, high); NaN where the base has none to compare with."""
    nan = float("nan")
    return (pair.get("change", nan), pair.get("change_low", nan), pair.get("change_high", nan))


POWER = (
    ("energy", "J", "energy_j"), ("peak", "W", "peak_w"), ("cost", "", "cost"),
    ("carbon", "g", "carbon_g"), ("above cap", "s", "cap_exceeded_s"),
    ("lost", "s", "lost_proc_s"), ("restarts", "", "restarts"),
)  # fmt: skip


def power_grid(facts: Facts) -> Grid | None:
    """Energy of the site under each policy; None where no watts are known.

    Columns that no policy has a number for, or that are zero for all, are left out.
    """
    accounts = {n: p["power"] for n, p in facts["policies"].items()}
    if not all(accounts.values()):
        return None
    kept = [c for c in POWER if any(p[c[2]] > 0 for p in accounts.values())]
    if not kept:
        return None
    rows = tuple((n, *(p[key] for *_, key in kept)) for n, p in accounts.items())
    return Grid(("policy", *(c[0] for c in kept)), rows, ("", *(c[1] for c in kept)))


def flat_grid(facts: Facts) -> Grid:
    """All tables side by side, for pipes."""
    main, pairs, power = policy_grid(facts), paired_grid(facts), power_grid(facts)
    if power is not None:
        drawn = {q[0]: q[1:] for q in power.rows}
        none = (None,) * (len(power.heads) - 1)
        rows = tuple((*r, *drawn.get(r[0], none)) for r in main.rows)
        main = Grid((*main.heads, *power.heads[1:]), rows, (*main.units, *power.units[1:]))
    if pairs is None:
        return main
    changes = {r[0]: r[1:] for r in pairs.rows}
    nothing = ((float("nan"),) * 3, (float("nan"),) * 3, None, None, None)
    rows = tuple((*r, *changes.get(r[0], nothing)) for r in main.rows)
    return Grid((*main.heads, *pairs.heads[1:]), rows, (*main.units, *pairs.units[1:]))


def schedule_text(facts: Facts, lines: Sequence[str] = ()) -> Report:
    """For a terminal: the answer, metrics, then paired differences."""
    sections = [
        *answer_section(facts),
        Section("simulate", (*_said(facts), *lines), policy_grid(facts)),
    ]
    power = power_grid(facts)
    if power is not None:
        sections.append(Section("power", (), power))
    pairs = paired_grid(facts)
    if pairs is not None:
        sections.append(Section("paired", (_paired_words(facts),), pairs))
    return Report("", sections)


def _said(facts: Facts) -> tuple[str, ...]:
    policies = facts["policies"]
    jobs = next(iter(policies.values()))["jobs"]
    procs = facts["machine"]["procs"]
    name = facts["trace"].rpartition("/")[2]
    logged = facts.get("logged")
    part = f" As logged, and rows of the {SAME}: {logged['jobs']:,} whose wait is recorded." if (
        logged and logged["same_jobs"]
    ) else ""  # fmt: skip
    return (f"{name}: {jobs:,} jobs on {procs:,} processors.{part}", _clairvoyance(facts))


def _clairvoyance(facts: Facts) -> str:
    """Which plans know the future, and of how many jobs where that is not all of them."""
    seen = [n for n, p in facts["policies"].items() if p["clairvoyant"]]
    if not seen:
        return "Planned with what was known at submission only."
    how = facts.get("planning", {})
    if how.get("estimates") == "user" and how.get("semantics") == "textbook":
        unasked = sum(n["rows"] for n in facts["notes"] if "no requested run time" in n["message"])
        if not unasked:
            return (
                f"Clairvoyant: {', '.join(seen)} planned with measured power, or with true run "
                "times (of alternatives, or of jobs that wait)."
            )
        return (
            f"Clairvoyant for {unasked:,} jobs that asked for no run time: "
            "they are planned with the true one."
        )
    return f"Clairvoyant: {', '.join(seen)} planned with run times no site knows."


def _paired_words(facts: Facts) -> str:
    pair = next(p["paired"] for p in facts["policies"].values() if p["paired"])
    days = pair["block_s"] / 86_400
    return (
        f"Job by job against {pair['against']}; {share(pair['level'])} intervals from "
        f"{pair['blocks']} blocks of {days:.2g} days."
    )


def schedule_report(facts: Facts, shown: Facts, lines: Sequence[str] = ()) -> Report:
    """The page: ``facts`` of the runs, and what `simulate.report_series` found to draw."""
    sections = [
        *answer_section(facts),
        Section("Policies", (*_said(facts), *lines, *WORDS), policy_grid(facts)),
        *_paired(facts),
        *_power(facts),
        *charts.over_time(shown),
        *charts.gantt(shown),
        *_groups(facts),
        *_users(facts),
        *charts.differences(shown),
        *_losers(facts),
        *_notes(facts),
    ]
    name = facts["trace"].rpartition("/")[2]
    return Report(f"{name}: {listed(list(facts['policies']))}", sections, facts)


def _paired(facts: Facts) -> list[Section]:
    grid = paired_grid(facts)
    return [Section("Paired differences", (_paired_words(facts),), grid)] if grid else []


def _power(facts: Facts) -> list[Section]:
    grid = power_grid(facts)
    said = "From the first submission to the last end; idle processors count."
    return [Section("Energy", (said,), grid)] if grid else []


def _groups(facts: Facts) -> list[Section]:
    size = "Mean wait by share of the machine asked for."
    length = "Mean wait by true run time."
    return [
        Section("Wait by size", (size,), None, charts.columns(facts, "by_size")),
        Section("Wait by length", (length,), None, charts.columns(facts, "by_length")),
    ]


def _users(facts: Facts) -> list[Section]:
    first = next(iter(facts["policies"].values()))["by_user"]
    if not first:
        return [Section("Wait by user", ("The trace names no users.",))]
    most = min(len(first), charts.users_shown(facts))
    said = [f"The {most} users with most processor-time of {len(first)}."]
    for name, p in facts["policies"].items():
        said.append(f"{name}: fairness between users (Jain) {p['fairness_jain']:.2f}.")
    return [Section("Wait by user", tuple(said), None, charts.columns(facts, "by_user"))]


def _losers(facts: Facts) -> list[Section]:
    sections = []
    for name, p in facts["policies"].items():
        gains = p["gains"]
        if not gains:
            continue
        said = [
            f"{share(gains['jobs_gain'])} of the jobs start sooner, "
            f"{share(gains['jobs_lose'])} later."
        ]
        if "users" in gains:
            said.append(
                f"Of {gains['users']} users {share(gains['users_gain'])} wait less in the mean, "
                f"{share(gains['users_lose'])} more (by over a minute)."
            )
        title = f"Who gains and who loses: {name} instead of {gains['against']}"
        sections.append(Section(title, tuple(said), _moved(gains)))
    return sections


def _moved(gains: Facts) -> Grid:
    rows = []
    for kind, label in (
        ("biggest_losers", "job"),
        ("biggest_gainers", "job"),
        ("biggest_losing_users", "user"),
        ("biggest_gaining_users", "user"),
    ):
        for row in gains.get(kind, ())[:MOST]:
            who = f"{label} {row['job_id' if label == 'job' else 'user']}"
            size = row["procs"] if label == "job" else None
            jobs = row.get("jobs", 1)
            times = row["base_wait_s"], row["wait_s"]
            rows.append((who, jobs, size, *times, _later(row["change_s"])))
    heads = ("who", "jobs", "processors", "wait before", "wait now", "")
    return Grid(heads, tuple(rows), ("", "", "", "s", "s", ""))


def _later(change_s: float) -> str:
    from rheostat.explanation.number_words import duration

    return f"{duration(abs(change_s))} {'later' if change_s > 0 else 'sooner'}"


def _notes(facts: Facts) -> list[Section]:
    said = tuple(f"{n['text']}." for n in facts["notes"] if n["text"])
    return [Section("What was odd about the trace", said)] if said else []
