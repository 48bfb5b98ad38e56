"""What an original's builds and runs gave is kept for the next candidate, and nothing else."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from rheostat.measurement.code.kept_results import (
    MOST_ORIGINALS,
    MOST_OURS,
    RESULT,
    KeptResults,
)
from rheostat.measurement.code.ladder import verifier
from rheostat.measurement.code.sandboxed import each_input
from rheostat.measurement.code.toolchain import BINARY
from tests.measurement.code.rung_cases import program
from tests.measurement.scripted import Scripted, done


@pytest.fixture
def counted():
    """What makes results, and how often it was asked to."""
    made = []

    def make(run=None):
        made.append(run or done(f"run {len(made)}"))
        return made[-1]

    return made, make


def test_a_result_is_made_once_and_the_second_of_the_same_is_another(counted):
    made, make = counted
    for _ in range(2):
        one = KeptResults.of(program("original"), "scripted")
        assert one.words == ""
        said = [one.result(("run", "a"), make).stdout, one.result(("run", "a"), make).stdout]
        assert said == ["run 0", "run 1"]
    assert (len(made), one.reused, one.made) == (2, 2, 0)
    assert one.words.startswith("2 of 2 builds and runs of the original are from an earlier")
    assert KeptResults.of(program("changed"), "scripted").result("run", make) is made[2]
    assert KeptResults.of(program("original"), "other").result(("run", "a"), make) is made[3]


def test_what_a_limit_stopped_or_was_torn_is_made_anew(counted):
    made, make = counted
    one = KeptResults.of(program("original"), "scripted")
    for _ in range(2):
        one.asked.clear()
        one.result("stopped", lambda: make(done("", stopped="stopped after 1 s")))
    assert len(made) == 2
    one.result("torn", make)
    place = next(p for p in one.folder.iterdir() if "torn" not in p.name)
    (place / RESULT).write_text("{")
    one.asked.clear()
    one.result("torn", make)
    assert (len(made), one.reused) == (4, 0)


def test_files_that_a_result_left_come_back_with_it_and_what_lay_there_counts(counted, tmp_path):
    made, make = counted
    one = KeptResults.of(program("original"), "scripted")

    def marks(before: str) -> str:
        place = Path(tempfile.mkdtemp(dir=tmp_path))
        (place / "seen").write_text(before)

        def run():
            (place / "seen").write_text(f"{before}+")
            return make()

        one.result("marks", run, place)
        return (place / "seen").read_text()

    assert marks("a") == "a+"
    one.asked.clear()
    assert (marks("a"), len(made)) == ("a+", 1)
    assert (marks("b"), len(made)) == ("b+", 2)
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "out").symlink_to("/etc/hostname")
    for _ in range(2):
        one.asked.clear()
        one.result("link", make, tmp_path / "link")
    assert len(made) == 4


def test_nothing_is_kept_where_others_can_write_and_the_verdict_says_so(counted, monkeypatch):
    made, make = counted
    first = KeptResults.of(program("original"), "scripted").folder
    first.chmod(0o777)
    one = KeptResults.of(program("original"), "scripted")
    assert [one.result("a", make), one.result("a", make)] == made
    assert one.words.startswith("results of the original are not kept: ")


def test_what_is_this_package_s_own_is_built_once_for_all_originals():
    made = []
    for text in ("original", "another", "a third"):
        box = Scripted()
        with verifier(program(text), confined_by=box, seed=3) as one:
            bench = one.reference.bench
            assert bench.build(each_input.library(), each_input.KIND).ok
        made.append([a.what for a in box.log])
    assert made == [["build work"], [], []]
    for i in range(MOST_OURS):
        (bench.ours.folder / str(i)).mkdir()
    assert not list(KeptResults.ours("scripted").folder.iterdir())


def test_originals_that_were_not_used_for_long_are_forgotten():
    places = []
    for i in range(MOST_ORIGINALS):
        places.append(KeptResults.of(program(f"original{i}"), "scripted").folder)
        os.utime(places[-1], (1e9 + i, 1e9 + i))
    for again in ("original0", "another", "a third"):
        KeptResults.of(program(again), "scripted")
    assert [p for p in places if not p.exists()] == places[1:3]


def test_the_next_candidate_of_an_original_is_judged_by_what_is_kept_and_runs_itself(tools):
    tools.add("valgrind")

    def verdict(text: str):
        box = Scripted()
        with verifier(program("original"), confined_by=box, seed=3) as one:
            verdict = one.verify(program(text), rungs=("compile", "output", "time"))
        runs = [a for a in box.log if a.what.startswith("run") and BINARY in str(a.command)]
        return verdict, box, [a for a in runs if a.whose == "original"], runs

    first, _, own, every = verdict("candidate")
    again, second, timed, runs = verdict("candidate")
    assert first.accepted
    assert again.accepted
    assert [n for n in again.notes if "from an earlier verdict" in n]
    assert first.notes == ()
    assert [a.whose for a in second.log if a.what == "build gcc"] == ["candidate"]
    assert 0 < len(timed) < len(own)  # timed runs and peak memory alone
    assert len(runs) - len(timed) == len(every) - len(own)
