"""The table that sacct prints for people: columns as wide as the dashes below their headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rheostat.core.jobs import Note
from rheostat.measurement.checks import note_rows
from rheostat.measurement.lines import Records
from rheostat.measurement.slurm.sacct_lines import JobRun

HEADINGS = re.compile(r"\s*JobID(Raw)?\s{2,}\w")
RULE = re.compile(r"\s*-+(\s+-+)+\s*")
BETWEEN = "\x1f"
CUT = "names that end in + were cut, so that two may be one here: add -P to sacct for whole ones"
NAMES = ("JobName", "User", "Account", "Partition", "Group", "QOS", "WorkDir")


class FixedWidth:
    """Lines of such a table with `BETWEEN` its cells; as they are where no dashes follow.

    Parameters
    ----------
    records : Records
        Behind its first line.
    first : str
        That line.
    """

    def __init__(self, records: Records, lines: Iterator[tuple[int, str]], first: str) -> None:
        self._lines, self._spans = lines, list[tuple[int, int]]()
        self._waiting: list[tuple[int, str]] = []
        self.header = first
        if HEADINGS.match(first) and (second := next(lines, None)) is not None:
            self._begin(records, second)

    def _begin(self, records: Records, second: tuple[int, str]) -> None:
        if RULE.fullmatch(second[1]) is None:
            self._waiting = [second]
            return
        self._spans = [m.span() for m in re.finditer("-+", second[1])]
        self.header, self._rule = self._parted(self.header), second[1].strip()
        records.row -= 1  # the dashes are of the header

    @property
    def is_one(self) -> bool:
        """Whether there were dashes to go by."""
        return bool(self._spans)

    def __iter__(self) -> Iterator[tuple[int, str]]:
        yield from self._waiting
        for row, text in self._lines:
            if not self.is_one:
                yield row, text
            elif text.strip() != self._rule:
                yield row, self._parted(text)

    def _parted(self, text: str) -> str:
        """The cells; a line that does not keep to the columns stays one, and fits no header."""
        ends = [b for _, b in self._spans]
        if text[ends[-1] :].strip() or any(text[b : b + 1].strip() for b in ends):
            return text
        return BETWEEN.join(text[a:b].strip() for a, b in self._spans)


def cut_names(runs: Iterable[JobRun]) -> list[Note]:
    """A note on jobs of which a name was cut."""
    rows = [r.row for r in runs if any(r.cells.get(n, "").endswith("+") for n in NAMES)]
    return [note_rows(CUT, rows)] if rows else []
