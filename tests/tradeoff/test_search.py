"""The loop loses nothing that was told, continues where it stopped, and asks nothing twice."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from rheostat import Knob, Outcome, table
from rheostat.core.storage.files import seal
from rheostat.errors import DataError
from rheostat.tradeoff.propose import Exhaustive, Sobol
from rheostat.tradeoff.search import search
from rheostat.tradeoff.search_journal import SearchJournal

SCRIPT = Path(__file__).with_name("killable.py")
_spec = importlib.util.spec_from_file_location("killable", SCRIPT)
killable = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(killable)

NODES = Knob("nodes", [1, 2, 4, 8])


def measure(jobs):
    n = jobs.numpy("nodes")[None, :]
    return Outcome({"runtime_s": 10 + 90 / n, "power_w": 500.0 * n})


def told(path):
    """Settings in the journal's complete told lines."""
    lines = path.read_bytes().split(b"\n")[:-1]
    return [json.loads(x)["told"] for x in lines if b'"told"' in x]


def start(journal, budget, batch, pause):
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), str(journal), str(budget), str(batch), str(pause)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("batch", [1, 4])
def test_kill_nine_loses_no_told_result_and_the_same_call_continues(tmp_path, batch):
    journal, whole = tmp_path / "run.jsonl", tmp_path / "whole.jsonl"
    process = start(journal, 12, batch, 0.05)
    promised = [process.stdout.readline() for _ in range(6)][-1]
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    kept = told(journal)
    assert len(kept) >= int(promised) == 6

    calls = []

    def counted(jobs):
        calls.append(jobs.frame.row(0))
        return killable.measure(jobs)

    front = search(Sobol(killable.SPACE, seed=3), counted, 12, batch=batch, journal=journal)
    assert len(calls) == 12 - len(kept)
    assert len(front) == len(set(front.alternatives.frame.rows())) == 12
    assert [list(r.values()) for r in kept] == [
        list(r) for r in front.alternatives.frame.rows()[: len(kept)]
    ]
    uninterrupted = search(
        Sobol(killable.SPACE, seed=3), killable.measure, 12, batch=batch, journal=whole
    )
    assert sorted(front.alternatives.frame.rows()) == sorted(
        uninterrupted.alternatives.frame.rows()
    )


def test_every_cut_of_the_last_line_is_noted_and_ignored(tmp_path):
    journal = tmp_path / "run.jsonl"
    search(Exhaustive(NODES), measure, 3, journal=journal)
    text = journal.read_bytes()
    last = text[:-1].rfind(b"\n") + 1
    for cut in range(last + 1, len(text), 7):
        journal.write_bytes(text[:cut])
        front = search(Exhaustive(NODES), measure, 3, journal=journal)
        assert front.mean("runtime_s").tolist() == [100.0, 55.0, 32.5]
        assert [n.message for n in front.outcome.notes] == [
            "journal: the last line was cut off and is ignored"
        ]
        assert journal.read_bytes() == text


def test_asked_and_untold_settings_are_measured_first(tmp_path):
    journal = tmp_path / "run.jsonl"

    def breaks_at_four(jobs):
        if jobs.frame["nodes"][0] == 4:
            raise RuntimeError("node down")
        return measure(jobs)

    with pytest.raises(RuntimeError, match="node down"):
        search(Exhaustive(NODES), breaks_at_four, 4, batch=3, journal=journal)
    assert [r["nodes"] for r in told(journal)] == [1, 2]
    with SearchJournal(journal, Exhaustive(NODES)) as book:
        assert [p.frame["nodes"][0] for p in book.pending] == [4]
    front = search(Exhaustive(NODES), measure, 4, journal=journal)
    assert front.alternatives.frame["nodes"].to_list() == [1, 2, 4, 8]


def test_control_c_stops_cleanly_and_the_same_call_continues(tmp_path):
    journal = tmp_path / "run.jsonl"
    process = start(journal, 50, 1, 0.05)
    for _ in range(4):
        process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors
    assert f"results are in {journal}; the same call continues" in errors
    assert journal.read_bytes().endswith(b"\n")
    done = len(told(journal))
    assert 4 <= done < 50
    front = search(Sobol(killable.SPACE, seed=3), killable.measure, done + 2, journal=journal)
    assert len(front) == done + 2


class Program:
    """A measure that says what it runs, as `Command` does."""

    def __init__(self, program):
        self.program = program

    def __call__(self, jobs):
        return measure(jobs)


@pytest.mark.parametrize(
    ("proposer", "program", "said"),
    [
        (Exhaustive(NODES), "./b.sh {nodes}", r'program: "./a.sh {nodes}" there, "./b.sh {nodes}"'),
        (Exhaustive(NODES), "", r'program: "./a.sh {nodes}" there, "" now'),
        (Exhaustive(Knob("nodes", [1, 2, 4])), "./a.sh {nodes}", r"space: .*8.* there, .* now"),
        (Exhaustive(Knob("cores", [1, 2, 4, 8])), "./a.sh {nodes}", r"space: .*nodes.*cores"),
        (Exhaustive(NODES, ("runtime_s", "power_w")), "./a.sh {nodes}", r"objectives: .*energy_j"),
        (Exhaustive(NODES, job=table({"app": ["lu"]})), "./a.sh {nodes}", r"job: null.*lu"),
    ],
)
def test_a_journal_of_another_search_is_refused_and_left_alone(tmp_path, proposer, program, said):
    """Results of one program, space, job or objective are worth nothing to another."""
    journal = tmp_path / "run.jsonl"
    search(Exhaustive(NODES), Program("./a.sh {nodes}"), 2, journal=journal)
    before = journal.read_bytes()
    with pytest.raises(DataError, match=f"holds another search; {said}.*name another journal"):
        search(proposer, Program(program), 3, journal=journal)
    assert journal.read_bytes() == before
    assert len(search(Exhaustive(NODES), Program("./a.sh {nodes}"), 3, journal=journal)) == 3


def test_a_value_changed_in_a_journal_is_found(tmp_path):
    journal = tmp_path / "run.jsonl"
    search(Exhaustive(NODES), measure, 3, journal=journal)
    journal.write_bytes(journal.read_bytes().replace(b"55.0", b"54.0"))
    with pytest.raises(DataError, match=r"line \d is damaged: mend it"):
        search(Exhaustive(NODES), measure, 4, journal=journal)


def test_a_finished_journal_measures_nothing_again(tmp_path):
    journal = tmp_path / "run.jsonl"
    first = search(Exhaustive(NODES), measure, 4, journal=journal)

    def never(jobs):
        raise AssertionError("measured again")

    again = search(Exhaustive(NODES), never, 4, journal=journal)
    assert np.array_equal(first.values, again.values)
    assert first.alternatives.schema == again.alternatives.schema


def test_missing_values_and_repetitions_survive_the_journal(tmp_path):
    journal = tmp_path / "run.jsonl"

    def failing(jobs):
        n = float(jobs.frame["nodes"][0])
        runs = [[np.nan]] if n == 2 else [[n], [n + 1]]
        return Outcome({"runtime_s": np.array(runs), "power_w": np.array(runs)})

    search(Exhaustive(NODES), failing, 2, journal=journal)
    front = search(Exhaustive(NODES), failing, 4, journal=journal)
    assert front.draws("runtime_s")[:, 0].tolist() == [1.0, 2.0]
    assert np.isnan(front.values[1]).all()
    assert not front.mask[1]


def test_the_loop_stops_when_the_space_is_used_up():
    assert len(search(Exhaustive(NODES), measure, 100, batch=3)) == 4


def test_workers_measure_side_by_side():
    together = threading.Barrier(4, timeout=20)

    def meets(jobs):
        together.wait()  # passes only when four are inside at once
        return measure(jobs)

    front = search(Exhaustive(NODES), meets, 4, batch=4, workers=4)
    assert sorted(front.alternatives.frame["nodes"]) == [1, 2, 4, 8]


def test_two_searches_on_one_journal_are_refused(tmp_path):
    journal = tmp_path / "run.jsonl"
    with (
        SearchJournal(journal, Exhaustive(NODES)),
        pytest.raises(DataError, match="another search"),
    ):
        search(Exhaustive(NODES), measure, 2, journal=journal)


HEADER = (
    json.dumps(
        seal(
            {
                "schema": "rheostat.journal/2",
                "program": "",
                "space": [["nodes", [1, 2, 4, 8]]],
                "job": None,
                "objectives": [["runtime_s", "min"], ["energy_j", "min"]],
                "columns": [["nodes", "", "SUBMIT", "nodes asked for: the usual knob"]],
            }
        )
    ).encode()
    + b"\n"
)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"a": 1}\n', "expected a journal"),
        (b"[1]\n", "expected a journal"),
        (
            b'{"schema": "rheostat.journal/1", "objectives": []}\n',
            "does not say what ran; move the file away",
        ),
        (b"one line without an end, and no journal", "expected a journal"),
        (b"app,nodes\nlu,1\nlu,2", "expected a journal"),
        (HEADER + b"nonsense\n{}\n", "line 2 is damaged: mend it, or move the file away"),
        (HEADER + b'{"told": {"nodes": {}}}\n', "column nodes holds a dict"),
        (HEADER + b'{"told": {"nodes": 1}, "draws": 5}\n', "line 2 is damaged"),
        (HEADER.replace(b"[1, 2", b"[3, 2"), "line 1 is damaged"),
        (HEADER + b"[" * 9000 + b"\n", "line 2 is damaged"),
    ],
)
def test_a_foreign_or_damaged_journal_is_left_alone(tmp_path, content, message):
    journal = tmp_path / "run.jsonl"
    journal.write_bytes(content)
    with pytest.raises(DataError, match=message):
        search(Exhaustive(NODES), measure, 2, journal=journal)
    assert journal.read_bytes() == content


def test_wrong_counts_and_wrong_measures_are_named_together():
    with pytest.raises(DataError, match=r"budget.*batch"):
        search(Exhaustive(NODES), measure, 0, batch=0)
    with pytest.raises(DataError, match="expected an Outcome"):
        search(Exhaustive(NODES), lambda jobs: 3.0, 1)


def test_the_bar_is_on_stderr_and_only_when_asked(capfd):
    search(Exhaustive(NODES), measure, 2)
    assert capfd.readouterr() == ("", "")
    search(Exhaustive(NODES), measure, 2, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "2/2" in err


def test_one_fsync_per_told_result(tmp_path, monkeypatch):
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(time.monotonic()), real(fd)))
    search(Exhaustive(NODES), measure, 4, journal=tmp_path / "run.jsonl")
    assert len(synced) == 1 + 4 + 4  # header, four asked, four told
