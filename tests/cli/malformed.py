"""Every argument that takes a file, found in the command tree; what may be wrong with a file."""

from __future__ import annotations

import gzip
import inspect
import io
import json
import os
import pickle
import random
import re
import shutil
import typing
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from rheostat.cli.app import app

COMMAS = 10_000_000
SEED = int(os.environ.get("RHEOSTAT_FUZZ_SEED") or 0)
"""Of what is drawn of all that may be wrong; `make fuzz` tries it all."""


def commands(tree: typer.Typer = app, before: str = "") -> Iterator[tuple[str, Callable[..., Any]]]:
    """(words, function) of every command, groups included."""
    for info in tree.registered_commands:
        assert info.callback is not None
        name = info.name or info.callback.__name__.replace("_", "-")
        yield f"{before}{name}", info.callback
    for group in tree.registered_groups:
        assert group.typer_instance is not None
        yield from commands(group.typer_instance, f"{before}{group.name} ")


@dataclass(frozen=True)
class Slot:
    """One argument or option of one command; ``flag`` is empty for an argument."""

    command: str
    name: str
    flag: str
    is_path: bool
    help: str
    written: bool

    @property
    def id(self) -> str:
        """As people write it."""
        return f"{self.command} {self.flag or self.name.upper()}"


def slots() -> Iterator[Slot]:
    """Every argument and option of every command."""
    for command, function in commands():
        for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
            hint = parameter.annotation
            info = next(
                (m for m in getattr(hint, "__metadata__", ()) if hasattr(m, "param_decls")), None
            )
            if info is None:
                continue
            told = [d for d in (info.default, *(info.param_decls or ())) if isinstance(d, str)]
            flags = [d.split("/")[0] for d in told if d.startswith("--")]
            option = isinstance(info, typer.models.OptionInfo)
            flag = (flags or [f"--{name.replace('_', '-')}"])[0] if option else ""
            kinds = {hint.__origin__, *typing.get_args(hint.__origin__)}
            yield Slot(command, name, flag, Path in kinds, info.help or "", info.writable)


def lacking(name: str) -> str:
    """What a call needs and this machine has not; empty where nothing is lacking."""
    from rheostat.measurement.network.generate import without_simgrid

    if name.startswith("network generate"):
        return without_simgrid()
    compilers = shutil.which("gcc") or shutil.which("clang")
    return "gcc not installed" if name.startswith("code ") and not compilers else ""


def takes_a_file(slot: Slot) -> bool:
    """A path that is read, or text that may name a file (``tree:FILE``): its help says so."""
    if slot.is_path:
        return not slot.written
    return re.search(r"(?i)\bfiles?\b|\bfolder\b", slot.help) is not None


# --- one valid, cheap call per command ---------------------------------------------------------

RUNS = "app,nodes,runtime_s,power_w,user,submit_s\n" + "".join(
    f"{a},{n},{100 / n + 3 * i},{200 * n + 7 * i},u{i % 2},{1000 * i + k}\n"
    for i in range(8) for k, a in enumerate("abc") for n in (1, 2, 4)
)  # fmt: skip
CAPPED = "app,cpu_cap_w,gpu_cap_w,runtime_s,power_w\n" + "".join(
    f"{a},{c},{g},{100 + 9000 / c + 9000 * (k + 1) / g},{0.9 * (c + g)}\n"
    for k, a in enumerate("abcd") for c in (100, 150, 200) for g in (150, 200, 300)
)  # fmt: skip
COUNTERS = "app,run_id,span_s,ipc,core_hz,package_power_w\n" + "".join(
    f"{a},{a}{r},1.0,{0.5 + 0.1 * k + 0.01 * r},{1e9 * (2 + 0.1 * r)},{50 + 9 * k + r}\n"
    for k, a in enumerate("abcd") for r in range(4)
)  # fmt: skip
SWF = "; MaxProcs: 16\n" + "".join(
    f"{i} {60 * i} -1 {900 + i} {2 + i % 7} -1 -1 {2 + i % 7} {2000 + i} -1 1 {1 + i % 3} 1 -1 1 "
    "1 -1 -1\n"
    for i in range(1, 41)
)
SACCT = "JobID|State|Submit|Start|End|ElapsedRaw|ConsumedEnergyRaw|NodeList\n" + "".join(
    f"{i}|COMPLETED|{1000 + i}|{2000 + i}|{2060 + i}|60||n[1-2]\n"
    f"{i}.batch|COMPLETED|{2000 + i}|{2000 + i}|{2060 + i}|60|{600 + i}|n1\n"
    for i in range(1, 9)
)  # fmt: skip
PROFILES = "app,gpus,runtime_s,power_w\n" + "".join(
    f"{a},{g},{400 / g + 10 * k},{250 * g}\n" for k, a in enumerate("ab") for g in (1, 2, 3, 4)
)
RECORDING = (
    "t_s,meter,domain,kind,range_j,least_window_s,most_w,part_of,value\n"
    + "".join(f"{0.1 * i},rapl,package-0,energy,262143.3,0.05,2000.0,,{500 + 5.0 * i}\n"
              for i in range(20))
)  # fmt: skip
PLAN = {
    "schema": "rheostat.plan/1",
    "nodes": [{"node": "n1", "app": "a", "before": {"cpu_cap_w": 150.0},
               "after": {"cpu_cap_w": 120.0}}],
}  # fmt: skip
SERVING = "app,params,gpu_model,gpus,batch_cap,itl_s,energy_per_token_j\n" + "".join(
    f"{a},{8 + k}e9,{d},{g},{b},{0.01 + b / 1e4 / g},{0.5 * g / b + 0.05}\n"
    for k, a in enumerate("ab") for d in ("H100", "B200") for g in (1, 2) for b in (8, 64)
)  # fmt: skip
REQUESTS = "prompt,output_tokens\n" + "".join(
    f"{'write an essay on' if i % 2 else 'say yes to'} {i % 7},{300 if i % 2 else 3}\n"
    for i in range(40)
)
TRAFFIC = "submit_s,prompt_tokens,output_tokens\n" + "".join(
    f"{0.2 * i},{20 + 7 * i % 90},{3 + i % 11}\n" for i in range(30)
)
RECORDED = "submit_s,prompt_tokens,output_tokens,start_s,end_s\n" + "".join(
    f"{0.2 * i},{20 + 7 * i % 90},{3 + i % 11},{0.2 * i + 0.05},{0.2 * i + 0.3}\n"
    for i in range(30)
)
STEP = """HloModule step

ENTRY main {
  x = f32[8,4]{1,0} parameter(0)
  w = f32[4,2]{1,0} parameter(1)
  h = f32[8,2]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT y = f32[8,2]{1,0} tanh(h)
}
"""
MARKS = "".join(
    f"ITERATION {i} node {r} job {j} rank {r % 2} time {1e6 * (2 + j) * (i + 1) + 7.5 * r}\n"
    for i in range(24) for j in (0, 1) for r in (2 * j, 2 * j + 1)
)  # fmt: skip
TRAINING = "app,device,image_px,classes,batch_size,runtime_s\n" + "".join(
    f"{a},{d},32,10,{b},{(k + 1) * (0.001 + b / 1e5)}\n"
    for a in ("LeNet5", "MNIST_CNN") for k, d in enumerate("AB") for b in (8, 16, 32)
)  # fmt: skip
TRIED = "job_id,app,user,submit_s,nodes,nodes_requested,runtime_s,power_w\n" + "".join(
    f"{i + 1},{'ab'[i % 2]},u{i % 3},{60 * i},{(1, 4, 2)[i % 3]},{(4, 4, 2)[i % 3]},"
    f"{60 / (1, 4, 2)[i % 3] + i % 4},{100 * (1, 4, 2)[i % 3]}\n"
    for i in range(48)
)
TIMES = "iteration,rank,runtime_ms\n" + "".join(
    f"{i},{r},{3 + 0.1 * (i % 4) + 0.01 * r}\n" for i in range(14) for r in (0, 1)
)
TEXTS = {
    "step.hlo": STEP,
    "run/iterations.txt": MARKS,
    "times.csv": TIMES,
    "wl.conf": "2 ./milc.json 0 0\n1 synthetic1 0 5000\n",
    "alloc.conf": "7 8\n9\n",
    "net.conf": 'num_groups="3";\nnum_routers="2";\nnum_cns_per_router="2";\n'
    'num_global_channels="1";\nlocal_bandwidth="2";\ncn_bandwidth="0.5";\n',
    "training.csv": TRAINING,
    "training.toml": '[columns]\nruntime_s = "runtime_s"\n',
    "serving.csv": SERVING,
    "requests.csv": REQUESTS,
    "traffic.csv": TRAFFIC,
    "recorded.csv": RECORDED,
    "model.json": '{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, '
    '"vocab_size": 32000, "num_attention_heads": 32, "intermediate_size": 14336}',
    "serving.toml": '[columns]\nitl_s = "itl_s"\n',
    "sum.c": '#include <stdio.h>\nint main(void) { printf("%d\\n", 1 + 1); return 0; }\n',
    "hecbench/src/loop-omp/main.c": "#include <stdio.h>\nint main(void) {\n"
    '  for (volatile int i = 0; i < 600000000; i++) ;\n  puts("1");\n  return 0;\n}\n',
    "loop.c": "#include <stdio.h>\nint main(void) {\n  double a[9], s = 0;\n"
    "  for (int i = 0; i < 9; i++) a[i] = i;\n  for (int i = 0; i < 9; i++) s += a[i];\n"
    '  printf("%g\\n", s);\n  return 0;\n}\n',
    "parallel.c": "#include <stdio.h>\nint main(void) {\n  double s = 0;\n"
    "#pragma omp parallel for reduction(+ : s)\n  for (int i = 0; i < 9; i++) s += i;\n"
    '  printf("%g\\n", s);\n  return 0;\n}\n',
    "program.toml": 'files = ["sum.c"]\nrun = "./program"\n[inputs]\narguments = "{n}"\n'
    "n = {low = 1, high = 9}\n",
    "sacct.txt": SACCT,
    "waiting.txt": "JobID|State|Submit|Start|End|ElapsedRaw\n7|PENDING|1000|Unknown|Unknown|0\n",
    "advice.csv": "app,user,nodes,nodes_requested,status\ncfd,u1,2,4,advised\nmd,u2,4,4,kept\n",
    "told.csv": "app,nodes,nodes_requested,status,energy_j_change,energy_j_change_low,"
    "energy_j_change_high\nlbm,4,8,advised,-0.3,-0.4,-0.1\n",
    "drawn.csv": "app,nodes,nodes_requested,trial_arm,runtime_s,energy_j\n"
    + "".join(f"lbm,4,8,advised,9,{60 + k}\nlbm,8,8,asked,8,{90 + k}\n" for k in range(3)),
    "evening.csv": "time,available_share,price_per_mwh\n00:00,1,50\n17:00,.8,120\n20:00,1,60\n",
    "power.toml": 'url = "http://127.0.0.1:9"\n[[series]]\nquery = "up"\nnode = "instance"\n',
    "runs.csv": RUNS,
    "tokens": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad site reader\n",
    "capped.csv": CAPPED,
    "whole.csv": "app,cap_w,runtime_s,power_w\nlbm,200,1.2,190\nlbm,300,1.0,280\n",
    "served.csv": "app,cap_w,runtime_s,power_w\nchat,200,1.2,190\nchat,300,1.0,280\n",
    "counters.csv": COUNTERS,
    "trace.swf": SWF,
    "profiles.csv": PROFILES,
    "tried.csv": TRIED,
    "trial.csv": "job_id,nodes,nodes_requested,takes_part\n1,1,4,true\n2,4,4,false\n",
    "ids.csv": "job_id,nodes,runtime_s,user\n1,4,10,u1\n2,8,20,u2\n",
    "queue.csv": "app,job_id,submit_s\na,j1,0\nb,j2,5\na,j3,10\n",
    "recording.csv": RECORDING,
    "map.toml": '[columns]\nruntime_s = "runtime_s"\n[known]\nuser = "submit"\n',
    "space.toml": "[knobs]\nnodes = [1, 2, 4]\ncap_w = {low = 100, high = 300}\n",
    "nodes.toml": "[knobs]\nnodes = [1, 2, 4]\n",
    "machine.toml": "procs = 16\nidle_w = 50.0\nbusy_w = 100.0\n",
    "limits.toml": '[site]\ntotal = 2000.0\n[rack]\nr1 = "1 kW"\n',
    "follow.toml": "[site]\ntotal = {from_s = [0, 3600], value = [2000.0, 1500.0]}\n",
    "nodes.csv": "node,app,cpu_cap_w,gpu_cap_w,rack\nn1,a,150,200,r1\nn2,b,150,200,r1\n",
    "alternatives.csv": "job_id,cores,runtime_s,time_limit_s\n1,2,50,100\n1,4,30,100\n2,1,99,200\n",
    "site.conf": "PriorityWeightAge=1000\nPriorityWeightJobSize=500\nPriorityMaxAge=7-0\n",
    "site.toml": "age = 1000.0\nsize = 500.0\nshares = {u1 = 2.0}\n",
    "plan.json": json.dumps(PLAN, indent=1),
    "rheostat.toml": '[read]\nknown = ["user=submit"]\n[front]\nseed = 3\n',
    "one.csv": CAPPED.splitlines()[0] + "\n" + "\n".join(CAPPED.splitlines()[27:30]) + "\n",
}
# One call per argument that takes a file: which valid file stands there, and the call, in which
# FILE is that file and @NAME another valid one.  The rest keeps the call short.
FIT = "fit @runs.csv --kind lightgbm --test-fraction 0 --out @made"
FRONT = "front @runs.csv --where app=a --model @runs.model --knob nodes=1,2"
DECIDE = "decide @runs.csv --model @runs.model --knob nodes=1,2"
BACKTEST = "backtest @runs.csv --kind lightgbm --knob nodes=1,2"
COUNT = "counters FILE --methods ridge --leave-out application"
COMPARE = "compare --policies fcfs --heuristics sjf --traces @trace.swf --processes 1"
SEARCH = "search @space.toml --measure 'echo {nodes}.5' --objectives runtime_s --budget 1"
SEARCH += " --method sobol"
PRINTED = r"""'printf "{{\"runtime_s\": %s, \"power_w\": 9}}" {nodes}'"""
LAW = f"search @nodes.toml --measure {PRINTED} --budget 1"
NEXT = "next --where app=a --knob nodes=1,2,4,8 --method sobol"
TRAIN = "train @trace.swf --out @made --agent ours --updates 1"
FOLLOW = "budget follow @capped.csv --limits @follow.toml"
RUN = "budget run @plan.json --settle 0"
IMITATE = "explain fcfs --rounds 1"
VERIFIED = "--budget 1 --rungs output --unsafe-no-sandbox --seed 1"
TRANSLATE = f"code translate --to openmp --model m {VERIFIED}"
REFACTOR = f"code refactor --model m {VERIFIED}"
VARY = "code search --to openmp --budget 1 --rungs output --unsafe-no-sandbox --seed 1"
VERIFY = "code verify --rungs parse --unsafe-no-sandbox --seed 1"
BRIEFLY = "--port 0 --stop-after 0.05"
PLAN_ON = "--tree @panel --settle 0"
SERVE = "network serve --endpoint tcp://127.0.0.1:* --stop-after 0.05"
SERVED = f"{SERVE} --workload @wl.conf --allocation @alloc.conf"
JUDGED = "--dry-run --test-period 5min"
CALLS: dict[str, tuple[str, str]] = {
    "read FILE": ("runs.csv", "read FILE"),
    "read --map": ("map.toml", "read @runs.csv --map FILE"),
    "site ingest --from": ("sacct.txt", "site ingest --store @made --from FILE"),
    "site ingest --store": ("", "site ingest --from @sacct.txt --store FILE"),
    "site power --store": ("", "site power --map @power.toml --store FILE"),
    "site power --map": ("power.toml", "site power --store @store --map FILE"),
    "site install ADVICE": ("advice.csv", "site install FILE --etc @folder --dry-run"),
    "site install --etc": ("", "site install @advice.csv --dry-run --etc FILE"),
    "site install --priority": (
        "site.conf", "site install @advice.csv --etc @folder --dry-run --priority FILE"
    ),
    "site install --plan": (
        "plan.json", "site install @advice.csv --etc @folder --dry-run --plan FILE"
    ),
    "site what-if LOG": (
        "trace.swf", "site what-if FILE --grid @evening.csv --machine @machine.toml --replays 0"
    ),
    "site what-if --grid": (
        "evening.csv", "site what-if @trace.swf --grid FILE --machine @machine.toml --replays 0"
    ),
    "site what-if --machine": (
        "machine.toml", "site what-if @trace.swf --grid @evening.csv --machine FILE --replays 0"
    ),
    "site drift LOG": ("trace.swf", "site drift FILE --model @trace.model"),
    "site drift --model": ("trace.model", "site drift @trace.swf --model FILE"),
    "site refit LOG": ("trace.swf", f"site refit FILE --model @trace.model {JUDGED}"),
    "site refit --model": ("trace.model", f"site refit @trace.swf --model FILE {JUDGED}"),
    "site shadow LOG": ("drawn.csv", "site shadow FILE --advice @told.csv"),
    "site shadow --advice": ("told.csv", "site shadow @drawn.csv --advice FILE"),
    "site uninstall --etc": ("", "site uninstall --dry-run --etc FILE"),
    "summary FILE": ("trace.swf", "summary FILE"),
    "summary --map": ("map.toml", "summary @runs.csv --map FILE"),
    "summary --machine": ("machine.toml", "summary @trace.swf --machine FILE"),
    "measure --rapl-root": ("", "measure --meters rapl --rapl-root FILE -- true"),
    "measure --replay": ("recording.csv", "measure --replay FILE"),
    "fetch --cache": ("", "fetch pm100 --base-url http://127.0.0.1:9 --cache FILE"),
    "fit FILES": ("runs.csv", FIT.replace("@runs.csv", "FILE")),
    "fit --map": ("map.toml", f"{FIT} --map FILE"),
    "fit --work": ("", FIT.replace("lightgbm", "xgboost --out-of-core") + " --work FILE"),
    "predict FILE": ("runs.csv", "predict FILE --model @runs.model"),
    "predict --model": ("runs.model", "predict @runs.csv --model FILE"),
    "predict --map": ("map.toml", "predict @runs.csv --model @runs.model --map FILE"),
    "compare FILE": ("runs.csv", "compare FILE --kinds lightgbm"),
    "compare --map": ("map.toml", "compare @runs.csv --kinds lightgbm --map FILE"),
    "compare --traces": ("trace.swf", COMPARE.replace("@trace.swf", "FILE")),
    "compare --results": ("results", f"{COMPARE} --results FILE"),
    "compare --machine": ("machine.toml", f"{COMPARE} --machine FILE"),
    "compare --estimates": ("trace.model", f"{COMPARE} --estimates FILE"),
    "compare --policies": ("tree", COMPARE.replace("fcfs", "tree:FILE+easy")),
    "counters FILES": ("counters.csv", COUNT),
    "counters --model": ("counters.model", "counters @counters.csv --model FILE"),
    "counters --predict": (
        "counters.csv", COUNT.replace("FILE", "@counters.csv") + " --predict FILE"
    ),
    "front FILE": ("runs.csv", FRONT.replace("@runs.csv", "FILE")),
    "front --model": ("runs.model", FRONT.replace("@runs.model", "FILE")),
    "front --map": ("map.toml", f"{FRONT} --map FILE"),
    "decide FILE": ("runs.csv", DECIDE.replace("@runs.csv", "FILE")),
    "decide --past": ("runs.csv", "decide @runs.csv --kind lightgbm --knob nodes=1,2 --past FILE"),
    "decide --model": ("runs.model", DECIDE.replace("@runs.model", "FILE")),
    "decide --map": ("map.toml", f"{DECIDE} --map FILE"),
    "backtest FILE": ("runs.csv", BACKTEST.replace("@runs.csv", "FILE")),
    "backtest --map": ("map.toml", f"{BACKTEST} --map FILE"),
    "search SPACE": ("space.toml", SEARCH.replace("@space.toml", "FILE")),
    "search --journal": ("journal", f"{SEARCH} --journal FILE"),
    "search --prior": ("runs.csv", f"{LAW} --method law --prior FILE"),
    "search --power-model": ("runs.model", f"{LAW} --method sobol --power-model FILE"),
    "search --from": ("runs.csv", f"{LAW} --method sobol --from FILE"),
    "next FILE": ("runs.csv", f"{NEXT} FILE"),
    "next --map": ("map.toml", f"{NEXT} @runs.csv --map FILE"),
    "next --prior": ("runs.csv", f"{NEXT} @runs.csv --method law --prior FILE"),
    "trial plan FILE": ("trace.swf", "trial plan FILE --knob cores"),
    "trial plan --map": ("map.toml", "trial plan @ids.csv --map FILE"),
    "trial plan --past": ("trace.swf", "trial plan @trace.swf --knob cores --past FILE"),
    "trial read FILE": ("tried.csv", "trial read FILE"),
    "trial read --map": ("map.toml", "trial read @tried.csv --map FILE"),
    "trial read --plan": ("trial.csv", "trial read @tried.csv --plan FILE"),
    "decide --trial": ("trial.csv", "decide @tried.csv --knob nodes=1,2,4 --trial FILE"),
    "front --trial": (
        "trial.csv", "front @tried.csv --job 48 --knob nodes=1,2,4 --trial FILE"
    ),
    "backtest --trial": ("trial.csv", "backtest @tried.csv --knob nodes=1,2,4 --trial FILE"),
    "caps KNOWN": ("capped.csv", "caps FILE --app d"),
    "caps --tried": ("one.csv", "caps @capped.csv --app d --tried FILE"),
    "caps --map": ("map.toml", "caps @capped.csv --app d --map FILE"),
    "coschedule PROFILES": ("profiles.csv", "coschedule FILE"),
    "coschedule --queue": ("queue.csv", "coschedule @profiles.csv --queue FILE"),
    "simulate TRACE": ("trace.swf", "simulate FILE"),
    "simulate --machine": ("machine.toml", "simulate @trace.swf --machine FILE"),
    "simulate --map": ("map.toml", "simulate @runs.csv --machine 8 --map FILE"),
    "simulate --policy": ("tree", "simulate @trace.swf --policy tree:FILE+easy"),
    "simulate --policy (multifactor)": (
        "site.toml", "simulate @trace.swf --policy multifactor:FILE+easy"
    ),
    "simulate --policy (slurm.conf)": (
        "site.conf", "simulate @trace.swf --policy multifactor:FILE+easy"
    ),
    "simulate --policy (agent)": ("ranker", "simulate @trace.swf --policy agent:FILE"),
    "simulate --estimates": ("trace.model", "simulate @trace.swf --estimates FILE"),
    "simulate --alternatives": (
        "alternatives.csv", "simulate @trace.swf --machine @machine.toml --alternatives FILE"
    ),
    "simulate --power-model": (
        "watts.model", "simulate @watts.parquet --machine 16 --power-model FILE"
    ),
    "train TRACE": ("trace.swf", TRAIN.replace("@trace.swf", "FILE")),
    "train --out": ("ranker", TRAIN.replace("@made", "FILE")),
    "train --machine": ("machine.toml", f"{TRAIN} --machine FILE"),
    "train --power-model": ("watts.model", TRAIN.replace("trace.swf", "watts.parquet --machine 16")
                      + " --power-model FILE"),
    "explain POLICY": ("tree", "explain FILE"),
    "explain POLICY (agent)": ("ranker", "explain agent:FILE --trace @trace.swf --rounds 1"),
    "explain --trace": ("trace.swf", f"{IMITATE} --trace FILE"),
    "explain --machine": ("machine.toml", f"{IMITATE} --trace @trace.swf --machine FILE"),
    "budget plan FILE": ("capped.csv", "budget plan FILE --budget 1500W"),
    "budget plan --served": (
        "served.csv", "budget plan @whole.csv --budget 1500W --served FILE"
    ),
    "budget plan --limits": (
        "limits.toml", "budget plan @capped.csv --nodes @nodes.csv --limits FILE"
    ),
    "budget plan --nodes": ("nodes.csv", "budget plan @capped.csv --budget 1500W --nodes FILE"),
    "budget plan --map": ("map.toml", "budget plan @capped.csv --budget 1500W --map FILE"),
    "budget follow FILE": ("capped.csv", "budget follow FILE --limits @follow.toml"),
    "budget follow --limits": ("follow.toml", "budget follow @capped.csv --limits FILE"),
    "budget follow --nodes": (
        "nodes.csv", "budget follow @capped.csv --limits @follow.toml --nodes FILE"
    ),
    "budget plan --tree": (
        "", "budget plan @capped.csv --budget 1500W --nodes @nodes.csv --from device --tree FILE"
    ),
    "budget plan --rapl": (
        "", "budget plan @capped.csv --budget 1500W --nodes @nodes.csv --from device --rapl FILE"
    ),
    "budget follow --tree": ("", f"{FOLLOW} --nodes @nodes.csv --from device --tree FILE"),
    "budget follow --rapl": ("", f"{FOLLOW} --nodes @nodes.csv --from device --rapl FILE"),
    "budget follow --map": (
        "map.toml", "budget follow @capped.csv --limits @follow.toml --map FILE"
    ),
    "budget diff FILE": ("plan.json", "budget diff FILE --tree @panel"),
    "budget diff --tree": ("", "budget diff @plan.json --tree FILE"),
    "budget diff --rapl": ("", "budget diff @plan.json --node n1 --rapl FILE"),
    "budget apply FILE": ("plan.json", f"budget apply FILE {PLAN_ON} --journal @made"),
    "budget apply --journal": ("restore", f"budget apply @plan.json {PLAN_ON} --journal FILE"),
    "budget apply --tree": ("", "budget apply @plan.json --settle 0 --journal @made --tree FILE"),
    "budget apply --rapl": (
        "", "budget apply @plan.json --settle 0 --journal @made --node n1 --rapl FILE"
    ),
    "budget restore --journal": ("restore", f"budget restore {PLAN_ON} --journal FILE"),
    "budget restore --tree": ("", "budget restore --settle 0 --journal @restore --tree FILE"),
    "budget restore --rapl": ("", "budget restore --settle 0 --journal @restore --rapl FILE"),
    "budget run FILE": ("plan.json", f"budget run FILE {PLAN_ON} --journal @made -- true"),
    "budget run --journal": ("restore", f"budget run @plan.json {PLAN_ON} --journal FILE -- true"),
    "budget run --tree": ("", f"{RUN} --journal @made --tree FILE -- true"),
    "budget run --rapl": ("", f"{RUN} --journal @made --node n1 --rapl FILE -- true"),
    "budget slurm --journals": ("", "budget slurm @plan.json --out @folder --journals FILE"),
    "budget slurm FILE": ("plan.json", "budget slurm FILE --out @folder"),
    "llm fit RUNS": ("serving.csv", "llm fit FILE"),
    "llm fit --kernels": ("", "llm fit @serving.csv --kernels FILE"),
    "llm fit --model-config": (
        "model.json", "llm fit @serving.csv --where app=a --model-config FILE"
    ),
    "llm fit --map": ("serving.toml", "llm fit @serving.csv --map FILE"),
    "llm plan RUNS": ("serving.csv", "llm plan FILE --app a"),
    "llm plan --kernels": ("", "llm plan @serving.csv --app a --kernels FILE"),
    "llm plan --model-config": (
        "model.json", "llm plan @serving.csv --app a --model-config FILE"
    ),
    "llm plan --map": ("serving.toml", "llm plan @serving.csv --app a --map FILE"),
    "llm plan --trace": ("traffic.csv", "llm plan @serving.csv --app a --trace FILE"),
    "llm rank REQUESTS": ("requests.csv", "llm rank FILE"),
    "llm rank --model": ("ranks.model", "llm rank @requests.csv --model FILE"),
    "llm rank --encoder": ("", "llm rank @requests.csv --encoder FILE"),
    "llm simulate TRACE": ("traffic.csv", "llm simulate FILE"),
    "llm proxy --model": ("ranks.model", "llm proxy --upstream http://127.0.0.1:9 --port 0 "
                          "--stop-after 0.1 --model FILE"),
    "serve LOG": ("tried.csv", f"serve FILE {BRIEFLY}"),
    "serve --model": ("runs.model", f"serve @tried.csv {BRIEFLY} --model FILE"),
    "serve --machine": ("machine.toml", f"serve @tried.csv {BRIEFLY} --machine FILE"),
    "serve --tokens": ("tokens", f"serve @tried.csv {BRIEFLY} --tokens FILE"),
    "llm calibrate RECORDED": ("recorded.csv", "llm calibrate FILE --learn 5"),
    "dnn import SOURCES": ("step.hlo", "dnn import FILE"),
    "code search PROGRAM": ("loop.c", f"{VARY} FILE"),
    "code translate PROGRAM": ("loop.c", f"{TRANSLATE} FILE"),
    "code translate --gguf": ("", f"{TRANSLATE} @loop.c --model '' --gguf FILE"),
    "code translate --larger-gguf": ("", f"{TRANSLATE} @loop.c --larger-gguf FILE"),
    "code translate --reference": ("parallel.c", f"{TRANSLATE} @loop.c --reference FILE"),
    "code refactor PROGRAM": ("loop.c", f"{REFACTOR} FILE"),
    "code refactor --gguf": ("", f"{REFACTOR} @loop.c --model '' --gguf FILE"),
    "code refactor --larger-gguf": ("", f"{REFACTOR} @loop.c --larger-gguf FILE"),
    "code search --gguf": ("", f"{VARY} @loop.c --gguf FILE"),
    "code search --larger-gguf": ("", f"{VARY} @loop.c --model m --larger-gguf FILE"),
    "code suite --hecbench": ("", "code suite --hecbench FILE"),
    "code verify ORIGINAL": ("sum.c", f"{VERIFY} FILE @sum.c"),
    "code verify CANDIDATE": ("sum.c", f"{VERIFY} @sum.c FILE"),
    "code verify --manifest": ("program.toml", f"{VERIFY} @sum.c @sum.c --manifest FILE"),
    "network read FOLDER": ("times.csv", "network read FILE"),
    "network forecast FOLDER": ("", "network forecast FILE"),
    "network fit FOLDER": ("times.csv", "network fit FILE"),
    "network serve --model": ("times.model", f"{SERVE} --model FILE"),
    "network serve --workload": ("wl.conf", f"{SERVE} --workload FILE --allocation @alloc.conf"),
    "network serve --net": ("net.conf", f"{SERVED} --net FILE --telemetry @none.npz"),
    "network serve --telemetry": ("ports.npz", f"{SERVED} --net @net.conf --telemetry FILE"),
    "network serve --allocation": (
        "alloc.conf", f"{SERVE} --workload @wl.conf --allocation FILE"
    ),
    "dnn fit RUNS": ("training.csv", "dnn fit FILE --out @made"),
    "dnn fit --map": ("training.toml", "dnn fit @training.csv --out @made --map FILE"),
    "dnn predict SOURCE": ("steps.model", "dnn predict FILE --model-name lenet5 --image-px 32"),
    "dnn front SOURCE": ("steps.model", "dnn front FILE --model-name lenet5 --image-px 32"),
    "dnn predict FILE": ("training.csv", "dnn predict @steps.model FILE"),
    "dnn fit --graphs": ("", "dnn fit @training.csv --out @made --graphs FILE"),
    "dnn predict --graphs": ("", "dnn predict @steps.model @training.csv --graphs FILE"),
    "dnn predict --map": ("training.toml", "dnn predict @steps.model @training.csv --map FILE"),
    "rheostat.toml": ("rheostat.toml", "read @runs.csv"),
}  # fmt: skip


MAKING = (
    "site ingest --from @waiting.txt --store @store",
    "network fit @run --app job-0 --save @times.model",
    "fit @runs.csv --kind lightgbm --test-fraction 0 --out @runs.model",
    "fit @trace.swf --kind lightgbm --test-fraction 0 --out @trace.model",
    "fit @watts.parquet --kind lightgbm --test-fraction 0 --out @watts.model",
    COUNT.replace("FILE", "@counters.csv") + " --save @counters.model",
    "llm rank @requests.csv --save @ranks.model",
    "dnn fit @training.csv --out @steps.model",
    "explain fcfs --trace @trace.swf --rounds 1 --save @tree",
    "train @trace.swf --out @ranker --agent ours --updates 1",
    f"{COMPARE} --results @results",
    f"{SEARCH} --journal @journal",
    f"budget apply @plan.json {PLAN_ON} --journal @restore",
)
"""Calls that make the other valid files."""

WRITTEN = {
    "demo --html": "demo --jobs 200 --kind lightgbm --html FILE",
    "demo --figure": "demo --jobs 200 --kind lightgbm --figure FILE",
    "read --out": "read @runs.csv --out FILE",
    "site what-if --html": (
        "site what-if @trace.swf --grid @evening.csv --machine @machine.toml --replays 0"
        " --html FILE"
    ),
    "site shadow --html": "site shadow @drawn.csv --advice @told.csv --html FILE",
    "summary --html": "summary @runs.csv --html FILE",
    "summary --figure": "summary @runs.csv --figure FILE",
    "measure --record": "measure --meters rapl --record FILE -- true",
    "measure --html": "measure --meters rapl --html FILE -- true",
    "fit --out": FIT.replace("@made", "FILE"),
    "compare --html": "compare @runs.csv --kinds lightgbm --html FILE",
    "compare --figure": "compare @runs.csv --kinds lightgbm --figure FILE",
    "counters --save": COUNT.replace("FILE", "@counters.csv") + " --save FILE",
    "counters --html": COUNT.replace("FILE", "@counters.csv") + " --html FILE",
    "counters --figure": COUNT.replace("FILE", "@counters.csv") + " --figure FILE",
    "front --html": f"{FRONT} --html FILE",
    "front --figure": f"{FRONT} --figure FILE",
    "decide --out": f"{DECIDE} --out FILE",
    "decide --html": f"{DECIDE} --html FILE",
    "decide --figure": f"{DECIDE} --figure FILE",
    "backtest --html": f"{BACKTEST} --html FILE",
    "backtest --figure": f"{BACKTEST} --figure FILE",
    "search --html": f"{SEARCH} --html FILE",
    "search --figure": f"{SEARCH} --figure FILE",
    "trial plan --out": "trial plan @trace.swf --knob cores --out FILE",
    "caps --out": "caps @capped.csv --app d --out FILE",
    "caps --html": "caps @capped.csv --app d --html FILE",
    "caps --figure": "caps @capped.csv --app d --figure FILE",
    "coschedule --out": "coschedule @profiles.csv --out FILE",
    "coschedule --html": "coschedule @profiles.csv --html FILE",
    "coschedule --figure": "coschedule @profiles.csv --figure FILE",
    "simulate --schedule": "simulate @trace.swf --schedule FILE",
    "simulate --html": "simulate @trace.swf --html FILE",
    "simulate --figure": "simulate @trace.swf --figure FILE",
    "train --html": f"{TRAIN} --html FILE",
    "train --figure": f"{TRAIN} --figure FILE",
    "explain --save": "explain @tree --save FILE",
    "explain --out": "explain @tree --export c --out FILE",
    "explain --html": "explain @tree --html FILE",
    "explain --figure": "explain @tree --figure FILE",
    "budget plan --out": "budget plan @capped.csv --budget 1500W --out FILE",
    "budget plan --html": "budget plan @capped.csv --budget 1500W --html FILE",
    "budget plan --figure": "budget plan @capped.csv --budget 1500W --figure FILE",
    "budget demo OUT": "budget demo FILE --apps 3",
    "budget demo --tree": "budget demo @made --apps 3 --tree FILE",
    "budget slurm --out": "budget slurm @plan.json --out FILE",
    "dnn import --out": "dnn import @step.hlo --out FILE",
    "dnn fit --out": "dnn fit @training.csv --out FILE",
    "dnn predict --html": "dnn predict lenet5 --device T4 --image-px 32 --html FILE",
    "dnn front --html": "dnn front @steps.model --model-name lenet5 --image-px 32 --html FILE",
    "dnn front --figure": "dnn front @steps.model --model-name lenet5 --image-px 32 --figure FILE",
    "llm demo FOLDER": "llm demo FILE --requests 10",
    "llm fit --save": "llm fit @serving.csv --save FILE",
    "llm proxy --save": "llm proxy --upstream http://127.0.0.1:9 --port 0 --stop-after 0.1 "
    "--model @ranks.model --save FILE",
    "llm rank --save": "llm rank @requests.csv --save FILE",
    "llm calibrate --html": "llm calibrate @recorded.csv --learn 5 --html FILE",
    "llm calibrate --figure": "llm calibrate @recorded.csv --learn 5 --figure FILE",
    "llm simulate --html": "llm simulate @traffic.csv --html FILE",
    "llm simulate --figure": "llm simulate @traffic.csv --figure FILE",
    **{
        f"code {name} {flag}": f"{call} @loop.c {flag} FILE"
        for name, call in (("translate", TRANSLATE), ("refactor", REFACTOR))
        for flag in (
            "--folder",
            "--output",
            "--patch",
            "--html",
            "--transcript",
            "--sarif",
            "--junit",
        )
    },
    "code suite --output": "code suite --hecbench @hecbench --unsafe-no-sandbox --output FILE",
    "code search --transcript": f"{VARY} @loop.c --model m --transcript FILE",
    "code search --folder": f"{VARY} @loop.c --folder FILE",
    "code search --output": f"{VARY} @loop.c --output FILE",
    "code search --patch": f"{VARY} @loop.c --patch FILE",
    "code search --sarif": f"{VARY} @loop.c --sarif FILE",
    "code search --junit": f"{VARY} @loop.c --junit FILE",
    "code search --html": f"{VARY} @loop.c --html FILE",
    "code verify --sarif": f"{VERIFY} @sum.c @sum.c --sarif FILE",
    "code verify --junit": f"{VERIFY} @sum.c @sum.c --junit FILE",
    "code verify --html": f"{VERIFY} @sum.c @sum.c --html FILE",
    "llm plan --out": "llm plan @serving.csv --app a --out FILE",
    "llm plan --html": "llm plan @serving.csv --app a --html FILE",
    "llm plan --figure": "llm plan @serving.csv --app a --figure FILE",
    "network serve --models": f"{SERVE} --models FILE",
    "network generate FOLDER": "network generate FILE --sizes 3,2,2,1 --iterations 2",
    "network fit --save": "network fit @run --app job-0 --save FILE",
    "network forecast --html": "network forecast @run --app job-0 --html FILE",
    "network forecast --figure": "network forecast @run --app job-0 --figure FILE",
}
"""Calls with every option that only writes."""


# --- what may be wrong with a file -------------------------------------------------------------

NUMBER = re.compile(rb"(?<![\w.\"#-])-?\d+(?:\.\d+)?(?![\w.-])")
ODD_VALUES = ("nan", "inf", "-inf", "-1", "-1e9", "1e308", "1e999", "", "abc", "9" * 30, "0x10",
              "1_0", "\u0663", "true", "null", "1,5", '"', "[]", "{}", "2024-01-01")  # fmt: skip
CHANGED = ("inf", "-inf", "-1e9", "1e308", "1e999", "abc", "9" * 30)
"""Values that no measurement can have: whoever reads one must say so."""
TABLES = ("runs.csv", "capped.csv", "one.csv", "counters.csv", "trace.swf", "profiles.csv",
          "queue.csv", "recording.csv", "nodes.csv", "alternatives.csv", "times.csv")  # fmt: skip
LOOKED_AT = {"trace.swf": (1, 3, 7, 8)}
"""Columns of a table without names that a command looks at."""
INSTANTS = ("submit_s", "t_s")
"""An instant may be below zero: it is counted from anywhere."""


def poisoned(base: str, text: str) -> Iterator[tuple[str, str]]:
    """The table with one cell of one column of numbers replaced, for each column and value."""
    lines = text.splitlines()
    at = len(lines) // 2
    mark = " " if base == "trace.swf" else ","
    cells, names = lines[at].split(mark), lines[0].split(mark)
    for k in LOOKED_AT.get(base, range(len(cells))):
        if not re.fullmatch(r"-?\d+(\.\d+)?", cells[k]):
            continue
        name = str(k) if base in LOOKED_AT else names[k]
        for value in CHANGED:
            if value in ("inf", "1e999") and (base, name) == ("recording.csv", "range_j"):
                continue  # a counter that never begins again
            if value == "-1e9" and (name in INSTANTS or (base, name) == ("trace.swf", "1")):
                continue
            row = mark.join([*cells[:k], value, *cells[k + 1 :]])
            yield f"{name} {value[:9]}", "\n".join([*lines[:at], row, *lines[at + 1 :]]) + "\n"


@dataclass(frozen=True)
class Variant:
    """A file that is not as it should be: its name, and a function that makes it at a path."""

    name: str
    make: Callable[[Path], Any] = field(repr=False)


class Special:
    """What is no file, or has no end; shared by all tests of a session."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.pipe, self.commas = folder / "folder", folder / "pipe", folder / "commas"
        self.folder.mkdir()
        os.mkfifo(self.pipe)
        self.commas.write_bytes(b"," * COMMAS)
        (folder / "loop").symlink_to(folder / "loop")
        (folder / "nowhere").symlink_to(folder / "not there")
        self.paths = {
            "folder": self.folder, "pipe": self.pipe, "/dev/zero": Path("/dev/zero"),
            "/dev/null": Path("/dev/null"), "loop of links": folder / "loop",
            "link to nothing": folder / "nowhere", "missing": folder / "not there",
            "under a file": self.commas / "x", "name too long": Path("x" * 300),
            "10 MB of commas": self.commas,
        }  # fmt: skip
        self.cheap = tuple(n for n in self.paths if n != "10 MB of commas")


def variants(valid: bytes, special: Special) -> Iterator[Variant]:
    """Special files, bytes that are nobody's, and the valid file with something wrong."""
    for name, path in special.paths.items():
        yield Variant(name, lambda to, path=path: path)  # type: ignore[misc]
    for name, content in (*foreign(valid), *mutated(valid)):
        yield Variant(name, lambda to, content=content: _put(to, content))  # type: ignore[misc]


def _put(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def foreign(valid: bytes) -> Iterator[tuple[str, bytes]]:
    """Bytes of another kind of file, or of none."""
    rng = random.Random(0)
    deep = 200_000
    yield "empty", b""
    yield "one byte", b"x"
    yield "blank lines", b"\n" * 1000
    yield "spaces", b" " * 1000
    yield "zeros", b"\0" * 1000
    yield "ones", b"\xff" * 1000
    yield "byte order mark", b"\xef\xbb\xbf"
    yield "utf-16", valid.decode("latin-1").encode("utf-16")
    yield "random", rng.randbytes(3000)
    yield "random lines", b"\n".join(rng.randbytes(20) for _ in range(200))
    yield "gzip of nothing", gzip.compress(b"", mtime=0)
    yield "gzip of noise", gzip.compress(rng.randbytes(2000), mtime=0)
    yield "gzip cut", gzip.compress(valid, mtime=0)[:-12]
    yield "gzip spoiled", _flipped(gzip.compress(valid * 3, mtime=0), 0.6)
    yield "zip of nothing", _zip({})
    yield "zip of a text", _zip({"a.txt": b"hello"})
    yield "zip of a manifest", _zip({"manifest.json": b"[]", "law.json": b"{}", "index.json": b"1"})
    yield "parquet magic", b"PAR1" + rng.randbytes(500) + b"PAR1"
    yield "parquet of another table", _parquet()
    yield "parquet cut", _parquet()[:-6]
    yield "pickle", pickle.dumps({"a": 1})
    yield "page", b"<!DOCTYPE html><html><body>404</body></html>\n" * 20
    yield "program", b"\x7fELF\x02\x01\x01" + bytes(200)
    yield "json object", b"{}"
    yield "json list", b"[]"
    yield "json null", b"null"
    yield "json deep list", b"[" * deep + b"]" * deep
    yield "json deep object", b'{"a":' * deep
    yield "json long number", b"9" * 5000
    yield "json not a number", b'{"schema": NaN, "jobs": [1e999]}'
    yield "json text", b'"' + b"a" * 1000 + b'"'
    yield "toml deep", b"a = " + b"[" * 5000 + b"]" * 5000
    yield "toml odd", b"a = nan\nb = [1, 'x']\n[c]\nd = 1979-05-27\n"
    yield "lines of commas", b",,,,\n" * 2000
    yield "one long line", b"x" * 2_000_000
    yield "quote without end", b'a,b\n"' + b"x\n" * 2000


def mutated(valid: bytes) -> Iterator[tuple[str, bytes]]:
    """The valid file cut, doubled, spoiled, and with single numbers changed."""
    n = len(valid)
    for share in (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98):
        yield f"cut at {share:.0%}", valid[: int(share * n)]
    for at in (0.01, 0.1, 0.35, 0.6, 0.85, 0.99):
        yield f"bit at {at:.0%}", _flipped(valid, at)
    yield "hole", valid[: n // 3] + bytes(min(64, n // 3)) + valid[n // 3 + 64 :]
    yield "twice", valid + valid
    yield "head lost", valid[max(1, n // 20) :]
    if b"\0" in valid[:2000]:
        return
    lines = valid.splitlines(keepends=True)
    yield "first line lost", b"".join(lines[1:])
    yield "first line only", lines[0]
    yield "backwards", b"".join(lines[::-1])
    yield "windows lines", valid.replace(b"\n", b"\r\n")
    yield "old mac lines", valid.replace(b"\n", b"\r")
    yield "semicolons", valid.replace(b",", b";")
    yield "latin-1", valid.replace(b"a", b"\xe4", 3)
    yield "zero byte", valid[: n // 2] + b"\0" + valid[n // 2 :]
    yield "wide cell", valid[: n // 2] + b"7" * 1_500_000 + valid[n // 2 :]
    places = [m.span() for m in NUMBER.finditer(valid)]
    if not places:
        return
    for k, value in enumerate(ODD_VALUES):
        low, high = places[(k * 7 + len(places) // 2) % len(places)]
        changed = valid[:low] + value.encode() + valid[high:]
        yield f"{value[:9]!r} for {valid[low:high].decode()}", changed


def _flipped(content: bytes, share: float) -> bytes:
    spoiled = bytearray(content or b"x")
    spoiled[int(share * (len(spoiled) - 1))] ^= 0x55
    return bytes(spoiled)


def _zip(parts: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return made.getvalue()


def _parquet() -> bytes:
    import polars as pl

    made = io.BytesIO()
    pl.DataFrame({"a": [1, 2], "b": [[1.0], [2.0]], "c": ["x", None]}).write_parquet(made)
    return made.getvalue()
