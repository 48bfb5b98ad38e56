"""What ``llm plan`` prints: the front, the choice, the simple rules, or candidates on a trace."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from rheostat.core.front import Front
    from rheostat.core.jobs import JobTable
    from rheostat.core.report import Section
    from rheostat.prediction.serving_law import ServingLaw
    from rheostat.questions.llm.serving_model import CacheSize

WORDS = {"energy_per_token_j": "energy", "cost_per_mtoken": "cost", "carbon_g_per_mtoken": "carbon"}


@dataclass(frozen=True)
class ServedTrace:
    """A trace to serve: its file, the limit on first tokens, most replicas, and the cache."""

    path: Path
    ttft: str
    most: int
    cache: CacheSize


def show_for_trace(
    law: ServingLaw, front: Front, allowed: np.ndarray, trace: ServedTrace, *, json: bool,
    html: Path | None, figure: Path | None,
) -> None:  # fmt: skip
    """Candidates on the trace: the best first, with what it is beside first come, first served."""
    from rheostat.cli.output import put_json, tell, tell_notes, working, write_files
    from rheostat.core.units import parse_quantity
    from rheostat.explanation.serving_report import candidates_report
    from rheostat.measurement.serving.traffic import read_traffic
    from rheostat.questions.llm.serving_trace import (
        TraceLimits,
        best_for_trace,
        plan_for_trace,
        simple_rules_on_trace,
    )

    requests = read_traffic(trace.path)
    tell_notes(requests.notes)
    counts = [n for n in (2**k for k in range(12)) if n <= trace.most]
    limits = TraceLimits(parse_quantity(trace.ttft, "s"))
    with working(f"serving {len(requests):,} requests with every candidate"):
        rows = plan_for_trace(law, front, requests, limits, counts, allowed, trace.cache)
    longest = requests.numpy("prompt_tokens") + requests.numpy("output_tokens")
    tell_notes([*front.outcome.notes, trace.cache.words(float(longest.mean()))])
    best = best_for_trace(rows)
    simple = {
        name: {**row, "energy_ratio": row["energy_per_token_j"] / best["energy_per_token_j"]}
        for name, row in simple_rules_on_trace(front, rows).items()
    }
    said = _on_the_trace(best, simple)
    facts = {"requests": len(requests), "candidates": rows, "choice": best, "feasible": True,
             "simple_rules": simple}  # fmt: skip
    if html is not None or figure is not None:
        write_files(candidates_report(facts, said), html, figure)
    if json:
        put_json("rheostat.llm-plan/1", facts)
        return
    keys = [k for k in best if k not in ("setting", "excess")]
    print("\t".join([*best["setting"], *keys]))
    for row in rows:
        cells = [row[k] for k in keys]
        shown = (f"{c:.4g}" if isinstance(c, float) else str(c) for c in cells)
        print("\t".join([*map(str, row["setting"].values()), *shown]))
    for line in said:
        tell(line)


def _on_the_trace(best: Mapping[str, Any], simple: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The choice, and what the simple rules take and cost more."""
    late = {
        name: "" if row["excess"] == 0 else ", misses the limit" for name, row in simple.items()
    }
    return [f"least energy: {_replicas(best)}", *(
        f"{name}: {_replicas(row)}: {100 * (row['energy_ratio'] - 1):+.1f} % energy per token"
        f"{late[name]}" for name, row in simple.items())]  # fmt: skip


def _replicas(row: Mapping[str, Any]) -> str:
    setting = ", ".join(f"{k}={v}" for k, v in row["setting"].items())
    return f"{row['replicas']} x {setting}, {row['order']}"


def show(
    front: Front,
    choice: Any,
    simple: dict[str, int],
    aim: str = "energy_per_token_j",
    *,
    more: Callable[[], tuple[list[Section], dict[str, Any]]],
    json: bool,
    html: Path | None,
    figure: Path | None,
    stop: Any = None,
    line: str = "",
) -> None:
    """The front, the choice and what simple rules take; where nothing holds, the nearest."""
    from rheostat.cli.output import put_json, put_report, tell, tell_notes, write_files
    from rheostat.core.report import Section
    from rheostat.explanation.choices.choice import explain_choice
    from rheostat.explanation.choices.front import explain_front, front_table
    from rheostat.explanation.narrate import Narrative

    row = None if choice is None else choice.index
    sections, facts = explain_front(front, row, None)
    facts |= {"feasible": stop is None, "choice": None, "simple_rules": {}}
    facts["engine_line"] = line or None
    facts["notes"] = [n.message for n in front.outcome.notes]
    if choice is not None:
        reasons, chosen = explain_choice(choice, front)
        sections, facts = [*sections, *reasons], facts | chosen
        energy, value = front.mean("energy_per_token_j"), front.mean(aim)
        facts["minimised"] = aim
        facts["simple_rules"] = {
            name: {"setting": front.setting(i), "energy_ratio": float(energy[i] / energy[row]),
                   "ratio": float(value[i] / value[row])}
            for name, i in simple.items()
        }  # fmt: skip
        sections.append(Section("What simple rules would take", tuple(_regrets(facts, aim))))
    elif stop is not None and stop.nearest >= 0:
        facts["nearest"] = front.setting(stop.nearest)
    report = Narrative("", sections, facts)
    if json:
        put_json("rheostat.llm-plan/1", facts)
    else:
        put_report(report, front_table(front, row, None))
        if choice is not None and not sys.stdout.isatty():
            for text in (sections[1].sentences[0], *_regrets(facts, aim)):
                tell(text)
    if line:
        tell(f"to start it: {line}")
    tell_notes(front.outcome.notes)
    if html is not None or figure is not None:
        added, checked = more() if html is not None else ([], {})
        facts |= {"accuracy": checked} if checked else {}
        write_files(Narrative("", [*sections, *added], facts), html, figure)


def _regrets(facts: Mapping[str, Any], aim: str) -> list[str]:
    """What each simple rule takes, and how much more that costs."""
    return [
        f"{name}: " + ", ".join(f"{k}={v}" for k, v in rule["setting"].items())
        + f": {100 * (rule['ratio'] - 1):+.1f} % {WORDS[aim]} per token"
        for name, rule in facts["simple_rules"].items()
    ]  # fmt: skip


def about_the_law(
    law: ServingLaw, runs: JobTable, prior: dict[str, dict[str, float]] | None
) -> tuple[list[Section], dict[str, Any]]:
    """Sections on the law and on how far it is from runs that it did not learn from."""
    from rheostat.cli.output import working
    from rheostat.core.report import Section
    from rheostat.prediction.serving_law.equation import as_text
    from rheostat.questions.llm.serving_accuracy import calibration_sections

    with working("predicting runs by laws that did not see them"):
        sections, facts = calibration_sections(runs, prior)
    return [Section("The law", listing=as_text(law)), *sections], facts
