"""Measure a few settings, well chosen: a search that runs a command for each."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import mkdtemp

import rheostat as rh

PROGRAM = """
import json, sys
nodes, cap_w = int(sys.argv[1]), float(sys.argv[2])
seconds = (5 + 95 / nodes) * (300 / cap_w) ** 0.4
print(json.dumps({"runtime_s": seconds, "energy_j": seconds * nodes * (60 + 0.9 * cap_w)}))
"""

folder = Path(mkdtemp())
(folder / "run.py").write_text(PROGRAM)
line = f"{sys.executable} {folder}/run.py {{nodes}} {{cap_w}}"
space = rh.Space((rh.Knob("nodes", [1, 2, 4, 8, 16]), rh.Knob("cap_w", [150, 200, 250, 300])))
found = rh.search(space, line, budget=8, method="sobol", journal=folder / "search.jsonl")
print(found)
assert len(found.front) == 8

more = rh.search(space, line, budget=8, method="sobol", journal=folder / "search.jsonl")
assert more.choice.setting == found.choice.setting  # from the journal: nothing was run
