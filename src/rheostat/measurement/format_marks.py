"""By what a format is told from others: the start of a file, its name, the types of its columns."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from rheostat.measurement.job_logs.pm100 import NODE
from rheostat.measurement.parquet import gather
from rheostat.measurement.runs.delimited import DELIMITERS, headed
from rheostat.measurement.runs.pair_lines import rows_of_pairs
from rheostat.measurement.runs.records import first_record, is_records
from rheostat.measurement.runs.report_rows import rows_of_reports
from rheostat.measurement.runs.table_shapes import columns_by_blanks, untitled, without_rulers
from rheostat.measurement.serving.inferencex import is_inferencex
from rheostat.measurement.serving.requests import is_requests
from rheostat.measurement.serving.traffic import is_traffic
from rheostat.measurement.slurm.sacct_lines import has_sacct_headings

STARTS = 65536
"""Bytes of a file that a guess looks at."""


@dataclass(frozen=True)
class Head:
    """What a guess may look at: the first 64 KiB unpacked, and the columns if it is parquet."""

    path: Path
    start: bytes
    types: pl.Schema | None
    own: bool = False

    @property
    def lines(self) -> list[str]:
        """Non-empty lines of the start, at most 50."""
        return [x for x in self.start.decode("utf-8", "replace").splitlines() if x.strip()][:50]

    @property
    def text_lines(self) -> list[str]:
        """Non-empty lines of the start, all of them; none of parquet."""
        text = self.start if self.types is None else b""
        return [x for x in text.decode("utf-8", "replace").splitlines() if x.strip()]

    @property
    def whole(self) -> bool:
        """Whether the start is all of the file."""
        return len(self.start) < STARTS


def swf_mark(head: Head) -> bool:
    """By its name, its comments, or a line of 18 numbers: the first lines may be damaged."""
    if head.types is not None:
        return False
    numbered = any(re.match(r"\s*-?\d", line) for line in head.lines)
    if head.path.name.endswith((".swf", ".swf.gz")) and (numbered or not head.start):
        return True
    if head.start.lstrip()[:1] == b";":
        return not _semicolons_separate(head.lines)
    numbers = re.compile(r"\s*(-?\d+(\.\d+)?\s+){17}-?\d+(\.\d+)?\s*")
    return bool(head.lines) and bool(numbers.fullmatch(head.lines[0]))


def _semicolons_separate(lines: list[str]) -> bool:
    """Whether ``;`` is no comment but an index column without a name: rows have as many.

    >>> _semicolons_separate([";nodes;wall_s", "0;4;12"]), _semicolons_separate(["; Version: 2"])
    (True, False)
    """
    table = len(lines) > 1 and not lines[1].lstrip().startswith(";")
    return table and lines[0].count(";") == lines[1].count(";") > 0


def sacct_mark(head: Head) -> bool:
    """Whether the first line has sacct's headings."""
    return head.types is None and bool(head.lines) and has_sacct_headings(head.lines[0])


def json_mark(head: Head) -> bool:
    """Whether it begins as a JSON object."""
    return head.types is None and head.start.lstrip()[:1] == b"{"


def sacct_json_mark(head: Head) -> bool:
    """JSON, if it is no document of our own and no row of plain values."""
    ours = re.search(rb'"(schema|format)": "rheostat', head.start[:1000])
    return json_mark(head) and ours is None and not records_mark(head)


def graph_records_mark(head: Head) -> bool:
    """JSON lines that begin with a configuration and the graph of its step."""
    graph = re.search(rb'"nodes"\s*:\s*[\[{]', head.start)
    return json_mark(head) and b'"cfg"' in head.start[:1000] and graph is not None


def pm100_mark(head: Head) -> bool:
    """By two columns that only PM100 has."""
    return NODE in (head.types or {}) and "run_time" in (head.types or {})


def adastra_mark(head: Head) -> bool:
    """PM100's names, but a clock without a zone or limits that are instants."""
    if not pm100_mark(head) or head.types is None:
        return False
    if getattr(head.types.get("submit_time"), "time_zone", "") is None:
        return True
    limit = head.types.get("time_limit")
    if limit is None or not limit.is_numeric():
        return False
    some = pl.scan_parquet(head.path).select(pl.col("time_limit") > 1e9).head(100)
    first = gather(head.path, some)
    return int(first["time_limit"].sum()) > first.height / 2


def begins(looks_like: Callable[[bytes], bool]) -> Callable[[Head], bool]:
    """Whether a file is no parquet and begins as a format does."""
    return lambda head: head.types is None and looks_like(head.start)


def fdata_mark(head: Head) -> bool:
    """By three columns that only F-DATA has."""
    return {"jid", "nnumr", "avgpcon"} <= set(head.types or {})


def inferencex_mark(head: Head) -> bool:
    """By its names."""
    return is_inferencex(names_in(head))


def traffic_mark(head: Head) -> bool:
    """By its names."""
    return is_traffic(fields(head))


def requests_mark(head: Head) -> bool:
    """By its names."""
    return is_requests(fields(head))


def records_mark(head: Head) -> bool:
    """Whether it holds rows as JSON objects."""
    return begins(is_records)(head)


def papi_mark(head: Head) -> bool:
    """JSON with PAPI's real time."""
    return json_mark(head) and b'"real_time_nsec"' in head.start


def perf_mark(head: Head) -> bool:
    """Its JSON lines, its text, or CSV whose cells are value, unit, event, time counted, share."""
    if head.types is not None:
        return False
    if b'"counter-value"' in head.start or b"Performance counter stats" in head.start:
        return True
    if re.search(rb"^# +time\b.* counts unit events", head.start, re.M):
        return True
    lines = [x for x in head.lines if not x.lstrip().startswith("#")]
    place = r"((S|N|D|C)\d[\w-]*,\d+,|CPU\d+,)?"
    number = rf"\s*(\d+\.\d+,)?{place}(<not \w+>|\d+(\.\d+)?)"
    event = r"[^,]*,[\w/:.=-]*[A-Za-z][\w/:.=-]*,(\d+\.\d+%,)?"
    cells = re.compile(rf"{number},{event}\d+,\d+([.,]\d+)?(,.*)?")
    return bool(lines) and bool(cells.fullmatch(lines[0].replace(";", ",")))


def likwid_mark(head: Head) -> bool:
    """By words of LIKWID."""
    headings = (b"TABLE,Group", b"HWThread", b"likwid", b"LIKWID")
    return head.types is None and b"Metric" in head.start and any(m in head.start for m in headings)


def pcm_mark(head: Head) -> bool:
    """By its two lines of headings."""
    if head.types is not None:
        return False
    cells = {c.strip() for line in head.lines[:2] for c in re.split("[,;]", line)}
    return {"Time", "EXEC"} <= cells and bool(cells & {"INST", "CFREQ", "Proc Energy (Joules)"})


def names_in(head: Head) -> set[str]:
    """Names of columns that stand between commas."""
    first = head.lines[0] if head.types is None and head.lines else ""
    return {c.strip().strip('"') for c in first.split(",")}


def fields(head: Head) -> set[str]:
    """Names of columns: of parquet, of CSV, or of the first JSON object."""
    return set(head.types or first_record(head.start) or ()) or names_in(head)


def cells(head: Head) -> set[str]:
    """Names of columns, whatever separates them."""
    first = head.lines[0] if head.types is None and head.lines else ""
    known = set(head.types or first_record(head.start) or ())
    return known or {c.strip().strip('"') for c in first.split(max(",;\t|", key=first.count))}


def table_mark(head: Head) -> bool:
    """Whether there are columns."""
    if head.types is not None or records_mark(head):
        return True
    if rows_of_pairs(head.text_lines)[0]:
        return True
    lines, _ = untitled(
        headed(without_rulers(rows_of_reports(head.text_lines)[0])[:50]), DELIMITERS
    )
    return any(c in line for line in lines[:1] for c in DELIMITERS) or bool(
        columns_by_blanks(lines)
    )
