"""The advice that is at hand: rows of `advice_lookup` as bytes, made in another process."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from json import dumps
from typing import Any

from rheostat.service.served import ServedFiles

Key = tuple[Any, ...]


@dataclass(frozen=True)
class AdviceTable:
    """Advice by kind of job, as documents.

    Parameters
    ----------
    version : str
        Of the files that it was made from.
    keys, common : tuple of str
        Columns of the full key, and of the one that leaves out who submits.
    full, shared : mapping
        Documents by key.
    facts : mapping
        What the page and the metrics say of model and log.
    """

    version: str = ""
    keys: tuple[str, ...] = ()
    common: tuple[str, ...] = ()
    full: Mapping[Key, bytes] = field(default_factory=dict)
    shared: Mapping[Key, bytes] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def find(self, settings: Mapping[str, Any], *, own: bool = False) -> bytes | None:
        """The document for a job of these settings; ``own`` only if its user ran such a job."""
        at = tuple(settings.get(k) for k in self.keys)
        if (here := self.full.get(at)) is not None or own:
            return here
        return self.shared.get(tuple(settings.get(k) for k in self.common))


def make_table(served: ServedFiles, version: str) -> AdviceTable:
    """Ask for all advice; runs in a process of its own."""
    from rheostat.errors import RheostatError
    from rheostat.questions.advice.lookup import advice_lookup, advice_words
    from rheostat.service.question_process import begin, log_of, model_of

    begin()
    log = log_of(served, version)
    model = model_of(served, version) if served.model else None
    facts = {**_log_facts(log), **_model_facts(served, model), **_drift_facts(served, log)}
    facts |= _power_facts(served, log)
    try:
        lookup = advice_lookup(log, model=model, knobs=list(served.knobs) or None)
    except RheostatError as error:
        return AdviceTable(version, facts={**facts, "no_advice": str(error)})
    common = tuple(k for k in lookup.keys if k not in ("user", "account"))
    full, shared = {}, {}
    for row in lookup.rows.iter_rows(named=True):
        words = advice_words(row, lookup.knobs)
        full[tuple(row[k] for k in lookup.keys)] = _document(row, words, lookup.knobs)
        shared[tuple(row[k] for k in common)] = _document(
            {k: v for k, v in row.items() if k not in ("user", "account", "job_id")},
            words, lookup.knobs,
        )  # fmt: skip
    short = [tuple(k.removesuffix("_requested") for k in keys) for keys in (lookup.keys, common)]
    facts |= {"kinds": len(full), "no_advice": None}
    return AdviceTable(version, short[0], short[1], full, shared, facts)


def _document(row: Mapping[str, Any], words: str, knobs: tuple[str, ...]) -> bytes:
    from rheostat.explanation.formats.json import plain

    advised = row["status"] == "advised"
    asked = {k: row[f"{k}_requested"] for k in knobs}
    made = {
        "status": row["status"],
        "words": words,
        "requested": asked,
        "advised": {k: row[k] for k in knobs} if advised else asked,
        "row": dict(row),
    }
    return dumps(plain(made), allow_nan=False, separators=(",", ":")).encode()


def _log_facts(log: Any) -> dict[str, Any]:
    """How many jobs the log has, of when."""
    facts: dict[str, Any] = {"jobs": len(log)}
    if "submit_s" in log.columns and len(log):
        facts |= {"first_s": log.frame["submit_s"].min(), "last_s": log.frame["submit_s"].max()}
    if "power_w" in log.columns:
        ended = log.frame.filter(log.frame["runtime_s"].is_not_null())
        facts["with_power"] = ended["power_w"].count() / max(len(ended), 1)
    return facts


def _model_facts(served: ServedFiles, model: Any) -> dict[str, Any]:
    """Which model answers, and when its file was written."""
    if model is None or served.model is None:
        return {"model": None}
    seen = served.model.stat()
    return {
        "model": {
            "class": type(model).__name__, "targets": list(getattr(model, "targets", ())),
            "file": served.model.name, "written_s": seen.st_mtime, "bytes": seen.st_size,
        }
    }  # fmt: skip


def _drift_facts(served: ServedFiles, log: Any) -> dict[str, Any]:
    """How right the model was by week, its alarms, and gauges of both."""
    from rheostat.errors import RheostatError
    from rheostat.questions.site.drift import site_drift

    if served.model is None:
        return {}
    try:
        drift = site_drift(log, served.model)
    except RheostatError as error:
        return {"drift": {"alarms": [], "weeks": [], "unknown": str(error)}}
    said = drift.to_dict()
    held = {week["quantity"]: week["coverage"] for week in said["weeks"]}  # the newest is the last
    shown = {name: said[name] for name in ("alarms", "weeks")}
    return {"drift": shown, "held": held, "alarms": len(drift.alarms)}


def _power_facts(served: ServedFiles, log: Any) -> dict[str, Any]:
    """Watts in the log's last hour, and the cap."""
    from rheostat.errors import RheostatError
    from rheostat.questions.site.drawn_power import site_power

    try:
        hours = site_power(log, machine=served.machine, days=1.0, bins=24).series
    except RheostatError:
        return {}
    drawn, expected = hours["power_w"][-1], hours["expected_w"][-1]
    watts = {"drawn": drawn if math.isnan(expected) else expected}
    if hours["cap_w"]:
        watts["cap"] = hours["cap_w"][-1]
    return {"power": {name: value for name, value in watts.items() if math.isfinite(value)}}
