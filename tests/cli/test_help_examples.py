"""Every help begins with an example, and every example runs on files of those names."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from rheostat.cli import run
from rheostat.cli.examples import EXAMPLES, example
from tests.cli.test_help import TREE

SERVER = "needs a server of language models; tests/cli/test_code_search.py has one"
ELSEWHERE = {
    "code refactor": SERVER,
    "code translate": SERVER,
    "code search": "tests/cli/test_code_search.py runs it",
    "demo": "tests/cli/test_demo.py runs it",
    "fetch": "needs the network; tests/measurement/test_fetch.py serves it",
    "llm proxy": "serves until it is stopped; tests/decision has it",
    "network generate": "needs SimGrid",
    "network serve": "serves until it is stopped",
    "site power": "needs a Prometheus; tests/lab has a real one",
    "serve": "serves until it is stopped; tests/service has it",
    "train": "tests/cli/test_train_ours.py runs it",
}
SMALLER = {
    "code": "--rungs compile,output --unsafe-no-sandbox",
    "code verify": "--rungs compile,output --unsafe-no-sandbox",
    "explain": "--depth 2 --rounds 1",
}
"""Added where the example by itself takes long."""
BEFORE = {
    "budget apply": ["budget demo", "budget plan"],
    "budget diff": ["budget demo", "budget plan"],
    "budget plan": ["budget demo"],
    "budget restore": ["budget demo", "budget plan", "budget apply"],
    "budget run": ["budget demo", "budget plan"],
    "budget slurm": ["budget demo", "budget plan"],
    "dnn front": ["dnn fit"],
    "dnn predict": ["dnn fit"],
    "llm fit": ["llm demo"],
    "llm plan": ["llm demo"],
    "llm rank": ["llm demo"],
    "llm simulate": ["llm demo"],
    "site install": ["decide"],
    "site shadow": ["decide"],
    "site uninstall": ["decide", "site install"],
    "trial read": ["trial plan"],
}
SUM = """#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1000;
  double s = 0;
  for (int i = 0; i < n; i++) s += i;
  printf("%f\\n", s);
  return 0;
}
"""


@pytest.mark.parametrize("words", TREE, ids=" ".join)
def test_every_help_begins_with_its_example(words, capsys):
    assert run([*words, "--help"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first == example(" ".join(("rheostat", *words)))


def test_there_is_an_example_of_every_command_and_of_nothing_else():
    assert set(EXAMPLES) == {" ".join(words) for words in TREE}
    assert set(ELSEWHERE) < set(EXAMPLES)


def sources(folder: Path) -> None:
    for name in ("sum.c", "sum_openmp.c"):
        (folder / name).write_text(SUM)


def run_of_a_network(folder: Path) -> None:
    from tests.docs.test_docs import gallery

    (folder / "run").mkdir()
    (folder / "run" / "wl.conf").write_text("4 milc 0 0\n4 lammps 0 0\n")
    (folder / "run" / "alloc.conf").write_text("0 1 2 3\n4 5 6 7\n")
    (folder / "run" / "iterations.txt").write_text("\n".join(gallery()._iterations()) + "\n")


def tables(folder: Path) -> None:
    from tests.docs.test_docs import gallery

    (folder / "steps.csv").write_text("\n".join(gallery()._steps()) + "\n")
    (folder / "profiles.csv").write_text("\n".join(gallery()._profiles()) + "\n")


def capped(folder: Path) -> None:
    from rheostat.measurement.synthetic.capped_runs import capped_runs

    capped_runs(6, seed=1).frame.write_csv(folder / "capped.csv")
    changing = "total = {from_s = [0, 600, 1200], value = [3000, 2600, 2800]}"
    (folder / "limits.toml").write_text(f"[site]\n{changing}\n")


def counted(folder: Path) -> None:
    from rheostat.measurement.synthetic.counter_runs import write_pcm

    write_pcm(folder / "counters.csv", n_apps=6)


def graph(folder: Path) -> None:
    from tests.measurement.small_graphs import X, module

    (folder / "step.hlo").write_text(module(X, "ROOT y = f32[4] negate(x)"))


def answered(folder: Path) -> None:
    lines = ["submit_s,start_s,end_s,prompt_tokens,output_tokens"]
    for k in range(200):
        at, tokens = 0.5 * k, 20 + 37 * k % 180
        lines.append(f"{at},{at + 0.05},{at + 0.05 + 0.02 * tokens:.3f},{50 + k},{tokens}")
    (folder / "answered.csv").write_text("\n".join(lines) + "\n")


def of_readers(folder: Path) -> None:
    from tests.docs.test_docs import first_commands

    first_commands(folder)


def evening(folder: Path) -> None:
    (folder / "evening.csv").write_text("time,price_per_kwh\n00:00,.1\n17:00,.3\n20:00,.1\n")
    (folder / "site.toml").write_text("procs = 40000\nidle_w = 2.0\nbusy_w = 9.0\n")


def after_the_trial(folder: Path) -> None:
    """The next month, in which the jobs of the plan ran as planned."""
    import polars as pl

    import rheostat as rh

    log = rh.read(folder / "october.parquet")
    plan = pl.read_csv(folder / "plan.csv").select("job_id", planned="nodes")
    nodes = log.frame.join(plan, on="job_id", how="left", maintain_order="left")
    turned = nodes.select(pl.coalesce("planned", "nodes")).to_series()
    log.with_columns((), nodes=turned).write_parquet(folder / "november.parquet")


def next_month(folder: Path) -> None:
    """Jobs that came after the advice."""
    import rheostat as rh

    log = rh.read(folder / "october.parquet")
    later = log.frame["submit_s"] + 40 * 86_400.0
    log.with_columns((), submit_s=later).write_parquet(folder / "november.parquet")


AFTER = {"trial read": after_the_trial, "site shadow": next_month}
"""What happens between the lines before and the example."""
MADE = {
    "sum.c": sources, " run": run_of_a_network, "steps.csv": tables, "profiles.csv": tables,
    "evening.csv": evening,
    "capped.csv": capped, "counters.csv": counted, "step.hlo": graph, "answered.csv": answered,
    "october.txt": of_readers, "trace.swf": of_readers, "runs.csv": of_readers,
    "solve": of_readers, "space.toml": of_readers,
}  # fmt: skip
"""What makes the files that an example names."""

RUN = [words for words in EXAMPLES if words not in ELSEWHERE]


@pytest.mark.slow
@pytest.mark.parametrize("words", RUN, ids=lambda w: w or "rheostat")
def test_the_example_runs(words, log, model, tmp_path, monkeypatch, capsys):
    if words in ("code", "code verify") and shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    lines = [EXAMPLES[needed] for needed in (*BEFORE.get(words, []), words)]
    for make in dict.fromkeys(m for name, m in MADE.items() if name in " ".join(lines)):
        make(tmp_path)
    for path, name in ((log, "october.parquet"), (model, "model.rheo")):
        if any(name in line for line in lines) and f"--out {name}" not in lines[-1]:
            shutil.copy(path, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    for line in lines[:-1]:
        assert run(shlex.split(line)) == 0, line
    if words in AFTER:
        AFTER[words](tmp_path)
    argv = shlex.split(lines[-1])
    place = argv.index("--") if "--" in argv else len(argv)
    argv[place:place] = SMALLER.get(words, "").split()
    assert run(argv) == 0, capsys.readouterr().err
