"""Lines of samples as columns of cells by their headings, whichever tool wrote them."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from rheostat.measurement.monitoring.sample_json import json_cells

STAMPED = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3},.*?[\d.]+ W(,|$)")
"""A line of nvidia-smi without headings."""
ENTITY = re.compile(r"^(GPU|GPU-I|GPU-CI|CPU|Switch) (\d+)\b")
"""How dcgmi begins a line: one device, two words."""
DCMI = re.compile(r"(?:(\S+):)?\s*(Instantaneous power reading|IPMI timestamp):\s*(.*?)\s*")
"""Lines that ``ipmitool dcmi power reading`` prints of each reading, behind a host of ``pdsh``."""
STAMPS = ("%a %b %d %H:%M:%S %Y", "%m/%d/%Y %H:%M:%S", "%m/%d/%y %H:%M:%S")
ANNOTATED = ("#group", "#datatype", "#default")
"""Lines above the headings that InfluxDB writes."""
LOGGED = re.compile(
    r"\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*?)\]?:?\s+(?:(\S+?):?\s+)??"
    r"(?:power|watts)\s*[=:]?\s*(\d+(?:\.\d+)?\s*k?W?)", re.IGNORECASE
)  # fmt: skip
"""``2026-10-05 08:00:00 node01 power=301 W``, a line of a logger."""
WATTS_LAST = re.compile(
    r"\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[^\s,;|\]]*)\]?[,;|:]?\s*(.*?)[\s,;|=:]*"
    r"(?<![\d.])(\d+(?:\.\d+)?)\s*(k?W|watts?)[\s,;|]*", re.IGNORECASE
)  # fmt: skip
"""A moment, whatever a sensor is called, and watts with their unit: ``... | ok | 400 Watts``."""
MOST_NAMES = 64
ALL = "-"
"""What turbostat writes in the place of a core and a processor for all of them together."""


def cells_of(lines: Sequence[str]) -> dict[str, list[str]]:
    """Columns of cells by their heading; rows of another length are cut lines and left out."""
    text = [x.strip() for x in lines if x.strip()]
    if is_dcmi(text):
        return _dcmi(text)
    if text[0][:1] in ("{", "[") and (cells := json_cells(text)):
        return cells
    if logged := _logged(text):
        return logged
    if text[0].startswith(ANNOTATED):
        return _of_influx(text)
    if is_monitor(text[0]):
        comma = "," in text[0]
        heads = _split(text[0].lstrip("# "), "," if comma else None)
        plain = [ENTITY.sub(r"\1_\2", x) for x in text if not x.startswith(("#", "ID"))]
        rows = [_split(x, "," if comma else None) for x in plain]
    elif STAMPED.match(text[0]):
        rows = [_split(x, ",") for x in text]
        heads = [_heading(cell, i) for i, cell in enumerate(rows[0])]
    else:
        text = text[text[0].lower().startswith("sep=") :]
        parted = csv.reader(text, delimiter=delimiter_of(text[0]), skipinitialspace=True)
        heads, *rows = [[cell.strip() for cell in row] for row in parted]
    whole_rows = [row for row in rows if len(row) == len(heads) and row != heads]
    return _of_all({head: [row[i] for row in whole_rows] for i, head in enumerate(heads)})


def _logged(lines: Sequence[str]) -> dict[str, list[str]]:
    """Moments and watts of a logger's lines, with the word between as what was read; else nothing.

    >>> _logged(["2026-10-05 08:00:00 n1 power=301 W", "2026-10-05 08:00:10 n1 power=305 W"])
    {'timestamp': ['2026-10-05 08:00:00', '2026-10-05 08:00:10'], 'power [W]': ['301 W', '305 W'], \
'node': ['n1', 'n1']}
    """
    read_as = [LOGGED.fullmatch(x) for x in lines]
    if not all(read_as):
        return _watts_last(lines)
    at, node, watts = ([m[k] or "" for m in read_as if m] for k in (1, 2, 3))
    return {"timestamp": at, "power [W]": watts} | ({"node": node} if any(node) else {})


def _watts_last(lines: Sequence[str]) -> dict[str, list[str]]:
    """Moments and watts of lines that end in these, with what names the sensor; else nothing.

    >>> _watts_last(["2026-10-05 08:00:00 Pwr | ok | 4 Watts"] * 2)
    {'timestamp': ['2026-10-05 08:00:00', '2026-10-05 08:00:00'], 'power [W]': ['4 W', '4 W']}
    """
    read_as = [m for x in lines if (m := WATTS_LAST.fullmatch(x))]
    if len(read_as) < len(lines) or any("=" in m[2] for m in read_as):  # settings of runs
        return {}
    watts = [f"{m[3]} {'kW' if m[4].lower() == 'kw' else 'W'}" for m in read_as]
    made = {"timestamp": [m[1] for m in read_as], "power [W]": watts}
    for names in ([m[2] for m in read_as], [(m[2].split() or [""])[0] for m in read_as]):
        some = len(set(names))
        if some <= min(MOST_NAMES, len(lines) // 2):
            return made | ({"node": names} if some > 1 else {})
    return made


def _of_influx(lines: Sequence[str]) -> dict[str, list[str]]:
    """Columns of InfluxDB's annotated CSV: moments, values under their field, and tags.

    >>> head = ",result,table,_start,_stop,_time,_value,_field,host"
    >>> _of_influx(["#group,false", head, ",,0,a,b,2026-10-05T08:00:00Z,300,power_w,n1"])
    {'timestamp': ['2026-10-05T08:00:00Z'], 'power_w': ['300'], 'host': ['n1']}
    """
    heads, *rows = csv.reader([x for x in lines if not x.startswith(ANNOTATED)])
    rows = [row for row in rows if len(row) == len(heads) and row != heads]
    cells = {h: [row[i].strip() for row in rows] for i, h in enumerate(heads)}
    fields = set(cells.pop("_field", []))
    named = fields.pop() if len(fields) == 1 else "value"
    ours = {"_time": "timestamp", "_value": named}
    left = {"", "result", "table", "_start", "_stop", "_measurement"}
    return {ours.get(h, h): column for h, column in cells.items() if h not in left}


def is_monitor(line: str) -> bool:
    """Whether a line is the headings of ``nvidia-smi dmon`` or ``dcgmi dmon``."""
    return line.lstrip().startswith("#") and bool(re.search(r"\b(pwr|POWER)\b", line))


def is_dcmi(lines: Sequence[str]) -> bool:
    """Whether lines begin with a reading of ``ipmitool dcmi power reading``."""
    return any("Instantaneous power reading" in x for x in lines[:2])


def _dcmi(lines: Sequence[str]) -> dict[str, list[str]]:
    """Readings of nodes and their moments, by the last line that each reading has.

    >>> at = "IPMI timestamp: Fri May  1 12:00:00 2026"
    >>> _dcmi(["Instantaneous power reading:   220 Watts", at])
    {'timestamp': ['2026-05-01 12:00:00'], 'power [W]': ['220']}
    """
    cells: dict[str, list[str]] = {"node": [], "timestamp": [], "power [W]": []}
    watts = dict[str, str]()
    for match in filter(None, map(DCMI.fullmatch, lines)):
        node, name, value = match[1] or "", match[2], match[3]
        if name.startswith("Inst"):
            watts[node] = value.split()[0]
        elif node in watts:
            said = (node, _stamp(value), watts.pop(node))
            for head, cell in zip(cells, said, strict=True):
                cells[head].append(cell)
    return cells if any(cells["node"]) else {h: v for h, v in cells.items() if h != "node"}


def _stamp(text: str) -> str:
    """A moment as it is written elsewhere; as it stands where it is of no known form."""
    for form in STAMPS:
        try:
            return str(datetime.strptime(re.sub(r"\s+(UTC|GMT|Z).*$", "", text), form))
        except ValueError:
            continue
    return text


def delimiter_of(line: str) -> str:
    """What stands between the cells of a line, outside of quotes."""
    return max(",;\t|", key=re.sub(r'"[^"]*"', "", line).count)


def _of_all(cells: dict[str, list[str]]) -> dict[str, list[str]]:
    """The rows of all processors together, where turbostat wrote one beside those of each.

    >>> _of_all({"CPU": ["-", "0"], "PkgWatt": ["80", "80"]})
    {'CPU': ['-'], 'PkgWatt': ['80']}
    """
    number: Mapping[str, list[str]] = {c: v for c, v in cells.items() if c in ("CPU", "Core")}
    own = {i for v in number.values() for i, cell in enumerate(v) if cell == ALL}
    return {c: [v[i] for i in sorted(own)] for c, v in cells.items()} if own else cells


def _split(line: str, by: str | None) -> list[str]:
    return [cell.strip() for cell in line.split(by)]


def _heading(cell: str, place: int) -> str:
    """The heading of a cell that tells what it is, of nvidia-smi without headings."""
    if re.fullmatch(r"[\d.]+ W", cell):
        return "power.draw [W]" if place else "timestamp"
    named = "name" if re.match(r"[A-Z]\w+ ", cell) else f"column_{place}"
    return "timestamp" if place == 0 else "index" if re.fullmatch(r"\d{1,2}", cell) else named
