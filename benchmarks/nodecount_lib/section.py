"""Put a generated section into a page without touching the others."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
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


def run(
    program: str,
    told: str,
    *,
    title: str,
    name: str,
    measure: Callable[[bool], dict[str, Any]],
    page: Callable[[dict[str, Any]], list[str]],
) -> None:
    """The command line of a benchmark: measure, print, and write its section of the page if asked.

    ``told`` is the docstring of ``program``; ``measure(quick)`` gives what ``page`` shows.
    """
    parser = argparse.ArgumentParser(description=told.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write-docs", action="store_true")
    args = parser.parse_args()
    facts = measure(args.quick)
    print(json.dumps(facts, indent=2) if args.json else "\n".join(page(facts)))
    if args.write_docs:
        quick = " --quick" * args.quick
        head = [f"## {title}", "", f"    python benchmarks/{program}.py{quick} --write-docs", ""]
        replace_section(PAGE, name, head + page(facts))
