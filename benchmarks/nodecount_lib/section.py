"""Put a generated section into a page without touching the others."""

from __future__ import annotations

from pathlib import Path

TITLE = "# Benchmarks\n\nEvery table is written by the command above it; edit none by hand.\n"


def replace_section(page: Path, name: str, lines: list[str]) -> None:
    """Replace the section `name` of a Markdown page, or append it; other sections stay as they are.

    The section stands between two comments, so that it is found again.
    """
    begin, end = f"<!-- {name}: begin, generated -->", f"<!-- {name}: end -->"
    text = page.read_text() if page.exists() else TITLE
    before, found, rest = text.partition(begin)
    after = rest.partition(end)[2] if found else "\n"
    page.parent.mkdir(parents=True, exist_ok=True)
    body = "\n".join(lines)
    page.write_text(f"{before.rstrip()}\n\n{begin}\n{body}\n{end}{after}")
