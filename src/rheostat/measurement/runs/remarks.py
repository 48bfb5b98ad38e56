"""Runs that failed by what somebody wrote beside them, in whatever column: ``killed by OOM``."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field

import polars as pl

from rheostat.core.jobs import Note
from rheostat.core.vocabulary import VOCABULARY
from rheostat.measurement.checks import ROW, note_rows
from rheostat.measurement.runs.failure_words import WORD, plainly_failed, reads_failed

REMARK = re.compile(
    r"(comment|remark|note|result|status|state|outcome|end|ended|ending|error|err|message|msg|info"
    r"|log|reason|stderr|output|observation|termination|happened|warning|problem|issue|exit|finish"
    r"|bemerkung|kommentar|anmerkung|ergebnis|hinweis|remarque|commentaire|resultat|nota|resultado"
    r"|osservazione|comentario|observacao|observacion|risultato|uwaga|opmerking)(e?s|en)?"
)
"""Words of headings below which people and tools write how a run went."""
SETTING = re.compile(
    r"(name|job|app|code|case|input|file|path|dir|folder|data|dataset|test|kernel|bench|benchmark"
    r"|variant|config|version|tag|label|cmd|command|args|script|user|host|hostname|node|model|url"
    r"|algorithm|method|solver|policy|mode|machine|system|cluster|compiler|flags|env|program|id)s?"
)
"""Words of headings below which names stand, which may be of anything: ``frontal_crash``."""
FLAG = re.compile(r"(failed|failure|crashed|killed|aborted|timed_?out|oom|diverged|segfault(ed)?"
                  r"|cancell?ed|is_error|unfinished|incomplete|invalid|outlier|excluded?|discard(ed)?"
                  r"|ignored?|disturbed|interrupted|warm_?up)")  # fmt: skip
"""Headings under which a yes says that a run failed, or is not to count."""
SET_ASIDE = re.compile(
    r"warm[ _-]?ups?|burn[ _-]?in|dry[ _-]?run|discard(ed)?|excluded?|outliers?|invalid|ignored?"
)
"""Words of a run that somebody set aside, where other runs have another word."""
OF_WORK = re.compile(
    r"(data|dataset|input|case|name|file|app|job|code|algorithm|method|model|kernel|bench(mark)?)s?"
)
YES, NO = ("yes", "y", "true", "1", "x"), ("no", "n", "false", "0", "-", "")
NAMED, MOST_WORDS = 3, 6
FAILED = "counts as unfinished; if it did its work, --column censored==false counts all runs"
DOUBTED = "may be of that run or of another one: it counts; take its row out if it failed"
EVERY = "of every run, so it tells none apart: all count; take out those that failed"
AGAINST = "though it ended well by its state: it counts; take its row out if it failed"


@dataclass(frozen=True)
class Judged:
    """The cells of one column that say that a run failed, those that may, and their rows."""

    column: str
    failed: dict[str, list[int]] = field(default_factory=dict)
    doubted: dict[str, list[int]] = field(default_factory=dict)


def with_remarks(
    table: pl.DataFrame, asked: Collection[str] = ()
) -> tuple[pl.DataFrame, list[Note], list[str]]:
    """Flag runs that failed by a remark; what is noted, and the columns that said so.

    Where all runs of a column are said to have failed it tells nothing, and a good end that a state
    tells of stays one, with a note.

    >>> runs = pl.DataFrame({ROW: [0, 1], "time": [90, 3], "comment": ["0 errors", "segfault"]})
    >>> with_remarks(runs)[0]["censored"].to_list()
    [False, True]
    """
    notes, columns, rows = list[Note](), list[str](), set[int]()
    well = (
        set(table.filter(~pl.col("censored"))[ROW]) if "censored" in table.columns else set[int]()
    )
    for name in (c for c in table.columns if c not in {ROW, *VOCABULARY, *asked}):
        judged = _judged(table, name)
        bad = {row for of in judged.failed.values() for row in of}
        notes += _noted(judged.doubted, name, DOUBTED)
        if not bad:
            continue
        columns.append(name)
        if len(bad) == table.height:
            notes += _noted(judged.failed, name, EVERY)
            continue
        notes += _noted(_of_rows(judged.failed, bad - well), name, FAILED)
        notes += _noted(_of_rows(judged.failed, bad & well), name, AGAINST)
        rows |= bad - well
    return (_flagged(table, rows) if rows else table), notes, columns


def _flagged(table: pl.DataFrame, rows: Collection[int]) -> pl.DataFrame:
    """With those rows as unfinished; others as they were, or finished where nothing says more."""
    before = pl.col("censored") if "censored" in table.columns else pl.lit(value=False)
    return table.with_columns(censored=pl.col(ROW).is_in(list(rows)) | before)


def _judged(table: pl.DataFrame, name: str) -> Judged:
    """What the cells of a column say, each different one looked at once."""
    heading = _words(name)
    if FLAG.fullmatch("_".join(heading)) and (said := _flag(table, name)):
        return Judged(name, {f"{name} {cell}": rows for cell, rows in said.items()})
    work = any(map(OF_WORK.fullmatch, heading))  # what ran, and not how
    if table[name].dtype == pl.String and not work and (aside := _set_aside(table, name)):
        return Judged(name, aside)
    remark = any(map(REMARK.fullmatch, heading))
    names = any(map(SETTING.fullmatch, heading)) and not (remark and heading[-1] != "file")
    if table[name].dtype != pl.String or names:
        return Judged(name)
    plain = pl.col(name).str.to_lowercase().str.normalize("NFD").str.replace_all(r"\p{M}", "")
    perhaps = table.filter(plain.str.contains(WORD))
    judged = Judged(name)
    for (cell,), of in perhaps.group_by(name, maintain_order=True):
        failed = reads_failed(str(cell)) if remark else plainly_failed(str(cell))
        if failed is not False:
            (judged.failed if failed else judged.doubted)[str(cell)] = of[ROW].to_list()
    return judged


def _set_aside(table: pl.DataFrame, name: str) -> dict[str, list[int]]:
    """Rows of a word as ``warmup`` in a column of few words.

    >>> _set_aside(pl.DataFrame({ROW: [0, 1, 2], "kind": ["warmup", "timed", "timed"]}), "kind")
    {'warmup': [0]}
    """
    words = table[name].drop_nulls().unique().to_list()
    out = [w for w in words if SET_ASIDE.fullmatch(w.strip().lower())]
    if not out or len(words) > MOST_WORDS:
        return {}
    rows = table.filter(pl.col(name).is_in(out))
    return {str(w): of[ROW].to_list() for (w,), of in rows.group_by(name, maintain_order=True)}


def _flag(table: pl.DataFrame, name: str) -> dict[str, list[int]]:
    """Rows of a yes in a column of yes and no, by the cell.

    >>> _flag(pl.DataFrame({ROW: [0, 1, 2], "crashed": [0, 1, 0]}), "crashed")
    {'1': [1]}
    >>> _flag(pl.DataFrame({ROW: [0, 1, 2], "failed": [0, 1, 12]}), "failed")
    {}
    """
    cells = table[name].cast(pl.String).fill_null("").str.strip_chars().str.to_lowercase()
    if not cells.is_in([*YES, *NO]).all():
        return {}
    rows = table.filter(cells.is_in(list(YES)))
    return {str(cell): of[ROW].to_list() for (cell,), of in rows.group_by(name)}


def _words(name: str) -> list[str]:
    """The words of a heading in small letters.

    >>> _words("exitMessage"), _words("run_comment (free)")
    (['exit', 'message'], ['run', 'comment', 'free'])
    """
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return [w for w in re.split(r"[^a-z]+", apart) if w]


def _of_rows(said: dict[str, list[int]], rows: Collection[int]) -> dict[str, list[int]]:
    """What is said of some rows alone."""
    kept = {cell: [r for r in of if r in rows] for cell, of in said.items()}
    return {cell: of for cell, of in kept.items() if of}


def _noted(said: dict[str, list[int]], name: str, what: str) -> list[Note]:
    """A note with the first of what is said, or none."""
    if not said:
        return []
    cells = ", ".join(repr(cell) for cell in list(said)[:NAMED])
    more = f" and {len(said) - NAMED} other remarks" if len(said) > NAMED else ""
    rows = sorted(row for of in said.values() for row in of)
    return [note_rows(f"{name} says {cells}{more}: {what}", rows)]
