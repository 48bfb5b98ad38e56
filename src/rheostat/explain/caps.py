"""Speed under caps, told: what was tried, what to keep, what to try next, and every setting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rheostat.core.report import Grid, Report, Section


def caps_report(facts: Mapping[str, Any]) -> Report:
    """The facts of ``rheostat caps`` as a report."""
    sections = [Section("Caps", _sentences(facts))]
    if facts["settings"]:
        sections.append(Section("Settings", grid=_table(facts)))
    return Report(f"Caps for {facts['app']}", sections, facts)


def caps_grid(facts: Mapping[str, Any]) -> Grid:
    """One row per setting, for a pipe."""
    heads = (*facts["knobs"], "saved_w", "loss", "loss_high", "probability", "tried")
    return Grid(
        heads,
        tuple(
            (*(s["caps"][k] for k in facts["knobs"]), s["saved_w"], s["loss"], s["loss_high"],
             s["probability"], s["tried"])
            for s in facts["settings"]
        ),
    )  # fmt: skip


def _sentences(facts: Mapping[str, Any]) -> tuple[str, ...]:
    if not facts["ready"]:
        return (
            f"First run {facts['app']} at {_caps(facts['next'])}: everything is relative to it.",
        )
    kept, bound = facts["keep"], 100 * facts["loss"]
    return (
        f"{facts['tried']} settings tried, {facts['known_applications']} other applications known.",
        f"Keep {_caps(kept['caps'])}: {kept['saved_w']:g} W of caps saved, and with probability "
        f"{kept['probability']:.2f} at most {bound:g} % slower than at the highest caps.",
        f"Most worth trying next: {_caps(facts['next'])}."
        if facts["next"]
        else "Every setting has been tried.",
    )


def _table(facts: Mapping[str, Any]) -> Grid:
    rows = sorted(facts["settings"], key=lambda s: -s["saved_w"])
    return Grid(
        ("caps, W", "saved, W", "slower", "at worst", "within the bound", "tried"),
        tuple(
            (" + ".join(f"{w:g}" for w in s["caps"].values()), s["saved_w"],
             f"{100 * s['loss']:.1f} %", f"{100 * s['loss_high']:.1f} %",
             f"{s['probability']:.2f}", "yes" if s["tried"] else "")
            for s in rows
        ),
    )  # fmt: skip


def _caps(caps: Mapping[str, float]) -> str:
    return ", ".join(f"{k} = {v:g}" for k, v in caps.items())
