"""Totals per link as text: ``dragonfly-link-stats`` of CODES."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl

from rheostat.core.jobs import Note
from rheostat.errors import DataError
from rheostat.measurement.checks import note_rows
from rheostat.measurement.lines import Records

LINE = re.compile(
    r"(\d{1,9})[ ,]+([TR])[ ,]+(\d{1,9})[ ,]+([TR])[ ,]+(?:(CN|L|G)[ ,]+)?"
    r"(\d{1,18})[ ,]+(\d{1,18}(?:\.\d+)?)[ ,]+(\d{1,18})"
)
KINDS = {"CN": "terminal", "L": "local", "G": "global", None: ""}
SCHEMA = {
    "source": pl.Int64,
    "source_kind": pl.String,
    "target": pl.Int64,
    "target_kind": pl.String,
    "link": pl.String,
    "traffic_b": pl.Int64,
    "busy_s": pl.Float64,
    "stalled_chunks": pl.Int64,
}


def read_link_statistics(path: str | Path) -> tuple[pl.DataFrame, list[Note]]:
    r"""Traffic, time without room downstream, and stalled chunks of every link over a whole run.

    Parameters
    ----------
    path
        ``dragonfly-link-stats``, blanks or commas; older files without the kind of the link too.

    Returns
    -------
    frame
        Columns source, source_kind and target, target_kind (``router`` or ``terminal``), link
        (``terminal``, ``local``, ``global`` or empty), traffic_b, busy_s, stalled_chunks.
    notes
        Lines that are no link, left out.

    Raises
    ------
    DataError
        No line is a link.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "links"
    >>> _ = file.write_text("# Format ...\n\n0 T 0 R CN 4096 250000000.0 3\n")
    >>> read_link_statistics(file)[0].rows()
    [(0, 'terminal', 0, 'router', 'terminal', 4096, 0.25, 3)]
    """
    records = Records(path, comment="#")
    ends = {"T": "terminal", "R": "router"}
    rows, odd = [], []
    for row, text in records:
        match = LINE.fullmatch(text.strip())
        if match is None and not text.startswith("<source_id>"):
            odd.append(row)
        elif match is not None:
            a, ka, b, kb, link, traffic, busy, stalled = match.groups()
            rows.append((int(a), ends[ka], int(b), ends[kb], KINDS[link], int(traffic),
                         float(busy) * 1e-9, int(stalled)))  # fmt: skip
    if not rows:
        raise DataError(str(path), ["expected lines of links: source, kind, target, kind, ...",
                                    f"got none in {len(odd)} lines"])  # fmt: skip
    notes = records.notes
    if odd:
        notes.append(note_rows("the line is no link", odd, dropped=True))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row"), notes
