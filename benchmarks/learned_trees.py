"""What does a tree lose that imitates a scheduler, and how often does it decide as its teacher?

    python benchmarks/learned_trees.py [--part published] [--quick] [--write-docs]

Parts are published, ours, learned, exports and audit.  Each writes its figures to
``docs/benchmarks/learned_trees.json``; ``--write-docs`` makes the section of
``docs/benchmarks.md`` from that file.  Measured traces are looked for in ``../shared/data/swf`` (or
``RHEOSTAT_DATA``).  Times are CPU seconds of one thread.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from trees_lib.common import FILES, ROOT

OUT = ROOT / "docs" / "benchmarks" / "learned_trees.json"


def measured(part: str, *, quick: bool) -> dict[str, Any]:
    """The figures of one part."""
    if part == "published":
        from trees_lib.published import published

        found: dict[str, Any] = {}
        for name in FILES:

            def keep(facts: dict[str, Any], name: str = name) -> None:
                found[name] = facts
                if not quick:
                    kept({"published": found})

            published(name, keep, quick=quick)
        return found
    if part in ("ours", "learned"):
        from trees_lib import ours

        return ours.ours(quick=quick) if part == "ours" else ours.learned(quick=quick)
    if part == "exports":
        from trees_lib.exports import exports

        return exports(quick=quick)
    from trees_lib.audit import audit

    return audit(quick=quick)


def kept(found: dict[str, Any]) -> None:
    """Write what was found beside what is there."""
    facts = json.loads(OUT.read_text()) if OUT.is_file() else {}
    OUT.write_text(json.dumps(facts | found, indent=1, sort_keys=True) + "\n")


def main() -> None:
    """Measure, keep, show."""
    parser = argparse.ArgumentParser(description=__doc__)
    parts = ("published", "ours", "learned", "exports", "audit")
    parser.add_argument("--part", choices=parts, action="append")
    parser.add_argument("--quick", action="store_true", help="small, to see that it runs")
    parser.add_argument("--write-docs", action="store_true")
    args = parser.parse_args()
    for part in args.part or (() if args.write_docs else parts):
        found = {part: measured(part, quick=args.quick)}
        if args.quick:
            print(json.dumps(found, indent=1))
            continue
        kept(found)
    if args.write_docs:
        from trees_lib.page import write

        write(json.loads(OUT.read_text()))


if __name__ == "__main__":
    main()
