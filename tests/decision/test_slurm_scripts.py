"""Root runs these scripts: what was typed for them arrives as one word, and nothing else runs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rheostat.cli import run
from rheostat.cli.budget.budget_options import Gpu
from rheostat.decision.actuate.actuators import GPUS
from rheostat.decision.actuate.prolog import scripts
from rheostat.errors import DataError

SIGNS = ("'", '"', "$(touch X)", "`touch X`", "; touch X #", "\n", "\ntouch X\n", "$X", "\\", "{}",
         "{plan}", "&", "|", ">X", " ", "*", "~", "!", "-", "\udcff")  # fmt: skip
EVIL = st.sampled_from(SIGNS)
words = (
    st.lists(EVIL | st.text("ab'\"$`\\; \n", max_size=3), min_size=1, max_size=6)
    .map("".join)
    .map("x".__add__)
)
SPY = '#!/bin/sh\nfor a in "$@"; do printf "%s\\0" "$a"; done >> "$SPIED"\n'


def played(folder: Path, text: str, node: str) -> list[list[str]]:
    """The arguments with which the script called rheostat."""
    (folder / "script.sh").write_bytes(os.fsencode(text))
    spied = folder / "spied"
    spied.unlink(missing_ok=True)
    env = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "SLURMD_NODENAME": node, "SPIED": str(spied)}
    done = subprocess.run(["sh", "../script.sh"], cwd=folder / "empty", env=env, check=False,
                          capture_output=True, timeout=60)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert not list((folder / "empty").iterdir())
    return [os.fsdecode(x) for x in spied.read_bytes().split(b"\0")[:-1]]


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words, words, words, st.sampled_from(["n1", "$(touch X)", "a b", "'; touch X; '"]))
def test_nothing_typed_becomes_a_command(tmp_path, plan, journals, program, node):
    folder = tmp_path / str(len(list(tmp_path.iterdir())))
    for name in ("bin", "empty", "plans", "books"):
        (folder / name).mkdir(parents=True)
    spy, plan_file = folder / "bin" / program, folder / "plans" / plan
    books = folder / "books" / journals
    books.mkdir()
    for path, text in ((spy, SPY), (folder / "bin" / "logger", "#!/bin/sh\ncat > /dev/null\n")):
        path.write_text(text)
        path.chmod(0o755)
    plan_file.write_text("{}")
    book = books / f"{node}.journal"
    book.write_text("")
    made = scripts(str(plan_file), str(books), str(spy), "none")
    assert played(folder, made["prolog.sh"], node) == [
        "budget", "apply", str(plan_file), "--node", node, "--journal", str(book),
        "--gpu", "none"]  # fmt: skip
    assert played(folder, made["epilog.sh"], node) == [
        "budget", "restore", "--journal", str(book), "--gpu", "none"]  # fmt: skip


@pytest.mark.parametrize(("plan", "journals", "program", "gpu"), [
    ("plan.json", "/var", "rheostat", "nvml"),
    ("/plan.json", "var", "rheostat", "nvml"),
    ("/plan.json", "/var", "./rheostat", "nvml"),
    ("/plan.json", "/var", "rheostat; touch X", "nvml"),
    ("/plan.json", "/var", "-x", "nvml"),
    ("/plan.json", "/var", "", "nvml"),
    ("/plan.json", "/var", "rheostat", "none; touch X #"),
])  # fmt: skip
def test_what_has_few_values_has_no_others(plan, journals, program, gpu):
    with pytest.raises(DataError, match="expected"):
        scripts(plan, journals, program, gpu)


@pytest.mark.parametrize("gpu", ["none; touch X #", "NVML", "", "--help", "$(id)"])
def test_on_the_command_line_they_are_wrong_usage(tmp_path, capsys, gpu):
    (tmp_path / "plan.json").write_text(
        '{"schema": "rheostat.plan/1", "nodes": [{"node": "n", "before": {}, "after": {}}]}'
    )
    argv = ["budget", "slurm", str(tmp_path / "plan.json"), "--out", str(tmp_path / "out")]
    assert run([*argv, f"--gpu={gpu}"]) == 2
    assert not (tmp_path / "out").exists()
    assert run([*argv, "--gpu", "none"]) == 0
    assert "--gpu none" in (tmp_path / "out" / "prolog.sh").read_text()


def test_the_command_line_knows_all_ways_to_set_gpu_caps():
    assert Gpu.__origin__.__args__ == GPUS
