"""Tables that answers leave behind as files."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from rheostat.core.storage.files import replacing
from rheostat.core.texts.formulas import without_formulas
from rheostat.questions import listener


def write_csv(frame: pl.DataFrame, out: Path | str) -> None:
    """Write a table whole or not at all, names of others as text, and say where it is."""
    with replacing(Path(out)) as draft:
        without_formulas(frame).write_csv(draft)
    listener.line(f"wrote {out}")
