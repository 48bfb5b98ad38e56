"""What does a tree lose that imitates a scheduler, and how often does it decide as its teacher?

    python benchmarks/learned_trees.py [--part published] [--trace KTH-SP2] [--quick] [--write-docs]

Parts are published, wide, simple, ours, learned, exports and audit.  Most are of two traces each,
of which ``--trace`` chooses.  Each writes its figures to
``docs/benchmarks/learned_trees.json``; ``--write-docs`` makes the section of
``docs/benchmarks.md`` from that file.  Measured traces are looked for in ``../shared/data/swf`` (or
``RHEOSTAT_DATA``).  Times are CPU seconds of one thread.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from trees_lib.common import CANON, FILES, ROOT

OUT = ROOT / "docs" / "benchmarks" / "learned_trees.json"
WIDE = ("SDSC-SP2",)
AS_ON_THETA: dict[str, Any] = {"hidden": (4000, 1000), "inputs": "raw"}


def measured(part: str, args: argparse.Namespace) -> None:
    """Measure one part, of one trace where one is asked for, and keep each figure once known."""

    def keep(*names: str) -> Callable[[dict[str, Any]], None]:
        return lambda facts: kept(facts, part, *names, show=args.quick)

    if part == "published":
        from trees_lib.published import published

        for name in asked(FILES, args):
            published(name, keep(name), quick=args.quick)
    elif part == "wide":
        from trees_lib.published import published

        for name in asked(WIDE, args):
            published(name, keep(name), quick=args.quick, seeds=(0,), most=2, **AS_ON_THETA)
    elif part in ("simple", "ours", "learned"):
        from trees_lib import ours

        for name in asked(CANON, args):
            getattr(ours, part)(name, lambda who, facts, of=name: keep(of, who)(facts), args.quick)
    elif part == "exports":
        from trees_lib.exports import exports

        keep()(exports(quick=args.quick))
    else:
        from trees_lib.audit import audit

        keep()(audit(quick=args.quick))


def asked(names: Iterable[str], args: argparse.Namespace) -> list[str]:
    """Those of a part's traces that are asked for."""
    return [name for name in names if name in (args.trace or names)]


def kept(facts: dict[str, Any], *names: str, show: bool) -> None:
    """Write ``facts`` at their place among what is there; only ``show`` them where asked to."""
    if show:
        print(json.dumps({".".join(names): facts}, indent=1))
        return
    whole = json.loads(OUT.read_text()) if OUT.is_file() else {}
    place = whole
    for name in names[:-1]:
        place = place.setdefault(name, {})
    place[names[-1]] = facts
    OUT.write_text(json.dumps(whole, indent=1, sort_keys=True) + "\n")


def main() -> None:
    """Measure, keep, show."""
    parser = argparse.ArgumentParser(description=__doc__)
    parts = ("published", "wide", "simple", "ours", "learned", "exports", "audit")
    parser.add_argument("--part", choices=parts, action="append")
    parser.add_argument("--trace", choices=sorted({*FILES, *CANON}), action="append")
    parser.add_argument("--quick", action="store_true", help="small, to see that it runs")
    parser.add_argument("--write-docs", action="store_true")
    args = parser.parse_args()
    for part in args.part or (() if args.write_docs else parts):
        measured(part, args)
    if args.write_docs:
        from trees_lib.page import write

        write(json.loads(OUT.read_text()))


if __name__ == "__main__":
    main()
