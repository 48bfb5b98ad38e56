"""Jobs on the four GPUs of a node: who runs beside whom, on how many GPUs, at what energy."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp

import rheostat as rh

lines = ["app,gpus,runtime_s,power_w"]
for app, serial_s, shared_s, watts in (("lbm", 20, 400, 300), ("bert", 60, 200, 250)):
    lines += [f"{app},{g},{serial_s + shared_s / g},{watts * g}" for g in (1, 2, 4)]
path = Path(mkdtemp()) / "profiles.csv"
path.write_text("\n".join(lines) + "\n")

answer = rh.coschedule(path, "lbm*3,bert*2", node=rh.Node(idle_w=60.0), objective="edp")
print(answer)
assert answer.runs[0].edp_js == min(run.edp_js for run in answer.runs)
