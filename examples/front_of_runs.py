"""Which setting of a measured code: the front of a table of runs, the choice under a deadline."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp

import rheostat as rh

RUNS = """app,nodes,runtime_s,power_w
lbm,1,3600,420
lbm,2,1900,830
lbm,4,1040,1640
lbm,8,640,3260
lbm,16,470,6500
"""

path = Path(mkdtemp()) / "runs.csv"
path.write_text(RUNS)
answer = rh.front(path, knobs="nodes=1..16", limits=["deadline=20m"])  # all was measured
print(answer)
assert answer.choice.setting["nodes"] == 4
