"""Queues and profiles as people write them: counts, files, columns, and every problem at once."""

from __future__ import annotations

import pytest

from rheostat.decision.coschedule import queue_files
from rheostat.decision.coschedule.gpu_profiles import Mode
from rheostat.decision.coschedule.queue_files import read_profiles, read_queue
from rheostat.errors import DataError

KNOWN = {app: (Mode(app, 1, 9.0, 100.0),) for app in ("a", "b", "a*2")}


def jobs(text: str) -> list[tuple[str, str, float]]:
    return [(w.name, w.app, w.submit_s) for w in read_queue(text, KNOWN)]


@pytest.mark.parametrize(("text", "apps"), [
    ("", ["a", "a*2", "b"]), ("  ", ["a", "a*2", "b"]), ("b,a", ["b", "a"]),
    ("b * 2, a,", ["b", "b", "a"]), ("a*2", ["a*2"]), ("a*3", ["a"] * 3), ("b*1", ["b"]),
])  # fmt: skip
def test_a_queue_is_names_with_counts(text, apps) -> None:
    found = jobs(text)
    assert [app for _, app, _ in found] == apps
    for app in set(apps):
        names = [name for name, own, _ in found if own == app]
        assert names == (
            [app] if len(names) == 1 else [f"{app}#{i + 1}" for i in range(len(names))]
        )


def test_all_that_is_wrong_with_names_is_said_at_once(monkeypatch) -> None:
    with pytest.raises(DataError) as caught:
        read_queue("a*0,b*0,x,y*2", KNOWN)
    assert list(caught.value.problems) == [
        "a*0: expected a count of at least 1", "b*0: expected a count of at least 1",
        "x has no profile", "y has no profile", "there are a, a*2, b"]  # fmt: skip
    for count, more in ((8, []), (9, ["nor have 1 more"]), (10, ["nor have 2 more"])):
        with pytest.raises(DataError) as caught:
            read_queue(",".join(f"z{i}" for i in range(count)), KNOWN)
        assert list(caught.value.problems) == [
            *(f"z{i} has no profile" for i in range(8)), *more, "there are a, a*2, b"]  # fmt: skip
    monkeypatch.setattr(queue_files, "LONGEST", 1_000)
    assert len(jobs("a*1000")) == 1_000
    with pytest.raises(DataError, match="expected 1 to 1,000 jobs, got 1,001"):
        read_queue("a*1000,b", KNOWN)
    with pytest.raises(DataError, match="expected 1 to 1,000 jobs, got 0"):
        read_queue(",", KNOWN)
    with pytest.raises(DataError, match="there are a"):
        read_queue("n" * 5_000, KNOWN)  # too long to be a file


def test_a_file_names_jobs_or_their_rows_do(tmp_path, monkeypatch) -> None:
    path = tmp_path / "queue.csv"
    path.write_text("app,submit_s,job_id\na,5,7\nb,0,\n")
    assert jobs(str(path)) == [("7", "a", 5.0), ("b#2", "b", 0.0)]
    path.write_text("app\na\na\n")
    assert jobs(str(path)) == [("a#1", "a", 0.0), ("a#2", "a", 0.0)]
    monkeypatch.setattr(queue_files, "LONGEST", 1)
    with pytest.raises(DataError, match="expected at most 1 jobs, got 2"):
        jobs(str(path))


def test_all_that_is_wrong_with_a_file_is_said_at_once(tmp_path) -> None:
    path = tmp_path / "queue.csv"
    rows = [f"{'x' if i else 'a'},{'soon' if i else 1e12},{i // 2}" for i in range(14)]
    path.write_text("\n".join(["app,submit_s,job_id", *rows, "a,-2e12,99", "b,,98"]))
    with pytest.raises(DataError) as caught:
        jobs(str(path))
    unknown, there, when, *twice = caught.value.problems
    assert (unknown, there) == ("x has no profile", "there are a, a*2, b")
    assert when.startswith("submit_s: expected seconds, got something else or nothing in rows 2, 3")
    assert twice == [f"job_id {i} comes twice" for i in range(5)]
    path.write_text("b,c,d,e,f,g,h,i,j\n1,1,1,1,1,1,1,1,1\n")
    with pytest.raises(
        DataError, match=r"column app is missing; there are b, c, d, e, f, g, h, i$"
    ):
        jobs(str(path))


def profiles(tmp_path, text: str, **where):
    path = tmp_path / "profiles.csv"
    path.write_text(text)
    return read_profiles(path, where or None)


TABLE = "app,gpus,runtime_s,power_w,machine\na,1,9,100,x\na,1,7,90,y\n"


def test_profiles_of_one_machine_are_picked_by_a_column(tmp_path) -> None:
    for machine, runtime_s in (("x", 9.0), ("y", 7.0)):
        (mode,) = profiles(tmp_path, TABLE, machine=machine)["a"]
        assert mode.runtime_s == runtime_s
    with pytest.raises(DataError, match=r"--where machine=\.\.\. is needed: x, y"):
        profiles(tmp_path, TABLE)
    with pytest.raises(DataError, match="no row has"):
        profiles(tmp_path, TABLE, machine="z")
    with pytest.raises(DataError) as caught:
        profiles(tmp_path, TABLE, machine="x", site="s", room="r")
    assert list(caught.value.problems) == ["column site is missing", "column room is missing"]


def test_machines_that_share_no_mode_may_stand_in_one_file(tmp_path) -> None:
    apart = TABLE.replace("a,1,7", "a,2,7")
    assert [m.gpus for m in profiles(tmp_path, apart)["a"]] == [1, 2]
    capped = "app,gpus,cap_w,runtime_s,power_w,machine\na,1,200,9,100,x\na,1,300,7,90,y\n"
    assert [m.cap_w for m in profiles(tmp_path, capped)["a"]] == [200.0, 300.0]
    with pytest.raises(DataError, match="gpus") as caught:
        profiles(tmp_path, "app,runtime_s,power_w\na,9,100\n")
    assert "profiles.csv" in str(caught.value)
