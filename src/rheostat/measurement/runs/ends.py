"""Which runs of a table ended well, by the words of its site."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import polars as pl

from rheostat.core.jobs import Note
from rheostat.measurement.checks import ROW, note_rows
from rheostat.measurement.runs.diverged import with_diverged
from rheostat.measurement.runs.failure_words import reads_failed
from rheostat.measurement.runs.guess import guess_name
from rheostat.measurement.runs.languages import FINISHED, UNFINISHED
from rheostat.measurement.runs.limit_reached import with_limit_reached
from rheostat.measurement.runs.remarks import with_remarks

SUCCESS = ("0", "0:0", "0.0", "TRUE")
UNSAID = "no end that is known: whether those runs completed is not known, write COMPLETED"
CUT_SHORT = (
    "{} is no end that is known, and those runs are the shortest by far: count as unfinished "
    "(write COMPLETED if they ended well)"
)
PERHAPS = (
    "{0} {1!r}: far shorter than every other run; if that is how they ended, say so: --column "
    'state={2}, or in --map [columns] state = "{0}"'
)
ENDS = ("result", "status", "job_status")
"""Columns that may say how a run ended where its state says something else."""
YES, NO = ("YES", "Y", "TRUE"), ("NO", "N", "FALSE")
CHECKED = re.compile(r"verif|valid|correct|success|passed|check|converg|complete")
"""Headings under which a no says that a run did not do its work."""
REMARK = r"^(.*?\p{L})\s*(?:[(\[{:;,]| - ).*$"
NO_ERROR = re.compile(r"(0|NO|WITHOUT|KEINE?|OHNE) (ERROR|FAILURE|PROBLEM|FEHLER)")
PROSE = re.compile(r"comment|remark|note|bemerk|komment|anmerk|remarque|coment|observa|osserva")
"""Headings under which people write whatever came to their mind, ends of runs among it."""
MOST_WORDS = 12
"""Of a column that tells how runs ended."""
MINORITY, SHORT = 0.2, 0.2
"""A word of at most that share of the runs, each shorter than that share of every other run."""
LOGGED = {"submit_s", "eligible_s", "start_s", "end_s"}
"""Columns of a log, of which a job that was cancelled before its start took 0 s."""
NO_TIME = "runtime_s is 0, which no run takes: left out"


def state_by_words(frame: pl.DataFrame) -> dict[str, str]:
    """The column that is the state by its words, whatever its name, where none is by its name.

    Some of a few words are a good end and some a bad one, or all a good one.  Of several such
    columns none is taken.

    >>> state_by_words(pl.DataFrame({"app": ["cfd", "md"], "phase": ["Succeeded", "Evicted"]}))
    {}
    >>> state_by_words(pl.DataFrame({"app": ["cfd", "md"], "phase": ["Succeeded", "Failed"]}))
    {'phase': 'state'}
    """
    if {"state", "exit_code", "censored"} & set(map(guess_name, frame.columns)):
        return {}
    own = [c for c in frame.columns if guess_name(c) is None and _tells_ends(frame, c)]
    return {own[0]: "state"} if len(own) == 1 else {}


def _tells_ends(frame: pl.DataFrame, name: str) -> bool:
    if CHECKED.search(name.lower()) and _agreed(frame, name):
        return True
    if frame[name].dtype != pl.String or not 0 < frame[name].n_unique() <= MOST_WORDS:
        return False
    words = set(frame.select(_plain(name).drop_nulls()).to_series()) - {""}
    good, bad = words & set(FINISHED), words & set(UNFINISHED)
    if PROSE.search(name.lower()) and words > good | bad:
        return False
    return bool(good) and (bool(bad) or good == words)


def _agreed(frame: pl.DataFrame, name: str) -> bool:
    """Whether all cells say yes or no, and some say yes.

    >>> _agreed(pl.DataFrame({"verified": [True, False, None]}), "verified")
    True
    """
    words = frame.select(_plain(name).drop_nulls()).to_series()
    return bool(words.is_in([*YES, *NO]).all() and words.is_in(list(YES)).any())


def runs_by_end(
    table: pl.DataFrame, asked: Collection[str] = ()
) -> tuple[pl.DataFrame, list[Note]]:
    """The runs flagged `with_ends`, without those that took no time."""
    table, notes = with_ends(table, asked)
    table, more = without_no_time(table)
    return table, [*notes, *more]


def with_ends(table: pl.DataFrame, asked: Collection[str] = ()) -> tuple[pl.DataFrame, list[Note]]:
    """Flag unfinished runs by a state or, without one, an exit code, and by remarks beside them.

    Of words that are in no list, those of a few runs that are the shortest by far are no good end.
    ``asked`` are columns of settings, which say nothing of an end.

    >>> runs = pl.DataFrame({ROW: [0, 1, 2], "exit_code": [0, 137, None]})
    >>> flagged, notes = with_ends(runs)
    >>> flagged["censored"].to_list()
    [False, True, None]
    """
    if "censored" in table.columns:
        return _yes_or_no(table)
    stated = {"state", "exit_code"} & set(table.columns)
    table, notes = _by_state(table) if stated else (table, [])
    table, said, columns = with_remarks(table, asked)
    perhaps = [] if stated else _perhaps_ends(table.drop(columns))
    known = stated or "censored" in table.columns or LOGGED & set(table.columns)
    table, cut = (table, list[Note]()) if known else with_limit_reached(table)
    table, diverged = with_diverged(table, asked)
    return table, [*notes, *said, *cut, *diverged, *perhaps]


def _yes_or_no(table: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """With what the file, or the user, says of each run as true or false, as it may be written.

    >>> said = {ROW: [0, 1, 2], "censored": ["no", "1", "?"]}
    >>> _yes_or_no(pl.DataFrame(said))[0]["censored"].to_list()
    [False, True, None]
    """
    if table["censored"].dtype == pl.Boolean:
        return table, []
    said = pl.col("censored").cast(pl.String).str.strip_chars().str.to_uppercase()
    plain = said.str.replace(r"\.0+$", "")
    yes, no = plain.is_in([*YES, "1"]), plain.is_in([*NO, "0"])
    known = pl.when(yes | no).then(yes)
    lost = table.filter(pl.col("censored").is_not_null() & known.is_null())[ROW].to_list()
    notes = [note_rows("censored is neither true nor false: not known", lost)] if lost else []
    return table.with_columns(censored=known), notes


def _by_state(table: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Flagged by the state, which may stand in the exit code."""
    if "state" not in table.columns and _in_words(table["exit_code"]):
        table = table.with_columns(state="exit_code")
    by = "state" if "state" in table.columns else "exit_code"
    ended = _plain(by)
    known = (
        (YES if _agreed(table, by) else (*FINISHED, *_well(table))) if by == "state" else SUCCESS
    )
    strange = (
        table.filter(~ended.is_in([*known, *UNFINISHED, *NO])) if by == "state" else table.clear()
    )
    if strange.height and not table.select(ended.is_in(list(known)).any()).item():
        if (other := _said_elsewhere(table)) is None:
            return _in_no_list(table, strange)
        by, ended = other, _plain(other)
    table = table.with_columns(censored=~ended.is_in(list(known)))
    rows = table.filter("censored")[ROW].to_list()
    return table, [
        note_rows(f"did not end well by its {by}: counts as unfinished", rows)
    ] if rows else []


def _well(table: pl.DataFrame) -> list[str]:
    """States that begin with a good end, or with none of its contrary: ``OK but slow``.

    >>> _well(pl.DataFrame({"state": ["ok but slow", "no errors", "done with errors", "slow"]}))
    ['NO ERRORS', 'OK BUT SLOW']
    """
    words = table.select(_plain("state").drop_nulls().unique().sort()).to_series()
    begins = (w for w in words if w.split(" ")[0] in FINISHED or NO_ERROR.match(w))
    return [w for w in begins if reads_failed(w) is False]


def with_state(frame: pl.DataFrame, ends: Mapping[int, str]) -> pl.DataFrame:
    """With a state where a word stood for a number, and nothing else says how the run ended.

    >>> runs = pl.DataFrame({"time": [9.0, None, None]})
    >>> with_state(runs, {1: "OUT_OF_MEMORY"})["state"].to_list()
    [None, 'OUT_OF_MEMORY', None]
    """
    said = {"state", "exit_code", "censored"} & set(map(guess_name, frame.columns))
    if not ends or said or state_by_words(frame):
        return frame
    return frame.with_columns(state=pl.Series([ends.get(i) for i in range(frame.height)]))


def _in_words(ends: pl.Series) -> bool:
    """Whether exit codes are words of a state, as in exports of XDMoD.

    >>> _in_words(pl.Series(["COMPLETED", "FAILED"])), _in_words(pl.Series(["0:0", "9", None]))
    (True, False)
    """
    return ends.dtype == pl.String and not ends.str.contains(r"^\s*-?[\d.:]+\s*$").any()


def _said_elsewhere(table: pl.DataFrame) -> str | None:
    """A column beside the state whose words all are ends: ``result`` of Flux.

    >>> runs = pl.DataFrame({"state": ["INACTIVE"] * 2, "result": ["COMPLETED", "FAILED"]})
    >>> _said_elsewhere(runs)
    'result'
    """
    for name in (c for c in ENDS if table.schema.get(c) == pl.String):
        words = table.select(_plain(name).drop_nulls()).to_series()
        if words.is_in([*FINISHED, *UNFINISHED]).all() and words.is_in(list(FINISHED)).any():
            return name
    return None


def _plain(name: str) -> pl.Expr:
    """The words in capitals without accents, and without a remark: ``FAILED (OOM on rank 31)``."""
    words = pl.col(name).cast(pl.String).str.normalize("NFD").str.replace_all(r"\p{M}", "")
    words = words.str.strip_chars().str.replace(REMARK, "$1")
    return words.str.to_uppercase()


def _in_no_list(table: pl.DataFrame, strange: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """States of which none is known as a good end: all of another language would count as failed.

    >>> runs = {ROW: [*range(6)], "runtime_s": [90, 3, 80, 95, 70, 85], "state": ["kesz", "hiba"]}
    >>> runs["state"] = ["hiba" if r < 9 else "kesz" for r in runs["runtime_s"]]
    >>> with_ends(pl.DataFrame(runs))[0]["censored"].to_list()
    [None, True, None, None, None, None]
    """
    short = _cut_short(table, "state")
    bad = _plain("state").is_in(list(UNFINISHED)) | pl.col("state").is_in(short)
    cut = strange.filter(pl.col("state").is_in(short))
    said = f"state {', '.join(map(repr, short))}"
    notes = [note_rows(CUT_SHORT.format(said), cut[ROW].to_list())] if cut.height else []
    rest = strange.filter(~pl.col("state").is_in(short))
    if rest.height:
        counts = rest["state"].value_counts(sort=True).head(5).rows()
        words = ", ".join(f"{word!r} {count:,} x" for word, count in counts)
        notes.append(note_rows(f"state {words}: {UNSAID}", rest[ROW].to_list()))
    return table.with_columns(censored=pl.when(bad).then(pl.lit(value=True))), notes


def _cut_short(table: pl.DataFrame, name: str) -> list[str]:
    """The words of a column that few runs have, each of them far shorter than all other runs."""
    if not table.schema.get("runtime_s", pl.String).is_numeric() or table.height < 5:
        return []
    words = (
        table.filter(pl.col(name).is_not_null() & pl.col("runtime_s").is_not_null())
        .group_by(name)
        .agg(pl.len(), least=pl.col("runtime_s").min(), most=pl.col("runtime_s").max())
        .sort("most", name)
    )
    runs = words["len"].cum_sum()
    others = words["least"].reverse().cum_min().reverse().shift(-1)
    apart = (runs <= MINORITY * table.height) & (words["most"] < SHORT * others)
    last = apart.fill_null(value=False).arg_true()
    return list(words[name][: last[-1] + 1]) if last.len() else []


def _perhaps_ends(table: pl.DataFrame) -> list[Note]:
    """A question where a column of few words that is no state may tell how runs ended."""
    texts = [c for c in table.columns if table[c].dtype == pl.String]
    asked = []
    for name in (c for c in texts if table[c].n_unique() == 2):
        for word in _cut_short(table, name):
            rows = table.filter(pl.col(name) == word)[ROW].to_list()
            asked.append(note_rows(PERHAPS.format(name, word, repr(name)), rows))
    return asked


def without_no_time(table: pl.DataFrame) -> tuple[pl.DataFrame, list[Note]]:
    """Runs of 0 s are no measurements: left out of a table of runs that has others.

    Of a log they are jobs that never started, and a run that failed may have ended at once.

    >>> runs = pl.DataFrame({ROW: [0, 1], "runtime_s": [0.0, 8.0], "power_w": [90.0, 80.0]})
    >>> kept, notes = without_no_time(runs)
    >>> kept[ROW].to_list(), notes[0].dropped
    ([1], True)
    """
    there = table.schema
    if LOGGED & set(there) or not there.get("runtime_s", pl.String).is_numeric():
        return table, []
    cut = pl.col("censored").fill_null(value=False) if "censored" in there else pl.lit(value=False)
    none = ((pl.col("runtime_s") == 0) & ~cut).fill_null(value=False)
    rows = table.filter(none)[ROW].to_list()
    if not rows or not table.filter(pl.col("runtime_s") > 0).height:
        return table, []
    return table.filter(~none), [note_rows(NO_TIME, rows, dropped=True)]
