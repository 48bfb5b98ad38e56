"""A folder with the text of variants of a program and the evidence for each."""

from __future__ import annotations

import json
import math
import secrets
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from rheostat.core.storage.files import read_json, replace_file, text_digest
from rheostat.errors import DataError
from rheostat.explanation.programs.flags_apart import ratio
from rheostat.measurement.code.costs.paired_times import FASTER, SLOWER
from rheostat.measurement.code.programs.program import CUDA, Program
from rheostat.measurement.code.verdict import ACCEPTED, NO_GAIN, Verdict
from rheostat.tradeoff.variants.variant import (
    Variant,
    VariantResult,
)

SCHEMA = "rheostat.code-search/1"
NOT_MEASURED = math.nan
LEAST_SAVED = 0.03
"""Share of the energy; a smaller one is within the noise of meters and of the model."""


@dataclass
class VariantStore:
    """A folder with the text of variants and their evidence.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    original : Program
        What is searched; a folder of another original is refused.
    """

    folder: Path
    original: Program
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.folder / "variants").mkdir(parents=True, exist_ok=True)
        path = self.folder / "search.json"
        mine = {"schema": SCHEMA, "original": text_digest(self.original.text), **self.settings}
        if path.exists():
            there = read_json(path)
            problems = [
                f"{k}: {there.get(k)!r:.80} there, {v!r:.80} now"
                for k, v in mine.items()
                if there.get(k) != v and v is not None
            ]
            if problems:
                hint = "name another folder, or move this one away"
                raise DataError(str(path), ["holds another search", *problems, hint])
            self.settings = there
        else:
            self.settings = mine | {"seed": _seed(mine.get("seed"))}
            replace_file(path, json.dumps(self.settings, indent=1))

    @property
    def seed(self) -> int:
        """That draws the hidden inputs."""
        return int(self.settings["seed"])

    def keep(self, variant: Variant) -> None:
        """Write a variant's text."""
        path = self._path(variant.identity)
        if not path.exists():
            kept = {"text": variant.text, "flags": list(variant.flags)}
            replace_file(path, json.dumps(kept | {"language": variant.language}))

    def program(self, identity: str) -> Program:
        """A variant as a program; what is no CUDA any more holds the other sources in CUDA."""
        kept = read_json(self._path(identity))
        old, text = self.original.sources[0], kept["text"]
        new = _file_name(old, kept["language"])
        changed = {new if n == old else n: t for n, t in self.original.files.items()
                   if n == old or not _is_within(n, kept["language"], text)}  # fmt: skip
        candidate = self.original.with_files(changed | {new: text}, kept["language"])
        return replace(candidate, flags=tuple(kept["flags"]), name=identity)

    def decided(self, identity: str, verdict: Verdict) -> None:
        """Write a variant's evidence."""
        path = self.folder / "variants" / f"{identity}.verdict.json"
        replace_file(path, json.dumps(_plain(verdict.facts()), indent=1))

    def verdict(self, identity: str) -> dict[str, Any] | None:
        """The evidence of a variant that was run."""
        path = self.folder / "variants" / f"{identity}.verdict.json"
        return dict(read_json(path)) if path.exists() else None

    def trial(self, identity: str) -> VariantResult:
        """What a proposer is told of a variant."""
        facts = self.verdict(identity)
        if facts is None:
            return VariantResult(accepted=False)
        figures = figures_of(facts)
        findings = [
            (int(f["line"]), str(f["message"]))
            for rung in facts["rungs"]
            for f in rung["findings"]
            if f["level"] == "error"
        ]
        accepted = facts["verdict"] == "accepted"
        row = {"figures": figures}
        return VariantResult(
            accepted, relative(row, "runtime_s"), figures["runtime_ratio_high"],
            relative(row, "energy_j"), facts["rejected_by"] or "", tuple(findings),
            no_gain=facts["verdict"] == NO_GAIN,
        )  # fmt: skip

    def best(self, objective: str) -> dict[str, Any] | None:
        """Of the variants that were accepted and gain, the figures of the one with the least."""
        kept = (read_json(p) for p in self.folder.glob("variants/*.verdict.json"))
        rows = [{"figures": figures_of(f)} for f in kept if f["verdict"] == ACCEPTED]
        return min((r for r in rows if gains(r, objective)), default=None,
                   key=lambda r: relative(r, objective))  # fmt: skip

    def _path(self, identity: str) -> Path:
        return self.folder / "variants" / f"{identity}.json"


def _file_name(name: str, language: str) -> str:
    """That of a translation: what is no CUDA any more is C++ by its name, and the reverse.

    >>> _file_name("add.cu", "openmp"), _file_name("add.c", "openmp"), _file_name("add.c", "cuda")
    ('add.cc', 'add.c', 'add.cu')
    """
    path = PurePosixPath(name)
    if (path.suffix in CUDA) == (language == "cuda"):
        return name
    return str(path.with_suffix(".cu" if language == "cuda" else ".cc"))


def _is_within(name: str, language: str, text: str) -> bool:
    """Whether a file of the original went into a translation: CUDA that it does not include.

    >>> _is_within("k.cu", "openmp", "int a;"), _is_within("k.cu", "openmp", '#include "k.cu"')
    (True, False)
    """
    in_cuda = PurePosixPath(name).suffix in CUDA and language != "cuda"
    return in_cuda and f'"{PurePosixPath(name).name}"' not in text


def _seed(given: Any) -> int:
    return secrets.randbelow(2**31) if given is None else int(given)


def _plain(value: Any) -> Any:
    """With None for numbers that JSON has not."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    return value


def figures_of(facts: dict[str, Any]) -> dict[str, Any]:
    """Runtime, energy and memory of a variant and of the original from its evidence.

    Parameters
    ----------
    facts : dict
        ``Verdict.facts()``.

    Returns
    -------
    dict
        runtime_s, energy_j, memory_byte of the variant and original_...; runtime_ratio with its
        interval and energy_ratio, from the same runs in turns; NaN where not measured; energy_kind
        is measured, modelled or "not measured", energy_basis what it is modelled from.
    """
    known = {
        r["rung"]: {k: v for k, v in r["numbers"].items() if v is not None} for r in facts["rungs"]
    }
    numbers: dict[str, Any] = {}
    for rung in ("work", "time", "energy"):
        numbers |= known.get(rung, {})
    time = known.get("time", {})
    names = ("runtime_s", "energy_j", "memory_byte")
    every = (*names, *(f"original_{n}" for n in names), "runtime_ratio", "energy_ratio")
    return {n: float(numbers.get(n, NOT_MEASURED)) for n in every} | {
        "runtime_ratio_low": float(time.get("low", NOT_MEASURED)),
        "runtime_ratio_high": float(time.get("high", NOT_MEASURED)),
        "time_change": str(time.get("change", "not measured")),
        "energy_kind": numbers.get("kind", "not measured"),
        "energy_basis": numbers.get("basis", ""),
    }


def relative(row: dict[str, Any], objective: str) -> float:
    """A figure of a variant over that of the original in the same paired runs."""
    return float(row["diff_lines"]) if objective == "diff_lines" else ratio(row, objective)


def gains(row: dict[str, Any], objective: str) -> bool:
    """Whether a variant is shown to be better than the original in an objective.

    Parameters
    ----------
    row : dict
        Of a search.
    objective : str
        runtime_s or energy_j.

    Returns
    -------
    bool
        Faster by more than the noise of runs in turns; thriftier by `LEAST_SAVED`, and not slower
        where the energy is only modelled.  What was not measured gains nothing.

    Examples
    --------
    >>> figures = {"runtime_ratio": 0.7, "time_change": "a change of 5 % cannot be told"}
    >>> gains({"figures": figures}, "runtime_s")
    False
    >>> gains({"figures": figures | {"time_change": "faster"}}, "runtime_s")
    True
    """
    change = row["figures"]["time_change"]
    if objective == "runtime_s":
        return bool(change == FASTER)
    measured = row["figures"]["energy_kind"] == "measured"
    return relative(row, objective) < 1 - LEAST_SAVED and (measured or change != SLOWER)


def is_less(row: dict[str, Any], best: dict[str, Any], objective: str) -> bool:
    """Whether a row beats another by more than its interval."""
    value, least = relative(row, objective), relative(best, objective)
    if math.isnan(least):
        return math.isfinite(value)
    high = row["figures"]["runtime_ratio_high"] if objective == "runtime_s" else math.nan
    return value < least and (math.isnan(high) or high < least)
