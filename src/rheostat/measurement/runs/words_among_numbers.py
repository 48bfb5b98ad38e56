"""Words among the numbers of a column: nothing was measured (``N/A``), or the run ended (``OOM``).

They are no reason to read a column as words: its numbers stay numbers, the words are null, noted
with their rows; and a word for how a run ended is its state where nothing else says that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rheostat.core.jobs import Note
from rheostat.measurement.checks import note_rows
from rheostat.measurement.runs.languages import UNFINISHED
from rheostat.measurement.runs.long_tables import NAME, VALUE

NUMBER = re.compile(r"[-+~≈<>]?\s*(\d[\d.,'\s]*|\.\d+)\s*(e[-+]?\d+)?\s*(\D.*)?", re.IGNORECASE)
"""A number as people write it, its unit, spread or clock behind it."""
NOTHING = re.compile(
    r"[-\u2013\u2014.?/*x\u00d7]{1,3}|#?n\.? ?[/.]? ?[adkvm]\.?!?|tb[ad]|missing|unknown|dn[fs]"
    r"|not (available|measured|run|supported|applicable|known)|unsupported|skip(ped)?"
    r"|did not (run|finish|start)|#(value|ref|div/0)!?|no (value|data|result)", re.IGNORECASE
)  # fmt: skip
"""What says that there is no number."""
ENDED = tuple(w for w in UNFINISHED if len(w) > 2)  # F and TO may be names
SHARE = 0.8
"""Of a column at most, words; a column of fewer numbers is one of words."""


def parted(
    cells: Mapping[str, Sequence[str]], rows: Sequence[int]
) -> tuple[dict[str, Sequence[str]], dict[int, str], list[Note]]:
    """Columns without words that stand for no number, how runs ended by their place, and notes.

    >>> theirs = {"time": ["9.5", "OOM", "N/A"], "app": ["a", "b", "-"]}
    >>> cells, ends, notes = parted(theirs, [0, 1, 2])
    >>> cells["time"], ends
    (['9.5', '', ''], {1: 'OOM'})
    >>> notes[0].message
    'time: not a number, null: OOM'
    """
    cells, notes = _without_marks(cells)
    made, ends = dict(cells), dict[int, str]()
    long = any(map(NAME.fullmatch, cells))  # a row each quantity: one column of all values
    for name, column in cells.items():
        if long and VALUE.fullmatch(name.strip()):
            continue
        plain = [c.strip() for c in column]
        ended = {i: _state(c) for i, c in enumerate(plain) if _state(c) in ENDED}
        nothing = [i for i, c in enumerate(plain) if NOTHING.fullmatch(c)]
        numbers = sum(NUMBER.fullmatch(c) is not None for c in plain)
        words = sorted({*ended, *nothing})
        if not words or numbers + len(words) < sum(map(bool, plain)) or not numbers:
            continue
        if len(words) > SHARE * (numbers + len(words)):
            continue
        made[name] = ["" if i in {*words} else c for i, c in enumerate(column)]
        ends |= {i: w for i, w in ended.items() if i not in ends}
        said = [c for c in dict.fromkeys(plain[i] for i in words) if c.lower() not in QUIET]
        if said:
            lost = [rows[i] for i in words if plain[i].lower() not in QUIET]
            notes.append(note_rows(f"{name}: not a number, null: {', '.join(said[:4])}", lost))
    return made, ends, notes


ABOUT = re.compile(r"\s*[~\u2248]\s*(?=\d)")
BOLD = re.compile(r"\s*(\*{1,2}|__|`)(?=\d)(.*?)\1\s*")


def _without_marks(
    cells: Mapping[str, Sequence[str]],
) -> tuple[dict[str, Sequence[str]], list[Note]]:
    """Numbers without marks of bold type around them, and without a sign for about before them.

    >>> made, notes = _without_marks({"time": ["**9.5**", "~8"], "app": ["*x*", "~y"]})
    >>> made, notes[0].message
    ({'time': ['9.5', '8'], 'app': ['*x*', '~y']}, 'about what is written (~): time')
    """
    made = {n: [BOLD.sub(r"\2", c) for c in column] for n, column in cells.items()}
    about = [n for n, column in made.items() if any(map(ABOUT.match, column))]
    made |= {n: [ABOUT.sub("", c) for c in made[n]] for n in about}
    said = f"about what is written (~): {', '.join(about)}"
    return {**made}, [Note(said)] if about else []


QUIET = ("-", "na", "n/a", "nan")
"""What is an empty cell everywhere, and counted as such."""


def no_number(cell: str) -> bool:
    """Whether a cell says that nothing was measured, or how the run ended.

    >>> no_number("OOM"), no_number("n.a."), no_number("mean"), no_number("")
    (True, True, False, False)
    """
    return NOTHING.fullmatch(cell.strip()) is not None or _state(cell) in ENDED


def _state(cell: str) -> str:
    return re.sub(r"[\s-]+", "_", cell.upper()).strip("_!.*() ")
