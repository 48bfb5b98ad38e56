"""Workbooks as Excel writes them, of rows: the least that a reader asks of the format."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
KINDS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
XML = "application/vnd.openxmlformats-officedocument.spreadsheetml"
Cell = str | float | None


def write_workbook(path: Path, sheets: Mapping[str, Sequence[Sequence[Cell]]]) -> Path:
    """A workbook of these sheets; an empty cell is None."""
    named, linked = [], []
    with zipfile.ZipFile(path, "w") as members:
        for i, (name, rows) in enumerate(sheets.items(), 1):
            named.append(f'<sheet name={quoteattr(name)} sheetId="{i}" r:id="r{i}"/>')
            linked.append(f'<Relationship Id="r{i}" Type="{KINDS}/worksheet" '
                          f'Target="worksheets/sheet{i}.xml"/>')  # fmt: skip
            body = "".join(_row(n, row) for n, row in enumerate(rows, 1))
            sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{body}</sheetData></worksheet>'
            members.writestr(f"xl/worksheets/sheet{i}.xml", sheet)
        kind = f'<Default Extension="xml" ContentType="{XML}.sheet.main+xml"/>'
        members.writestr("[Content_Types].xml", f'<Types xmlns="{TYPES}">{kind}</Types>')
        members.writestr("xl/workbook.xml", f'<workbook xmlns="{MAIN}" xmlns:r="{KINDS}">'
                         f"<sheets>{''.join(named)}</sheets></workbook>")  # fmt: skip
        rels = f'<Relationships xmlns="{PACKAGE}">{{}}</Relationships>'
        members.writestr("xl/_rels/workbook.xml.rels", rels.format("".join(linked)))
        root = f'<Relationship Id="r1" Type="{KINDS}/officeDocument" Target="xl/workbook.xml"/>'
        members.writestr("_rels/.rels", rels.format(root))
    return path


def _row(number: int, row: Sequence[Cell]) -> str:
    cells = [_cell(f"{chr(65 + i)}{number}", v) for i, v in enumerate(row) if v is not None]
    return f'<row r="{number}">{"".join(cells)}</row>'


def _cell(place: str, value: Cell) -> str:
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f'<c r="{place}"><v>{value!r}</v></c>'
