"""What translating and refactoring by a language model have in common."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rheostat.measurement.code.case import RungOptions
from rheostat.measurement.code.parsing.compare_output import Tolerance
from rheostat.measurement.code.sandboxed.sandbox import sandbox
from rheostat.measurement.code.verdict import RUNGS
from rheostat.prediction.language_model.conversation import Sampling
from rheostat.questions.code.code_search import SearchSettings
from rheostat.questions.code.programs import asked_rungs
from rheostat.questions.parse import Names
from rheostat.recipes.lassi import LassiOptions

__all__ = ["LassiOptions", "Sampling", "settings_of", "transcript_in"]


def transcript_in(folder: Path, given: Path | None) -> Path:
    """Where questions and answers are kept."""
    return given or folder / "transcript.jsonl"


def settings_of(
    about: Mapping[str, Any], budget: int, threads: int, seed: int | None,
    tolerance: Tolerance, rungs: tuple[Names, Names], *, one_run: bool, unsafe: bool,
) -> SearchSettings:  # fmt: skip
    """How candidates of a model are run."""
    options = RungOptions(timing_threads=threads, most_pairs=6 * RungOptions.pairs)
    if one_run:
        options = RungOptions(timing_threads=threads, pairs=1)
    return SearchSettings(
        budget, tolerance=tolerance, options=options,
        rungs=asked_rungs(rungs[0], "--rungs") or RUNGS,
        required=asked_rungs(rungs[1], "--require"),
        confined_by=sandbox("none" if unsafe else "", image="/"), seed=seed,
        translates=bool(about["to"]), about=dict(about),
    )  # fmt: skip
