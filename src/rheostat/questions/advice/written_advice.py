"""Advice as a file: the kind of file is told by its name's ending."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from rheostat.core.report import Grid
from rheostat.core.storage.files import replace_file
from rheostat.decision.decide import Advice
from rheostat.errors import QuestionError
from rheostat.explanation.choices.advice import advice_facts, advice_rows
from rheostat.explanation.formats.grid_cells import tsv
from rheostat.explanation.formats.json import document
from rheostat.questions import listener
from rheostat.questions.written import write_csv

ENDINGS = (".csv", ".tsv", ".parquet", ".json")


def known_ending(out: Path | None) -> None:
    """Refuses a name of no known ending, before the work begins."""
    if out is not None and out.suffix not in ENDINGS:
        raise QuestionError("--out", [f"expected a name ending in {', '.join(ENDINGS)}, got {out}"])


def write_advice(advice: Advice, shown: Grid, schema: str, out: Path) -> None:
    """Write a row per job; ``shown`` has the digits of a person."""
    if out.suffix == ".csv":
        write_csv(pl.DataFrame(list(shown.rows), advice.table.frame.schema, orient="row"), out)
        return
    if out.suffix == ".parquet":
        advice.table.write_parquet(out)
    elif out.suffix == ".json":
        facts = {**advice_facts(advice), "jobs": advice_rows(advice)}
        replace_file(out, document(schema, facts))
    else:
        replace_file(out, tsv(shown))
    listener.line(f"wrote {out}")
