"""``rheostat code search | translate``: from a file to a verified variant, and on after a stop."""

from __future__ import annotations

import importlib
import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tree_sitter_c")

from rheostat.cli import run

PLACE = Path(__file__).parents[1] / "prediction" / "scripted_server.py"
spec = importlib.util.spec_from_file_location("scripted_server", PLACE)
assert spec is not None
assert spec.loader is not None
scripted = importlib.util.module_from_spec(spec)
sys.modules["scripted_server"] = scripted
spec.loader.exec_module(scripted)

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
SOURCE = """#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 100;
  double s = 0;
  for (int i = 0; i < n; i++) s += 0.5 * i;
  printf("%g\\n", s);
  return 0;
}
"""
RIGHT = SOURCE.replace("  for", "#pragma omp parallel for reduction(+ : s)\n  for")
WRONG = RIGHT.replace("0.5 * i", "0.25 * i")
QUICK = ["--rungs", "compile,output,threads", "--unsafe-no-sandbox", "--seed", "1"]


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "sum.c"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def threads_halve(monkeypatch):
    """Programs with OpenMP take half the time of those without; compilers share no loops."""
    from rheostat.measurement.code import rungs_measure

    searching = importlib.import_module("rheostat.questions.code.search")
    monkeypatch.setattr(searching, "shared_by_compilers", lambda program, threads: [])

    def seconds(first, second, pairs):
        times = [0.5 if "omp parallel" in run.args[0].program.text else 1.0
                 for run in (first, second)]  # fmt: skip
        return tuple(np.full(pairs, t) for t in times)

    monkeypatch.setattr(rungs_measure, "in_turns", seconds)
    monkeypatch.setattr(rungs_measure, "_start_s", lambda case: np.zeros(5))
    return monkeypatch


TIMED = ["--rungs", "compile,output,threads,time", *QUICK[2:]]


def test_a_variant_that_is_not_faster_is_nothing_to_take(
    source, capsys, tmp_path, threads_halve
) -> None:
    """Neither written, nor laid before a person: the original takes part in the search."""
    from rheostat.measurement.code import rungs_measure

    ratios = np.array([0.97, 1.0, 1.01, 1.02, 0.99, 1.0, 1.03])
    threads_halve.setattr(rungs_measure, "in_turns", lambda *_: (np.ones(7), ratios))
    call = ["code", "search", str(source), "--to", "openmp", "--budget", "1", *TIMED]
    files = ["-o", str(tmp_path / "o.c"), "--html", str(tmp_path / "h.html")]
    assert run([*call, *files, "--json"]) == 3
    said = capsys.readouterr()
    given = json.loads(said.out)
    assert given["best"] is None
    assert [v["verdict"] for v in given["variants"]] == ["no gain"]
    assert "no accepted variant is faster by more than the noise: the original stays" in said.err
    assert "of its time (no significant change)" in said.err
    assert not (tmp_path / "o.c").exists()
    assert "it may be used" not in (tmp_path / "h.html").read_text()


@pytest.mark.slow
def test_what_a_compiler_shares_faster_than_a_rewriting_is_taken(
    source, capsys, tmp_path, monkeypatch, threads_halve
) -> None:
    """No line changes, what no checker sees of it is skipped, and the budget is for the search."""
    from rheostat.measurement.code import rungs_measure
    from rheostat.tradeoff.variants.compilers import shared_by_compilers

    searching = importlib.import_module("rheostat.questions.code.search")

    def seconds(first, second, pairs):
        def one(run) -> float:
            program = run.args[0].program
            shared = any("parallelize" in f for f in program.flags)
            return 0.2 if shared else 0.5 if "omp parallel" in program.text else 1.0

        return tuple(np.full(pairs, one(run)) for run in (first, second))

    monkeypatch.setattr(rungs_measure, "in_turns", seconds)
    monkeypatch.setattr(
        searching,
        "shared_by_compilers",
        lambda program, threads: shared_by_compilers(program, threads)[:1],
    )
    call = ["code", "search", str(source), "--to", "openmp", "--budget", "1", *TIMED]
    call += ["--folder", str(tmp_path / "f")]
    assert run([*call, "-o", str(tmp_path / "o.c"), "--json"]) == 0
    given = json.loads(capsys.readouterr().out)
    assert [v["proposer"] for v in given["variants"]] == ["gcc", "search"]
    assert given["best"]["flags"].endswith("-ftree-parallelize-loops=2")
    assert given["text"] == SOURCE == (tmp_path / "o.c").read_text()
    assert given["apart"]["saved_by"] == {"flags": pytest.approx(0.8), "rewriting": 0.0}
    assert run([*call, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["variants"] == given["variants"]
    assert run([*call, "--require", "output,races", "--folder", str(tmp_path / "g")]) == 3


def test_what_is_rewritten_and_built_otherwise_is_also_run_with_its_flags_alone(tmp_path) -> None:
    from rheostat.measurement.code.programs.program import Program
    from rheostat.measurement.code.sandboxed.sandbox import sandbox
    from rheostat.questions.code.code_search import SearchSettings, search_code
    from rheostat.tradeoff.variants.variant import Variant, only

    other = SOURCE.replace("0.5 * i", "i * 0.5")
    both = Variant(other, "search", "x", ("-O3",), "serial")
    settings = SearchSettings(budget=1, rungs=("compile", "output"), seed=1,
                              confined_by=sandbox("none", image="/"))  # fmt: skip
    again = [
        search_code(Program({"sum.c": SOURCE}), lambda store: [only(both)], tmp_path, settings)
        for _ in range(2)
    ]
    for result in again:
        assert [r["changed"] for r in result.rows] == ["text and flags", "flags"]
        assert [r["flags"] for r in result.rows] == ["-O3", "-O3"]


def test_who_leaves_the_measurement_out_gets_the_first_that_is_accepted(source, capsys) -> None:
    call = ["code", "search", str(source), "--to", "openmp", "--budget", "1", "--json", *QUICK]
    assert run(call) == 0
    best = json.loads(capsys.readouterr().out)["best"]
    assert (best["verdict"], best["figures"]["runtime_ratio"]) == ("accepted", None)


def test_what_is_not_ahead_of_the_best_is_not_verified_to_the_end(
    source, capsys, tmp_path, threads_halve
) -> None:
    """A second call knows the best of the first; what gains nothing on it is timed alone."""
    call = ["code", "search", str(source), "--to", "openmp", *TIMED, "--folder", str(tmp_path)]
    assert run([*call, "--budget", "1"]) == 0
    capsys.readouterr()
    assert run([*call, "--budget", "2", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["variants"]
    assert (first["verdict"], second["verdict"]) == ("accepted", "no gain")
    kept = json.loads((tmp_path / "variants" / f"{second['variant']}.verdict.json").read_text())
    states = {r["rung"]: r["state"] for r in kept["rungs"]}
    assert [states[r] for r in ("compile", "output", "threads", "time")] == [
        "passed", "skipped", "skipped", "passed"]  # fmt: skip
    assert kept["reason"].startswith("it is not ahead of what is accepted")


def test_more_pairs_are_run_until_a_change_can_be_told(source, capsys, threads_halve) -> None:
    from rheostat.measurement.code import rungs_measure

    noisy, rounds = np.array([0.7, 1.3, 0.8, 1.2, 0.9, 1.1, 1.0]), []
    threads_halve.setattr(
        rungs_measure, "in_turns", lambda *_: rounds.append(1) or (np.ones(7), noisy)
    )
    call = ["code", "search", str(source), "--to", "openmp", "--budget", "1", *TIMED]
    assert run(call) == 3
    assert len(rounds) == 6
    assert "(a change of 5 % cannot be told)" in capsys.readouterr().err


def test_a_search_gives_a_verified_variant_a_patch_and_a_page(
    source, capsys, tmp_path, threads_halve
) -> None:
    files = ["-o", str(tmp_path / "o.c"), "--patch", str(tmp_path / "p"), "--html",
             str(tmp_path / "h.html"), "--folder", str(tmp_path / "f")]  # fmt: skip
    call = ["code", "search", str(source), "--to", "openmp", "--budget", "1", "--json", *TIMED]
    assert run([*call, *files]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["best"]["verdict"] == "accepted"
    assert "reduction(+ : s)" in (tmp_path / "o.c").read_text() == first["text"]
    assert (tmp_path / "p").read_text() == first["diff"]
    assert "<pre>--- a/sum.c" in (tmp_path / "h.html").read_text()
    kept = [p.read_text() for p in sorted((tmp_path / "f" / "variants").iterdir())]
    assert run([*call, *files]) == 0
    assert json.loads(capsys.readouterr().out)["best"] == first["best"]
    assert [p.read_text() for p in sorted((tmp_path / "f" / "variants").iterdir())] == kept


def test_a_required_rung_that_did_not_run_leaves_a_variant_undecided(source, capsys) -> None:
    call = ["code", "search", str(source), "--to", "openmp", "--budget", "1", "--json", *QUICK]
    assert run([*call, "--require", "output,races"]) == 3
    said = capsys.readouterr()
    assert json.loads(said.out)["variants"][0]["verdict"] == "undecided"
    assert " is undecided: " in said.err
    assert "races: " in said.err


def test_a_folder_of_another_search_is_refused(source, capsys, tmp_path, threads_halve) -> None:
    call = ["code", "search", "--to", "openmp", "--budget", "1", *TIMED, "--folder",
            str(tmp_path / "f")]  # fmt: skip
    assert run([*call, str(source)]) == 0
    source.write_text(SOURCE.replace("0.5", "0.7"))
    assert run([*call, str(source)]) == 1
    assert "holds another search" in capsys.readouterr().err


def test_nothing_to_share_is_no_feasible_variant(tmp_path, capsys) -> None:
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    assert run(["code", "search", str(tmp_path / "a.c"), "--to", "openmp", *QUICK]) == 3
    assert "the original stays" in capsys.readouterr().err


CUDA = """#include <stdio.h>
#include <stdlib.h>
__global__ void half(double *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = 0.5 * i;
}
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 100;
  double *a = (double *)malloc(n * sizeof *a), *da;
  cudaMalloc(&da, n * sizeof *a);
  half<<<(n + 31) / 32, 32>>>(da, n);
  cudaMemcpy(a, da, n * sizeof *a, cudaMemcpyDeviceToHost);
  printf("%g\\n", a[n - 1]);
}
"""


@pytest.mark.slow
def test_cuda_is_translated_by_rule_and_refused_by_its_line(tmp_path, capsys) -> None:
    pytest.importorskip("tree_sitter_cuda", reason="pip install 'rheostat[code]'")
    source = tmp_path / "half.cu"
    source.write_text(CUDA)
    call = ["code", "search", str(source), "--to", "openmp", "--json", *QUICK]
    assert run([*call, "--input", "n=40..90"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["best"]["proposer"] == "rules"
    assert "#pragma omp parallel for" in made["text"]
    source.write_text(CUDA.replace("a[i] = 0.5 * i", "a[i] = __match_any_sync(~0u, i)"))
    assert run(call) == 1
    assert "line 5: __match_any_sync is of a warp" in capsys.readouterr().err


@pytest.mark.slow
def test_a_model_is_corrected_until_it_is_right(source, capsys, tmp_path) -> None:
    pytest.importorskip("openai")
    replies = ["in short", "it adds", f"```c\n{WRONG}```", f"```c\n{RIGHT}```"]
    (tmp_path / "ref.c").write_text(RIGHT)
    with scripted.serving(*replies) as script:
        call = ["code", "translate", str(source), "--to", "openmp", "--model", "m", "--base-url",
                script.url, "--no-search", "--reference", str(tmp_path / "ref.c"), "--folder",
                str(tmp_path / "f"), "--json", *QUICK]  # fmt: skip
        assert run(call) == 0
        given = json.loads(capsys.readouterr().out)
        assert run(call) == 0
    again = json.loads(capsys.readouterr().out)
    assert [v["rejected_by"] for v in given["variants"]] == ["output", None]
    assert given["text"] == RIGHT
    assert "expected" in script.requests[3]["messages"][-1]["content"]
    assert (given["lassi"]["sim_t"], given["lassi"]["self_corr"]) == (1.0, 1)
    chain = {k: given["chains"][0][k] for k in ("answers", "corrections", "verified")}
    assert chain == {"answers": 4, "corrections": 1, "verified": True}
    assert len(script.requests) == 4
    assert again["best"] == given["best"]
    assert again["cost"]["tokens"] == given["cost"]["tokens"] == 600


def test_a_model_has_to_be_named(source, capsys) -> None:
    assert run(["code", "translate", str(source), "--to", "openmp"]) == 2
    assert "--model NAME or --gguf FILE" in capsys.readouterr().err


def translate_call(source, script, *more) -> list[str]:
    return ["code", "translate", str(source), "--to", "openmp", "--model", "m", "--base-url",
            script.url, "--no-search", "--no-self-prompting", "--json", *more, *QUICK]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (RIGHT.replace("0.5 * i", "0.25 * i"), "sum.c and the reference do not print the same"),
        (RIGHT.replace("return 0", "return x"), "does not build"),
    ],
)
def test_a_baseline_that_fails_ends_the_run_before_a_model_is_asked(
    text, words, source, capsys, tmp_path
) -> None:
    pytest.importorskip("openai")
    (tmp_path / "ref.c").write_text(text)
    with scripted.serving(f"```c\n{RIGHT}```") as script:
        assert run(translate_call(source, script, "--reference", str(tmp_path / "ref.c"))) == 1
    assert words in capsys.readouterr().err
    assert not script.requests


@pytest.mark.slow
def test_the_ratio_is_the_time_of_the_reference_over_the_translations(
    source, capsys, tmp_path, monkeypatch
) -> None:
    pytest.importorskip("openai")
    from rheostat.measurement.code import rungs_measure
    from rheostat.measurement.code.programs.program import Program

    slow = RIGHT.replace("double s = 0;", "double s = 0; /* slow */")
    (tmp_path / "ref.c").write_text(slow)

    def seconds(first, second, pairs):
        def one(run) -> float:
            program: Program = run.args[0].program
            return 3.0 if "slow" in program.text else 1.5 if "omp" in program.text else 6.0

        assert pairs == 1
        return np.full(pairs, one(first)), np.full(pairs, one(second))

    monkeypatch.setattr(rungs_measure, "in_turns", seconds)
    monkeypatch.setattr(rungs_measure, "_start_s", lambda case: np.zeros(5))
    with scripted.serving(f"```c\n{RIGHT}```") as script:
        call = translate_call(source, script, "--reference", str(tmp_path / "ref.c"), "--one-run")
        call[call.index("compile,output,threads")] = "compile,output,time"
        assert run(call) == 0
    given = json.loads(capsys.readouterr().out)
    assert given["lassi"]["ratio"] == pytest.approx(2.0)
    assert given["best"]["figures"]["runtime_s"] == pytest.approx(1.5)
    assert script.requests


def test_no_service_is_a_failure_and_not_an_infeasible_search(source, capsys) -> None:
    pytest.importorskip("openai")
    with scripted.serving(400) as script:
        assert run(translate_call(source, script)) == 1
    assert f"m at {script.url}" in capsys.readouterr().err


@pytest.mark.slow
def test_a_killed_search_goes_on_and_pays_for_nothing_twice(source, capsys, tmp_path) -> None:
    pytest.importorskip("openai")
    started: list[subprocess.Popen[bytes]] = []

    def kills(request) -> str:
        started[0].kill()  # as kill -9: while the question is out
        return "too late"

    with scripted.serving(f"```c\n{WRONG}```", kills, f"```c\n{RIGHT}```") as script:
        call = translate_call(source, script, "--folder", str(tmp_path / "f"))
        started.append(subprocess.Popen([sys.executable, "-m", "rheostat", *call]))
        assert started[0].wait() == -9
        (kept,) = (tmp_path / "f" / "variants").glob("*.verdict.json")
        before = kept.stat().st_mtime_ns
        spent = json.loads((tmp_path / "f" / "cost.json").read_text())
        assert run(call) == 0
    given = json.loads(capsys.readouterr().out)
    assert len(script.requests) == 3
    assert kept.stat().st_mtime_ns == before
    assert [v["rejected_by"] for v in given["variants"]] == ["output", None]
    assert given["cost"]["cpu_s"] > spent["cpu_s"] > 0
    assert (given["cost"]["tokens"], given["cost"]["unanswered"]) == (300, 1)


def escalation_call(source, small, large, *more) -> list[str]:
    return translate_call(source, small, "--larger", "big", "--larger-url", large.url, *more)


def test_a_larger_model_goes_on_where_the_first_ones_programs_are_wrong(
    source, capsys, tmp_path
) -> None:
    pytest.importorskip("openai")
    page = tmp_path / "h.html"
    other = WRONG.replace("0.25", "0.75")
    with (
        scripted.serving(f"```c\n{WRONG}```", f"```c\n{other}```") as small,
        scripted.serving(f"```c\n{RIGHT}```") as large,
    ):
        call = escalation_call(source, small, large, "--corrections", "1", "--html", str(page),
                               "--folder", str(tmp_path / "f"))  # fmt: skip
        assert run(call) == 0
        given = json.loads(capsys.readouterr().out)
        assert run(call) == 0
        again = json.loads(capsys.readouterr().out)
    assert (len(small.requests), len(large.requests)) == (2, 1)
    assert [v["proposer"] for v in given["variants"]] == ["m", "m", "big"]
    assert given["best"]["proposer"] == "big"
    assert [(r["model"], r["tokens"], r["answers"]) for r in given["cost"]["models"]] == [
        ("m", 300, 2), ("big", 150, 1)
    ]  # fmt: skip
    assert again["cost"]["models"] == given["cost"]["models"]
    assert given["cost"]["tokens"] == 450
    chain = {k: given["chains"][0][k] for k in ("model", "answers", "corrections", "verified")}
    assert chain == {"model": "big", "answers": 3, "corrections": 2, "verified": True}
    asked = large.requests[0]["messages"][-1]["content"]
    assert "Earlier programs were wrong:\noutput: " in asked
    assert WRONG not in asked
    assert "150 tokens and" in page.read_text()


@pytest.mark.slow
def test_a_first_model_that_is_right_or_a_budget_that_is_spent_asks_no_larger_one(
    source, capsys
) -> None:
    pytest.importorskip("openai")
    with (
        scripted.serving(f"```c\n{RIGHT}```") as right,
        scripted.serving(f"```c\n{WRONG}```") as wrong,
        scripted.serving(f"```c\n{RIGHT}```") as large,
    ):
        assert run(escalation_call(source, right, large)) == 0
        assert run(escalation_call(source, wrong, large, "--most-tokens", "150")) == 3
        assert not large.requests
        assert len(wrong.requests) == 1
        capsys.readouterr()
        # the same wrong program again: no third question to the first model
        assert run(escalation_call(source, wrong, large)) == 0
        assert len(wrong.requests) == 1 + 2
    assert json.loads(capsys.readouterr().out)["best"]["proposer"] == "big"


@pytest.mark.slow
def test_a_kill_while_the_larger_model_is_asked_pays_for_nothing_twice(
    source, capsys, tmp_path
) -> None:
    pytest.importorskip("openai")
    started: list[subprocess.Popen[bytes]] = []

    def kills(request) -> str:
        started[0].kill()
        return "too late"

    with (
        scripted.serving(f"```c\n{WRONG}```", "no program") as small,
        scripted.serving(kills, f"```c\n{RIGHT}```") as large,
    ):
        call = escalation_call(source, small, large, "--corrections", "0", "--folder",
                               str(tmp_path / "f"))  # fmt: skip
        started.append(subprocess.Popen([sys.executable, "-m", "rheostat", *call]))
        assert started[0].wait() == -9
        assert run(call) == 0
    given = json.loads(capsys.readouterr().out)
    assert (len(small.requests), len(large.requests)) == (1, 2)
    assert (given["cost"]["tokens"], given["cost"]["unanswered"]) == (300, 1)
    lines = [json.loads(x) for x in (tmp_path / "f" / "transcript.jsonl").read_text().splitlines()]
    assert [x["model"] for x in lines if "asked" in x] == ["m", "big", "big"]


@pytest.mark.slow
def test_a_search_asks_a_model_only_where_its_own_variants_are_rejected(
    source, capsys, threads_halve
) -> None:
    pytest.importorskip("openai")
    call = ["code", "search", str(source), "--to", "openmp", "--model", "m", "--budget", "2",
            "--json", *TIMED]  # fmt: skip
    with scripted.serving("in short", "it adds", f"```c\n{RIGHT}```") as script:
        assert run([*call, "--base-url", script.url]) == 0
        assert not script.requests
        capsys.readouterr()
        serial = SOURCE.replace("s += 0.5 * i", "{ if (s > 1e9) break; s += 0.5 * i; }")
        source.write_text(serial)
        assert run([*call, "--base-url", script.url]) == 0
    given = json.loads(capsys.readouterr().out)
    assert given["best"]["proposer"] == "m"
    assert given["cost"]["models"][0]["answers"] == 3


@pytest.mark.parametrize(
    ("more", "words"),
    [(["--larger", "m"], "another model than m"),
     (["--larger", "b", "--larger-gguf", "b.gguf"], "got both")],
)  # fmt: skip
def test_a_larger_model_is_one_and_another(source, capsys, more, words) -> None:
    assert run(["code", "translate", str(source), "--to", "openmp", "--model", "m", *more]) == 2
    assert words in " ".join(capsys.readouterr().err.replace("│", " ").split())
