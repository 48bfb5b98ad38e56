"""Runs that failed by what stands beside them count as unfinished, and others do not."""

from __future__ import annotations

import re

import pytest

from rheostat.measurement.runs.failure_words import plainly_failed, reads_failed
from rheostat.measurement.runs.reader import read_runs

FAILED = """segfault in MPI_Bcast|Segmentation fault (core dumped)|killed by OOM|oom-kill|SIGKILL
CUDA out of memory|SIGSEGV rank 3|aborted|MPI_ABORT was invoked|timed out|time-out after 300 s
error in input file|Error 13: no such file|exit code 1|exited with code 2|rc=139|returned 1
exception: KeyError|Traceback (most recent call last)|canceled by user|crash after 3 steps
connection refused|diverged|loss became NaN|did not finish|not converged|wall time exceeded
wrong result|hung|preempted|Abbruch nach 2 min|abgestürzt|a échoué|node failure|bus error
3 of 10 failed|12 errors|errors: 12|no output, crashed|failed: no output|aborted due to error
after 3 steps killed by OOM|no error, killed|3 failed tests|error 0x7f|could not start"""
WELL = """ok|0 errors|no error|errors: 0|error < 1e-6|error=1e-9|error 0.3 %|rel. error 2%
quiet node|max abs error 0.001|L2 error 3e-4|without crash|error-free|0 of 100 failed|failed: 0
never crashed|no timeout|timeout=300|exit code 0|rc=0|no NaN|no NaN/error|fault tolerant|fail-safe
failover node
exception handling on|ran with --timeout 300|no errors or warnings|no errors, timeouts or crashes
keine Fehler|ohne Fehler|OOM: no|error below tolerance|PASS (error 1e-12)|nan checks on|nan|-
errors 0 warnings 3|crash test|error bars 3 %|zero failures|energy error 2e-5|no MPI errors"""
EITHER = """rerun after crash|fixed segfault|previous run crashed|first attempt failed, ok now
killed, second try ok|crashed once|restarted after node failure|corrected ECC errors|crash fixed
completed with 3 errors|timeout 300 s|retry of killed run"""


def words(text):
    return re.split(r"[|\n]", text)


@pytest.mark.parametrize("text", words(FAILED))
def test_a_remark_says_that_a_run_failed(text):
    assert reads_failed(text) is True


@pytest.mark.parametrize("text", words(WELL))
def test_a_remark_says_no_such_thing_though_words_of_it_stand_there(text):
    assert reads_failed(text) is False


@pytest.mark.parametrize("text", words(EITHER))
def test_a_remark_may_be_of_another_run(text):
    assert reads_failed(text) is None


def test_outside_of_remarks_only_plain_words_count():
    assert plainly_failed("frontal crash 3M") is plainly_failed("error diffusion") is False
    assert plainly_failed("Segmentation fault") is True


def runs(tmp_path, heading, *cells, times=(900, 500, 300, 30), **keep):
    lines = [f"{2**i},{t},{c}" for i, (t, c) in enumerate(zip(times, cells, strict=True))]
    (file := tmp_path / "runs.csv").write_text("\n".join([f"nodes,time_s,{heading}", *lines, ""]))
    return read_runs(file, **keep)


def flagged(jobs):
    return jobs.frame["censored"].to_list() if "censored" in jobs.columns else []


def said(jobs):
    return [n.message for n in jobs.notes if " says " in n.message]


@pytest.mark.parametrize(
    "heading", ["result", "comment", "exit_message", "Bemerkung", "how it ended"]
)
def test_a_run_that_failed_by_a_remark_is_unfinished(heading, tmp_path):
    jobs = runs(tmp_path, heading, "", "quiet node", "0 errors", "bus error on n17")
    assert flagged(jobs) == [False, False, False, True]
    assert said(jobs) == [
        f"{heading} says 'bus error on n17': counts as unfinished; if it did its work, "
        "--column censored==false counts all runs"
    ]


def test_it_is_left_out_wherever_words_are_plain(tmp_path):
    jobs = runs(tmp_path, "tail", "wrote 3 files", "wrote 3 files", "", "Out of memory: killed")
    assert flagged(jobs) == [False, False, False, True]


@pytest.mark.parametrize("heading", ["kernel", "input_file", "case", "app", "test_name"])
def test_names_are_no_remarks(heading, tmp_path):
    names = "sum", "frontal crash", "oom test", "segfault test"
    assert flagged(runs(tmp_path, heading, *names)) == []


def test_what_differs_in_errors_of_a_method_is_no_failure(tmp_path):
    cells = "no error", "0 errors", "error < 1e-6", "rel. error 2 %"
    assert flagged(runs(tmp_path, "comment", *cells)) == []


def test_a_remark_that_may_be_of_another_run_is_noted_and_drops_none(tmp_path):
    jobs = runs(tmp_path, "comment", "", "", "", "rerun after crash")
    assert flagged(jobs) == []
    assert said(jobs) == ["comment says 'rerun after crash': may be of that run or of another one: "
                          "it counts; take its row out if it failed"]  # fmt: skip


def test_what_is_said_of_every_run_tells_none_apart(tmp_path):
    jobs = runs(tmp_path, "comment", *["timed out"] * 4)
    assert flagged(jobs) == []
    assert "of every run" in said(jobs)[0]


def test_a_good_state_stands_against_a_remark(tmp_path):
    cells = "COMPLETED,", "COMPLETED,", "FAILED,oom", "COMPLETED,segfault at exit"
    jobs = runs(tmp_path, "state,comment", *cells)
    assert flagged(jobs) == [False, False, True, False]
    assert "though it ended well by its state" in said(jobs)[-1]


def test_a_yes_below_a_word_of_failure(tmp_path):
    assert flagged(runs(tmp_path, "crashed", "no", "no", "", "yes")) == [False] * 3 + [True]
    assert flagged(runs(tmp_path, "failed", 0, 0, 0, 12)) == []  # an amount: of requests, say


def test_a_state_that_begins_well_is_a_good_end(tmp_path):
    jobs = runs(tmp_path, "status", "ok", "OK but slow", "no errors", "done with errors")
    assert flagged(jobs) == [False, False, False, True]


def test_a_day_in_a_comment_beside_ends_is_no_end(tmp_path):
    jobs = runs(tmp_path, "comment", "ok", "second day", "", "failed")
    assert flagged(jobs) == [False, False, False, True]


@pytest.mark.parametrize("word", ["false", "0", "no"])
def test_the_user_may_count_all_runs(word, tmp_path):
    columns = {"censored": f"={word}"}
    assert flagged(runs(tmp_path, "comment", *["ok"] * 3, "killed", columns=columns)) == [False] * 4


@pytest.mark.parametrize("heading", ["outlier", "excluded", "Invalid", "disturbed", "warmup"])
def test_runs_that_somebody_set_aside_do_not_count(heading, tmp_path):
    (file := tmp_path / "runs.csv").write_text(f"nodes,time_s,{heading}\n1,9,0\n2,5,no\n4,1,yes\n")
    assert read_runs(file).frame["censored"].to_list() == [False, False, True]
