"""Records of a text file, one line each, unpacked; bad lines are noted instead of fatal.

A line that is not UTF-8 or longer than a megabyte cannot be a job record; it keeps its row number,
is left out, and is noted.
"""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from rheostat.core.jobs import Note
from rheostat.core.storage.bounded_read import MOST_B, checked_size, read_all
from rheostat.core.storage.files import ordinary_file
from rheostat.errors import DataError
from rheostat.measurement.checks import note_rows
from rheostat.measurement.workbook import is_workbook, workbook_text

GZIP, BOM = b"\x1f\x8b", codecs.BOM_UTF8
"""What Excel and PowerShell write before a text; it is no part of the first name."""
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""Before what they call Unicode text."""
LONGEST = 1_000_000
LONGEST_B = 256 * 2**20
"""Of a line that is held at all, to be told of."""
MOST_BLANK = 1_000_000
"""Lines in a row: a gzip file has hundreds of millions of them in a megabyte."""
SMALL_B, MOST_TIMES = 256 * 2**20, 100
"""Unpacked bytes of a gzip file, and how many times its own: logs come to 5 to 30 times."""


class Records:
    """Iterates over (row number from 0, text); ``notes`` and ``comments`` fill while it does.

    Blank lines do not count; ``header`` lines at the top have row numbers below 0.  Lines that
    begin with ``comment`` are kept apart, undecodable bytes in them replaced: names in headers are
    often in another encoding.  ``row`` is that of the last line so far, and ``ended`` says whether
    it had a line end.
    """

    def __init__(
        self, path: str | Path, *, comment: str = "", encoding: str = "utf-8", header: int = 0
    ) -> None:
        self.path, self.comment, self.encoding = ordinary_file(path), comment.encode(), encoding
        self.comments: list[str] = []
        self.row, self.ended = -1 - header, True
        self._bad: dict[str, list[int]] = {}

    def __iter__(self) -> Iterator[tuple[int, str]]:
        for raw in raw_lines(self.path):
            line, self.ended = raw.strip(b"\r\n"), raw.endswith(b"\n")
            if not line.strip():
                continue
            if self.comment and line.lstrip().startswith(self.comment):
                self.comments.append(line.decode(self.encoding, errors="replace").strip())
                continue
            self.row += 1
            if len(line) > LONGEST:
                self._note(f"line longer than {LONGEST:,} bytes", self.row)
                continue
            try:
                yield self.row, line.decode(self.encoding)
            except UnicodeDecodeError:
                self._note(f"line is not {self.encoding}; pass encoding= if you know it", self.row)

    def _note(self, why: str, row: int) -> None:
        self._bad.setdefault(why, []).append(row)

    @property
    def notes(self) -> list[Note]:
        """One note per reason for the lines left out so far."""
        return [note_rows(why, rows, dropped=True) for why, rows in self._bad.items()]


def raw_lines(path: Path) -> Iterator[bytes]:
    """Lines as bytes; a `DataError` for a cut gzip file, and where no line ends or no file does."""
    most, total, blank = most_unpacked_b(path), 0, 0
    with _opened(path) as file:
        while line := file.readline(LONGEST_B + 1):
            total += len(line)
            if len(line) > LONGEST_B:
                problem = f"a line is longer than {LONGEST_B >> 20} MiB: no text is"
                raise DataError(str(path), [problem])
            if total > most:
                raise DataError(str(path), [f"unpacks to more than {most:,} bytes: no table does"])
            blank = blank + 1 if len(line) < 3 and not line.strip() else 0
            if blank > MOST_BLANK:
                raise DataError(str(path), [f"more than {MOST_BLANK:,} blank lines follow another"])
            yield line


def beginning(path: Path, size_b: int) -> bytes:
    """The first bytes of a file, unpacked where it is gzip."""
    with _opened(path) as file:
        return file.read(size_b)


def whole(path: Path, most_b: int = MOST_B) -> bytes:
    """All bytes of a file, unpacked where it is gzip, at most so many."""
    with _opened(checked_size(path, most_b)) as file:
        return read_all(file, path, min(most_unpacked_b(path), most_b))


def is_packed(path: Path) -> bool:
    """Whether what is read is not what the file holds: gzip, UTF-16, or a spreadsheet."""
    with path.open("rb") as file:
        start = file.read(4)
    return start.startswith((GZIP, *UTF16)) or is_workbook(path, start)


def most_unpacked_b(path: Path) -> int:
    """Bytes that a file of a table may come to, which for gzip goes by its size."""
    return max(SMALL_B, MOST_TIMES * path.stat().st_size)


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    with path.open("rb") as probe:
        start = probe.read(4)
    if is_workbook(path, start):
        yield io.BytesIO(workbook_text(path))
        return
    if start.startswith(UTF16) and (text := _of_utf16(path)):
        yield io.BytesIO(text)
        return
    packed = start.startswith(GZIP)
    try:
        with gzip.open(path, "rb") if packed else path.open("rb") as file:
            if file.read(len(BOM)) != BOM:
                file.seek(0)
            yield cast(IO[bytes], file)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(str(path), [f"the gzip file is damaged or cut off: {error}"]) from error


def _of_utf16(path: Path) -> bytes:
    """The text of a file in UTF-16 as UTF-8; empty where it is none."""
    try:
        return checked_size(path, MOST_B).read_bytes().decode("utf-16").encode()
    except UnicodeError:
        return b""
