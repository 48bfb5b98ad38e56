"""Speed under caps, told: what was tried, what to keep, what to try next, and every setting."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rheostat.core.report import Chart, Grid, Report, Section
from rheostat.decision.caps import CapAdvice
from rheostat.explanation.choices.front import shortened
from rheostat.explanation.number_words import MINUS, setting_words

BASELINES = {
    "line": "A line between the same runs",
    "bilinear": "Bilinear interpolation of the corners",
    "gp_low": "The lower bound of a Gaussian process of these runs alone",
}
SHORT = {"line": "by line", "bilinear": "bilinear", "gp_low": "GP, at worst"}


def caps_facts(advice: CapAdvice) -> dict[str, Any]:
    """What is expected of an application under caps, as data.

    Parameters
    ----------
    advice : CapAdvice
        From `rheostat.choose_caps`.

    Returns
    -------
    dict
        As ``rheostat caps --json`` prints it: watts, shares of speed lost, probabilities.
    """
    known, loss, risk = advice.known, advice.loss, advice.risk

    def named(row: int) -> dict[str, float]:
        return {k: float(w) for k, w in zip(known.knobs, known.values[row], strict=True)}

    facts: dict[str, Any] = {
        "app": advice.app,
        "ready": advice.ready,
        "knobs": list(known.knobs),
        "known_applications": len(known.apps),
        "tried": int(np.isfinite(advice.row).sum()),
        "loss": loss,
        "risk": risk,
        "next": named(advice.next_setting) if advice.next_setting >= 0 else None,
        "notes": list(advice.notes),
        "settings": [],
    }
    if not advice.ready:
        return facts
    kept = advice.kept
    facts["keep"] = {
        "caps": named(kept.setting), "saved_w": kept.saved_w, "probability": kept.probability,
        "tried": bool(np.isfinite(advice.row[kept.setting])),
    }  # fmt: skip
    facts["needed_probability"] = advice.needed if np.isfinite(advice.needed) else None
    facts["baselines"] = [
        {"name": b.name, "keep": named(b.kept), "saved_w": float(known.saved_w[b.kept])}
        for b in advice.baselines
    ]
    speed, low = advice.completion.speed(), advice.completion.bound(risk)
    likely = advice.probability()
    facts["settings"] = [
        {
            "caps": named(i),
            "saved_w": float(known.saved_w[i]),
            "loss": 1.0 - float(speed[i]),
            "loss_high": 1.0 - float(low[i]),
            "probability": float(likely[i]),
            "tried": bool(np.isfinite(advice.row[i])),
            "baselines": {b.name: 1.0 - float(b.speed[i]) for b in advice.baselines},
        }
        for i in range(len(speed))
    ]
    return facts


def caps_report(facts: Mapping[str, Any]) -> Report:
    """The facts of ``rheostat caps`` as a report."""
    sections = [Section("Caps", _sentences(facts))]
    if facts["settings"]:
        sections.append(Section("Loss against watts", (PICTURE,), None, _chart(facts)))
        rows = _by_watts(facts)
        kept = [i for i, s in enumerate(rows) if s["caps"] == facts["keep"]["caps"]]
        rank = np.argsort([abs(s["loss_high"] - facts["loss"]) for s in rows], kind="stable")
        sections += shortened(Section("Settings", grid=_table(facts)), kept, rank.tolist())
    return Report(f"Caps for {facts['app']}", sections, facts)


PICTURE = (
    "Every setting, relative to the highest caps; a bar reaches to the loss that is exceeded only "
    "with the risk allowed."
)


def _chart(facts: Mapping[str, Any]) -> Chart:
    """Loss of speed over watts saved: measured and predicted settings, the bound, the choice."""
    settings = facts["settings"]
    kept = [s for s in settings if s["caps"] == facts["keep"]["caps"]]
    rest = [s for s in settings if s not in kept]
    series = [
        _dots("predicted", [s for s in rest if not s["tried"]], "mute", filled=False),
        _dots("measured", [s for s in rest if s["tried"]], "one"),
        _dots("keep", kept, "three", symbol="diamond", size=12.0, named=True),
    ]
    ends = [min(s["saved_w"] for s in settings), max(s["saved_w"] for s in settings)]
    bound = {"name": "bound", "x": ends, "y": [facts["loss"]] * 2, "line": True}
    drawn = (*(s for s in series if s["x"]), bound)
    return Chart("scatter", drawn, ("caps saved", "loss of speed"), units=("W", "share"))


def _dots(
    name: str,
    settings: Sequence[Mapping[str, Any]],
    colour: str,
    *,
    named: bool = False,
    **style: Any,
) -> dict[str, Any]:
    words = [setting_words(s["caps"]) for s in settings]
    y, high = ([s[key] for s in settings] for key in ("loss", "loss_high"))
    hover = [
        f"<b>{w}</b><br>{s['saved_w']:g} W saved<br>{_percent(s['loss'])} slower, "
        f"at worst {_percent(s['loss_high'])}"
        for w, s in zip(words, settings, strict=True)
    ]
    ends = {"low": y, "high": high} if y != high else {}
    x, text = [s["saved_w"] for s in settings], words if named else []
    look = {"name": name, "colour": colour, "hover": hover, "text": text}
    return {"x": x, "y": y, **look, **ends, **style}


def caps_grid(facts: Mapping[str, Any]) -> Grid:
    """One row per setting, for a pipe."""
    plain = [b["name"] for b in facts["baselines"]]
    heads = (*facts["knobs"], "saved_w", "loss", "loss_high", "probability", "tried",
             *(f"loss_{name}" for name in plain))  # fmt: skip
    return Grid(
        heads,
        tuple(
            (*(s["caps"][k] for k in facts["knobs"]), s["saved_w"], s["loss"], s["loss_high"],
             s["probability"], s["tried"], *(s["baselines"][name] for name in plain))
            for s in facts["settings"]
        ),
    )  # fmt: skip


def _sentences(facts: Mapping[str, Any]) -> tuple[str, ...]:
    if not facts["ready"]:
        return (
            f"First run {facts['app']} at {setting_words(facts['next'])}: everything is relative "
            "to it.",
        )
    return (
        _kept(facts),
        f"{facts['tried']} settings measured, {facts['known_applications']} other applications "
        "known.",
        *_only_tried(facts),
        *(f"{BASELINES[b['name']]} would keep {setting_words(b['keep'])} and save "
          f"{b['saved_w']:g} W."
          for b in facts["baselines"]),
        _next(facts),
    )  # fmt: skip


def _next(facts: Mapping[str, Any]) -> str:
    if facts["next"]:
        return f"Measure next: {setting_words(facts['next'])}."
    if all(s["tried"] for s in facts["settings"]):
        return "Every setting has been measured."
    return (
        "No other setting is worth a run: each saves no more, or lies below one measured that lost "
        "too much."
    )


def _kept(facts: Mapping[str, Any]) -> str:
    kept, bound = facts["keep"], f"{100 * facts['loss']:g} %"
    caps = setting_words(kept["caps"])
    if not kept["saved_w"]:
        return f"Keep {caps}: nothing lower loses at most {bound} surely enough."
    said = f"Keep {caps}: {kept['saved_w']:g} W of caps saved"
    if kept["tried"]:
        return f"{said}; the run there was at most {bound} slower than at the highest caps."
    return (
        f"{said}, at most {bound} slower than at the highest caps with probability "
        f"{facts['risk']:g} or more (the model says {kept['probability']:.3f})."
    )


def _only_tried(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Why no setting is kept that was not tried, or none that seems sure enough, if so."""
    if (needed := facts["needed_probability"]) is not None:
        return _stricter(facts, needed)
    enough = math.ceil(1.0 / (1.0 - facts["risk"]) - 1e-9) - 1
    said = "Only measured settings are kept:"
    if facts["known_applications"] < enough:
        apps = facts["known_applications"]
        return (f"{said} to show a probability of {facts['risk']:g} takes {enough} known "
                f"applications; {apps} show {apps / (apps + 1):.2f} at most. What is lost at worst "
                "is the model's word alone.",)  # fmt: skip
    return (f"{said} for known applications left out, the bound broke more often than by the "
            "probabilities of the model.",)  # fmt: skip


def _stricter(facts: Mapping[str, Any], needed: float) -> tuple[str, ...]:
    """Why a setting is not kept whose probability is that asked for, if there is one."""
    passed_over = any(
        not s["tried"] and facts["risk"] <= s["probability"] < needed
        and s["saved_w"] > facts["keep"]["saved_w"]
        for s in facts["settings"]
    )  # fmt: skip
    if not passed_over:
        return ()
    return (f"A setting not measured is kept from a probability of {needed:.3f} on: for known "
            f"applications left out, lower ones broke the bound more often than {facts['risk']:g} "
            "allows.",)  # fmt: skip


def _by_watts(facts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Settings, those that save most first."""
    return sorted(facts["settings"], key=lambda s: -s["saved_w"])


def _table(facts: Mapping[str, Any]) -> Grid:
    plain = [b["name"] for b in facts["baselines"]]
    return Grid(
        (*facts["knobs"], "saved (W)", "loss", "at worst", "within the bound", "measured",
         *(SHORT[name] for name in plain)),
        tuple(
            (*s["caps"].values(), s["saved_w"], s["loss"], s["loss_high"],
             round(s["probability"], 2), "yes" if s["tried"] else "",
             *(s["baselines"][name] for name in plain))
            for s in _by_watts(facts)
        ),
        (*("" for _ in facts["knobs"]), "", "rate", "rate", "", "", *("rate" for _ in plain)),
    )  # fmt: skip


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %".replace("-", MINUS)
