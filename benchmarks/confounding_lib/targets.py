"""What the rows of `benchmarks/confounding.py` must show, and what they do show.

Each target is looked at for every record of size and share of randomised jobs, over all strengths
of confounding together and at the strength where it does worst.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Row = Mapping[str, Any]
GOOD = ("memory", "script")
"""Records that tell the size of a problem well."""
SHARE = {0.05: 0.6, 0.02: 0.4}
"""Least share of the oracle's saving, by the share of jobs that was randomised."""


def targets(rows: Iterable[Row], method: str = "ours") -> list[dict[str, Any]]:
    """One row for each law, record of size and randomised share."""
    key = ("law", "proxy", "trial")
    own = sorted((r for r in rows if r["method"] == method), key=lambda r: [str(r[k]) for k in key])
    return [
        {"law": law, "proxy": proxy, "trial": trial, **_figures(list(group), proxy, trial)}
        for (law, proxy, trial), group in itertools.groupby(own, lambda r: tuple(r[k] for k in key))
    ]


def _figures(rows: list[Row], proxy: str, trial: float) -> dict[str, Any]:
    strengths = [[r for r in rows if (r["between"], r["within"]) == s]
                 for s in sorted({(r["between"], r["within"]) for r in rows})]  # fmt: skip
    measures: dict[str, tuple[Callable[[list[Row]], float | None], float | None, bool]] = {
        "covered": (_covered, 0.85, True),
        "broken_limits": (_broken, 0.10, False),
        "not_negative": (_not_negative, 0.95, True),
        "share_of_oracle": (_share, _least_share(proxy, trial), True),
        "held": (_held, 0.95, True),
        "worst_site": (_worst_site, None, False),
        "broken_slower": (_broken_slower, None, False),
        "covered_jobs": (_covered_jobs, None, True),
        "advised_jobs": (_advised, None, True),
    }
    found: dict[str, Any] = {
        "sites": len(rows), "sites_per_strength": min(map(len, strengths)),
        "claims": sum(r["claimed_saving"] is not None for r in rows),
    }  # fmt: skip
    for name, (measure, target, more) in measures.items():
        each = [v for v in map(measure, strengths) if v is not None]
        worst = (min if more else max)(each, default=None)
        found[name] = {"all": measure(rows), "worst": worst, "target": target}
    return found


def _least_share(proxy: str, trial: float) -> float | None:
    return SHARE.get(trial, 0.6 if proxy in GOOD else None)


def _claims(rows: list[Row]) -> list[Row]:
    return [r for r in rows if r["claimed_saving"] is not None]


def _covered(rows: list[Row]) -> float | None:
    claims = _claims(rows)
    return statistics.mean(bool(r["covered"]) for r in claims) if claims else None


def _covered_jobs(rows: list[Row]) -> float | None:
    """Of all advised jobs: the interval of the change in energy held at the advised setting."""
    claims = _claims(rows)
    moved = sum(r["claimed_share"] for r in claims)
    return sum(r["covered_jobs"] * r["claimed_share"] for r in claims) / moved if moved else None


def _advised(rows: list[Row]) -> float:
    return statistics.mean(r["claimed_share"] for r in rows)


def _broken(rows: list[Row]) -> float | None:
    """Of all advised jobs of all sites."""
    claims = _claims(rows)
    moved = sum(r["claimed_share"] for r in claims)
    return sum(r["broken_limits"] * r["claimed_share"] for r in claims) / moved if moved else None


def _held(rows: list[Row]) -> float | None:
    """Share of the sites where no more jobs broke their limit than was stated."""
    claims = _claims(rows)
    return statistics.mean(r["held"] for r in claims) if claims else None


def _worst_site(rows: list[Row]) -> float | None:
    return max((r["broken_limits"] for r in _claims(rows)), default=None)


def _broken_slower(rows: list[Row]) -> float | None:
    """Of the advised jobs forecast to take longer, on the site where most broke their limit."""
    return max((r["broken_slower"] for r in _claims(rows) if r["broken_slower"]), default=None)


def _not_negative(rows: list[Row]) -> float:
    return statistics.mean(r["true_saving"] >= 0 for r in rows)


def _share(rows: list[Row]) -> float:
    """Saved by jobs that hold their limit, of all that could be saved."""
    return sum(r["kept_saving"] for r in rows) / sum(r["oracle_saving"] for r in rows)


def table(found: list[dict[str, Any]]) -> list[str]:
    """Lines of a table: all strengths together (the worst strength)."""
    names = (
        "covered",
        "covered_jobs",
        "broken_limits",
        "worst_site",
        "broken_slower",
        "held",
        "not_negative",
        "share_of_oracle",
        "advised_jobs",
    )
    goal = {"covered": ">= .85", "broken_limits": "<= .10", "not_negative": ">= .95"}
    lines = ["| law | size recorded | trial | sites (at each strength) | claims | "
             + " | ".join(f"{n} {goal.get(n, '')}".strip() for n in names) + " | target |",
             "|" + "---|" * (len(names) + 6)]  # fmt: skip
    for r in found:
        cells = [f"{_text(r[n]['all'])} ({_text(r[n]['worst'])})" for n in names]
        head = f"{r['law']} | {r['proxy']} | {r['trial']:.0%} | {r['sites']}"
        head += f" ({r['sites_per_strength']})"
        lines.append(f"| {head} | {r['claims']} | {' | '.join(cells)} "
                     f"| {_text(r['share_of_oracle']['target'])} |")  # fmt: skip
    return lines


def _text(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
