"""Words for models: which columns matter, and which method did better."""

from __future__ import annotations

from typing import Any

from rheostat.core.report import Section

Told = tuple[list[Section], dict[str, Any]]


def explain_model_fact(thing: Any) -> Told | None:
    """Sections for importances or a comparison; None for anything else."""
    return None
