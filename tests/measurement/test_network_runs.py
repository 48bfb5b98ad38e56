"""Simulated runs, read and generated: all of a small one, what has ended, what is missing."""

from __future__ import annotations

import gzip
import runpy
import sys
from unittest.mock import MagicMock

import numpy as np
import pytest

from rheostat.core.jobs import Note
from rheostat.errors import DataError, RheostatError
from rheostat.measurement.network import generate
from rheostat.measurement.network.dragonfly import Dragonfly
from rheostat.measurement.network.folder import NetworkRun, read_network_run
from rheostat.measurement.network.iteration_log import looks_like_log
from rheostat.measurement.network.network_jobs import NetworkJob
from rheostat.measurement.network.port_series import read_ports, write_ports
from tests.measurement.exactly import refused, written
from tests.measurement.small_network import CONF, mark, record, series

# --- a run -------------------------------------------------------------------------------------


def run_of(folder, *lines, **texts):
    written(folder / "iterations.txt", "\n".join(lines))
    for name, text in texts.items():
        written(folder / f"{name}.conf", text)
    return read_network_run(folder)


def test_a_run_without_configuration_names_jobs_by_number(tmp_path):
    lines = [mark(i, r, 1e6 * (i + 1), job) for job in (0, 2) for r in (1, 0) for i in (0, 1, 2)]
    run = run_of(tmp_path, *lines, *[mark(i, 0, 1e6 * (i + 1), 2) for i in range(3, 7)])
    assert run.jobs == (NetworkJob(0, "job-0", (10, 11)), NetworkJob(2, "job-2", (10, 11)))
    assert (run.network, run.ports, run.links, run.notes[1:]) == (None, None, None, ())
    (note,) = run.notes  # one of two ranks goes on alone
    assert (note.message[:36], note.count) == ("job-2: marks of single ranks are mis", 4)
    assert run.summary() == {
        "run": tmp_path.name, "end_s": 7e-3, "network": None, "windows": None, "links": None,
        "background": [],
        "applications": {
            name: {"ranks": 2, "iterations": n, "median_iteration_s": pytest.approx(1e-3),
                   "ended_s": end} for name, n, end in (("job-0", 3, 3e-3), ("job-2", 7, None))},
    }  # fmt: skip


@pytest.mark.parametrize(("last", "ended"), [(6.0, np.inf), (6.001, 3e-3), (5.0, np.inf)])
def test_an_application_has_ended_once_three_of_its_iterations_are_missing(tmp_path, last, ended):
    lines = [mark(i, 0, 1e6 * (i + 1)) for i in range(3)] + [mark(0, 1, 1e6 * last, 1)]
    run = run_of(tmp_path, *lines)
    assert run.ended_s("job-0") == ended
    assert run.ended_s("job-1") == np.inf
    assert run.iteration_s("job-1").tolist() == []


def test_of_marks_that_go_back_the_first_is_named(tmp_path):
    with pytest.raises(DataError) as said:
        run_of(tmp_path, *[mark(i, 0, 1e6 * ms) for i, ms in enumerate((5, 4, 3, 9))])
    assert list(said.value.problems) == [
        "job-0: expected iterations one after the other, got one that ended at 0.004 s, after one "
        "at 0.005 s"]  # fmt: skip


def test_an_application_of_one_mark_has_ended_if_another_goes_on(tmp_path):
    run = run_of(tmp_path, mark(4, 0, 1e6), mark(0, 0, 2e6, 1))
    assert (run.ended_s("job-0"), run.ended_s("job-1")) == (1e-3, np.inf)
    facts = run.summary()["applications"]["job-0"]
    assert (facts["median_iteration_s"], facts["ended_s"], facts["iterations"]) == (None, 1e-3, 1)


def test_beyond_a_long_gap_is_another_run_and_no_whole_iteration_leaves_none(tmp_path):
    lines = [mark(i, 0, 1e6 * (i + 1)) for i in (0, 1, 2, 1003, 1004, 2006, 2007)]
    run = run_of(tmp_path, *lines)
    assert len(run.mark_s("job-0")) == 1005  # a gap of 1,000 is passed over, one more is not
    assert [(n.count, n.dropped, f"{n.message:.42}") for n in run.notes] == [
        (1000, False, "job-0: iterations have no mark, they are pa"[:42]),
        (2, True, "job-0: iterations have marks of too few ra"[:42]),
    ]
    run = run_of(tmp_path, mark(0, 0, 1e6), mark(1, 1, 2e6), mark(1, 2, 2e6))
    assert (run.mark_s("job-0").tolist(), run.ended_s("job-0")) == ([], np.inf)


def test_a_tail_of_too_few_ranks_is_left_out_and_said(tmp_path):
    """One of four goes on for ten more; what is behind by three may be how the run was stopped."""
    lines = [mark(i, r, 1e6 * (i + 1)) for i in range(30) for r in range(4) if r == 0 or i < 20]
    run = run_of(tmp_path, *lines)
    assert (len(run.mark_s("job-0")), [n.count for n in run.notes if n.dropped]) == (20, [7])


def test_marks_of_single_ranks_may_be_missing_but_not_those_of_most(tmp_path):
    """Rank 3 falls silent for good, rank 1 has two holes, rank 2 has not come to the last one."""
    gone = {(i, 3) for i in range(4, 12)} | {(2, 1), (6, 1), (11, 2)}
    lines = [mark(i, r, 1e6 * (i + 1) + r) for i in range(12) for r in range(5)
             if (i, r) not in gone]  # fmt: skip
    run = run_of(tmp_path, *lines)
    assert run.mark_s("job-0") == pytest.approx(1e-3 * np.arange(1, 12), rel=1e-4)
    (note,) = run.notes
    assert note == Note("job-0: marks of single ranks are missing, the median of the others is "
                        "used", (), 9)  # fmt: skip
    assert run.ended_s("job-0") == np.inf


def test_a_clock_in_seconds_is_refused_and_one_beside_other_telemetry_noted(tmp_path):
    refused(lambda: run_of(tmp_path, *[mark(i, 0, 0.003 * (i + 1)) for i in range(4)]),
            "job-0: expected marks in ns, got a median iteration of 0.003 ns; a table may have "
            "another unit (time_s)")  # fmt: skip
    assert run_of(tmp_path, mark(0, 0, 1), mark(1, 0, 2)).iteration_s("job-0").tolist() == [1e-9]
    conf = {"net": CONF, "wl": "1 a 0 0\n", "alloc": "3\n"}
    lines = [mark(i, 0, 1e6 * (i + 1)).replace("node 10", "node 3") for i in range(4)]
    run_of(tmp_path, *lines, **conf)
    for end_s, said in ((2e-3, "telemetry ends at 0.002 s, marks at 0.004 s"), (4e-3, None),
                        (0.5, "telemetry goes on to 0.5 s, marks end at 0.004 s")):  # fmt: skip
        whole = series([end_s / 2, end_s], np.ones((2, 6, 3, 5)))
        write_ports(tmp_path / "ports.npz", whole)
        notes = read_network_run(tmp_path).notes
        assert [n.message.split(":")[0] for n in notes] == ([said] if said else [])
    write_ports(tmp_path / "ports.npz", series([2e-3], np.ones((1, 6, 3, 5))))
    assert not read_network_run(tmp_path).notes  # one more window would reach the last mark


def test_what_of_a_folder_is_not_read_is_said(tmp_path):
    lines = [mark(i, r, 1e6 * (i + 1)) for i in range(3) for r in (0, 2)]
    conf = {"wl": "3 a 0 0\n", "alloc": "10 11 13\n"}
    said = [n.message for n in run_of(tmp_path, *lines, **conf).notes]
    assert said == ["a: 1 of 3 ranks have no marks", "a: the log and alloc.conf differ in the "
                    "terminals of 1 ranks, those of alloc.conf are used"]  # fmt: skip
    (tmp_path / "alloc.conf").unlink()
    (tmp_path / "iteration-logs").mkdir()
    written(tmp_path / "iteration-logs" / "pe=0.txt", "x")
    written(tmp_path / "iterations.csv", "x")
    for name in ("ports.npz", "ross-stats-analysis-lps.bin"):
        write_ports(tmp_path / name, series([4e-3], np.ones((1, 6, 3, 5))))
    said = [n.message for n in read_network_run(tmp_path).notes]
    assert said == [
        "iterations.txt is read, iterations.csv beside it not",
        "ports.npz is read, ross-stats-analysis-lps.bin beside it not",
        "iteration-logs/pe=*.txt is not read, as another log of iterations is there",
        "wl.conf is not read: wl.conf and alloc.conf are needed together",
    ]


TABLES = {
    "iteration,app,runtime_ms\n0,a,1\n1,a,2\n0,b,4\n2,a,3\n": {"a": [1, 2, 3], "b": [4]},
    "time_us;job\n1000;1\n3000;1\n3500;1\n": {"job-1": [2, 0.5]},
    "rank,duration_s\n0,0.001\n1,0.001\n0,0.002\n1,0.002\n": {"job-0": [1, 2]},
}


@pytest.mark.parametrize("text", TABLES)
def test_a_table_alone_is_a_run_in_its_own_unit(tmp_path, text):
    table = written(tmp_path / "iterations.csv", text)
    for run in (read_network_run(table), read_network_run(tmp_path)):
        assert {a: run.iteration_s(a) for a in run.applications} == {
            a: pytest.approx(1e-3 * np.array(ms)) for a, ms in TABLES[text].items()}  # fmt: skip
    assert read_network_run(table).name == "iterations"


def test_a_run_of_more_applications_than_are_looked_at_is_refused(tmp_path, monkeypatch):
    table = written(tmp_path / "iterations.csv", "app,runtime_s\na,1\nb,1\nb,2\n")
    monkeypatch.setattr("rheostat.measurement.network.folder.MOST_APPS", 2)
    assert len(read_network_run(table).applications) == 2
    monkeypatch.setattr("rheostat.measurement.network.folder.MOST_APPS", 1)
    refused(
        lambda: read_network_run(table), "expected at most 1 applications, got 2: leave some out"
    )


def test_what_a_table_lacks_is_said(tmp_path):
    def table(text):
        return lambda: read_network_run(written(tmp_path / "iterations.csv", text))

    columns = ("expected one column time_s (when an iteration ended) or runtime_s (how long it "
               "took), or with _ms, _us, _ns, got ")  # fmt: skip
    refused(table("rank,time\n0,5\n"), columns + "rank, time in text that begins with 'rank,time'")
    refused(table("time_s,runtime_s\n1,5\n"), columns + "time_s, runtime_s")
    refused(table("rank,time_s\n-1,5\n"), "rank: expected counts from 0, got others, too")
    numbers = "expected numbers from 0 in time_s, counted from where the run began, got "
    refused(table("time_s\nnan\n"), numbers + "none")
    refused(table("time_s\nsoon\n"), numbers + "'soon'")
    refused(
        table("time_s\n3\n2\n"),
        "time_s: expected when each iteration ended, ascending, got "
        "times that go back, first at iteration 1, in 1 of 2 rows; where a clock was set "
        "back, give what is before or after it; how long each took belongs into runtime_s",
    )
    refused(table("runtime_s\n0\n"), "expected numbers above 0 in runtime_s, got 0")
    run = table("iteration,time_s\n0,1\n0,2\n1,nan\n2,3\n")()
    assert [(n.message, n.count) for n in run.notes[:2]] == [
        ("the row has no time", 1), ("the iteration is there before", 1)]  # fmt: skip
    written(tmp_path / "net.conf", CONF)
    refused(lambda: read_network_run(tmp_path), "expected the terminal of each rank (a column "
            "terminal, or wl.conf and alloc.conf) beside net.conf")  # fmt: skip
    written(tmp_path / "iterations.csv", "app,time_s\na,1\n")
    for name, text in (("wl.conf", "1 a 0 0\n"), ("alloc.conf", "3\n")):
        written(tmp_path / name, text)
    refused(lambda: read_network_run(tmp_path), "expected the column job in the table of "
            "iterations, as wl.conf names applications, got app")  # fmt: skip


WORK = "1 a 0 0\n1 a 0 0\n1 b 0 0\n1 noise 0 5\n"


def test_two_jobs_of_one_name_are_told_apart_and_noise_has_no_marks(tmp_path):
    lines = [mark(0, 0, 1e6, job) for job in (0, 1, 2)]
    conf = CONF.replace('cn_bandwidth="0.5"', 'routing="minimal"')
    run = run_of(tmp_path, *lines, wl=WORK, alloc="0\n1\n2\n5\n", net=conf)
    assert list(run.applications) == ["a-0", "a-1", "b"]
    facts = run.summary()
    assert facts["background"] == [{"app": "noise", "ranks": 1, "interval_s": 5e-9}]
    assert facts["network"] == {"groups": 3, "routers": 6, "terminals": 6, "ports": 18, "edges": 48,
                                "routing": "minimal"}  # fmt: skip
    terminals = f"alloc.conf names terminals beyond the {6} of net.conf"
    with pytest.raises(DataError, match=terminals):
        run_of(tmp_path, *lines, alloc="0\n6\n2\n5\n")
    both = "the iteration log names jobs [4, 5, 6, 7, 8], wl.conf has 4"
    refused(lambda: run_of(tmp_path, *[mark(0, 0, 1, j) for j in range(4, 10)]), both, terminals)


def test_telemetry_of_a_run_has_the_routers_of_its_network(tmp_path):
    conf = {"net": CONF, "wl": "1 a 0 0\n", "alloc": "3\n"}
    run = run_of(tmp_path, mark(0, 0, 1e6).replace("node 10", "node 3"), **conf)
    whole = series([0.05], np.ones((1, 6, 3, 5)))
    write_ports(tmp_path / "ports.npz", whole)
    written(tmp_path / "dragonfly-link-stats", "0 T 1 R CN 5 2 3\nodd\n")
    run = read_network_run(tmp_path)
    assert run.notes == (Note("the line is no link", (1,), 1, dropped=True),)
    facts = run.summary()
    assert (facts["windows"], facts["links"]) == (
        {"count": 1, "window_s": pytest.approx(0.05), "traffic_b": 18.0, "stalled_chunks": 18.0},
        1,
    )
    assert read_network_run(tmp_path, ports=False).ports is None
    for shape, got in (((5, 3), "5 of 3"), ((6, 4), "6 of 4")):
        write_ports(tmp_path / "ports.npz", series([0.5], np.ones((1, *shape, 5))))
        refused(lambda: read_network_run(tmp_path),
                f"expected 6 routers of 3 ports as in net.conf, got {got}")  # fmt: skip
    (tmp_path / "ports.npz").unlink()
    small, routers = record(0, 1e6, 4), [record(r, 1e6, 3) for r in range(6)]
    (tmp_path / "ross-stats-analysis-lps.bin").write_bytes(b"".join([small, *routers]))
    assert read_network_run(tmp_path).ports.values.shape == (1, 6, 3, 5)
    (tmp_path / "net.conf").unlink()
    assert read_network_run(tmp_path).ports.values.shape == (1, 1, 4, 5)


def test_a_folder_that_is_none_is_named_for_what_it_is(tmp_path):
    file = written(tmp_path / "f", "word")
    logs = ("iterations.txt.gz, iterations.txt, iterations.csv, iterations.csv.gz, "
            "iterations.parquet, iteration-logs/pe=*.txt")  # fmt: skip
    refused(lambda: read_network_run(tmp_path), f"expected an iteration log ({logs}), got none")
    kinds = ("a folder of a simulated run, an iteration log of CODES, a table (.csv, .parquet), "
             "or lines such as step_time_ms=41 or iter 3: time 41ms")  # fmt: skip
    refused(lambda: read_network_run(file), f"expected {kinds}, got text that begins with 'word'")
    refused(lambda: read_network_run(tmp_path / "no"),
            "expected a folder of a simulated run, got nothing there")  # fmt: skip


def test_a_log_is_a_text_with_a_mark_in_its_first_thousand_lines(tmp_path):
    for before, is_one in ((999, True), (1000, False)):
        text = "ROSS says\n" * before + mark(0, 0, 1)
        assert looks_like_log(written(tmp_path / "log", text)) is is_one
    (tmp_path / "log.gz").write_bytes(gzip.compress(text.encode())[:9])
    assert not looks_like_log(tmp_path / "log.gz")


def test_a_log_alone_is_a_run_and_a_folder_has_its_name_wherever_one_stands(tmp_path, monkeypatch):
    lines = "\n".join(["odd", *[mark(i, 0, 1e6 * (i + 1)) for i in range(3)]])
    run = read_network_run(written(tmp_path / "iterations.txt", lines))
    assert (run.name, run.iteration_s("job-0").tolist()) == (
        "iterations",
        pytest.approx([1e-3] * 2),
    )
    monkeypatch.chdir(tmp_path)
    assert read_network_run(".").name == tmp_path.name


# --- generated runs ----------------------------------------------------------------------------


def test_without_simgrid_nothing_is_generated(tmp_path, monkeypatch):
    network = Dragonfly(3, 2, 2, 1)
    monkeypatch.setattr(generate, "PYTHON", "/no/python")
    assert generate.without_simgrid() == "/no/python is not there"
    with pytest.raises(RheostatError, match="/no/python is not there"):
        generate.generate_network_run(tmp_path, network)
    monkeypatch.setattr(generate, "PYTHON", "/bin/false")
    assert generate.without_simgrid() == "SimGrid is missing: apt install python3-simgrid"
    monkeypatch.setattr(generate, "PYTHON", "/bin/true")
    assert generate.without_simgrid() == ""
    refused(lambda: generate.generate_network_run(tmp_path, Dragonfly(3, 2, 9, 2)),
            "expected one global link between two groups")  # fmt: skip
    refused(lambda: generate.generate_network_run(tmp_path, Dragonfly(2, 1, 5, 1)),
            "expected 12 terminals or more")  # fmt: skip


def test_ranks_are_half_of_the_terminals_four_ninths_and_at_least_two_of_the_rest(monkeypatch):
    monkeypatch.setitem(sys.modules, "simgrid", MagicMock())
    split = runpy.run_path(str(generate.SCRIPT))["split"]
    assert (split(90), split(12), split(14)) == ((45, 40, 5), (6, 4, 2), (7, 4, 3))
    for hosts in range(generate.LEAST_TERMINALS, 300):
        first, second, rest = split(hosts)
        assert first + second + rest == hosts
        assert rest >= 2  # noise goes to another terminal
        assert second % 2 == 0


def test_noise_changes_its_rate_at_two_of_a_thousand_messages(monkeypatch):
    """Of 64 KiB, and so many that they are the load times 5.25 GiB/s, a fifth or thrice that."""
    monkeypatch.setitem(sys.modules, "simgrid", MagicMock())
    state, rng, place = MagicMock(), MagicMock(), iter([0, 1, 2])
    state.__getitem__.side_effect = [2, 1, 1, 1, 0]  # ranks that are left
    rng.random.side_effect = [0.0021, 0.0019, 0.0019, 0.0019]
    rng.choice.side_effect = lambda among: among[next(place) if isinstance(among, tuple) else 0]
    noise = runpy.run_path(str(generate.SCRIPT))["noise"]
    noise(state, rng, "source", ["target"], 0.1)
    rates = [call.args[0] for call in rng.expovariate.call_args_list]
    assert rates == pytest.approx(0.1 * 5.25 * 2**14 * np.array([1.0, 0.2, 1.0, 3.0]))


SCRIPT = """import sys
from pathlib import Path
folder = Path(sys.argv[1])
for name in ("wl.conf", "alloc.conf", "net.conf"):
    (folder / name).write_text(name)
(folder / "iterations.txt").write_text(" ".join(sys.argv[2:]))
(folder / "links.csv").write_text("1.2,0.0\\n5,6\\n7,8\\n")
sys.exit("a sad end" if sys.argv[7] == "9" else 0)
"""


def test_what_the_simulator_writes_becomes_a_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(generate, "PYTHON", sys.executable)
    monkeypatch.setattr(generate, "without_simgrid", lambda: "")
    monkeypatch.setattr(generate, "SCRIPT", written(tmp_path / "s.py", SCRIPT))
    network = Dragonfly(3, 2, 2, 1)
    folder = generate.generate_network_run(str(tmp_path / "out"), network)
    assert folder == tmp_path / "out"
    assert (folder / "iterations.txt").read_text() == "3 2 2 1 60 0 0.1"
    assert (folder / "alloc.conf").read_text() == "alloc.conf"
    ports = read_ports(folder / "ports.npz")
    assert ports.end_s == pytest.approx([250e-6, 500e-6])
    expected = np.zeros((2, 6, 4, 5))
    expected[:, 1, 2, 1], expected[:, 0, 0, 1] = (5, 7), (6, 8)
    assert np.array_equal(ports.values, expected)
    generate.generate_network_run(folder, Dragonfly(2, 1, 6, 1), iterations=7, seed=3, load=0.5)
    assert (folder / "iterations.txt").read_text() == "2 1 6 1 7 3 0.5"
    with pytest.raises(RheostatError, match="SimGrid ended with 1: a sad end"):
        generate.generate_network_run(folder, network, seed=9)


def sums(run: NetworkRun) -> list[float]:
    """What every mark, and every port in every window, changes."""
    time_s = run.finished["time_s"].to_numpy()
    traffic = run.ports.values[..., 1].reshape(len(run.ports.end_s), -1)
    by_place = traffic @ np.arange(traffic.shape[1])
    by_window = np.arange(len(traffic)) @ traffic
    return [time_s.sum(), time_s @ np.arange(len(time_s)), traffic.sum(), by_place.sum(),
            by_window.sum()]  # fmt: skip


ALLOCATED = ("2 9 1 4 10 3\n6 5 8 0\n11 7\n",
             "7 9 3 12 15 2 1 13 0 6\n8 4 11 16 18 5 14 10\n19 17\n")  # fmt: skip
SPEEDS = ('local_bandwidth="5.25";\nglobal_bandwidth="4.7";\ncn_bandwidth="5.25";\n'
          'routing="minimal";\n')  # fmt: skip


@pytest.mark.parametrize(("sizes", "more", "work", "places", "expected"), [
    ((3, 2, 2, 1), (12, 0.1, 1), "6 halo 0 0\n4 allreduce 0 0\n2 synthetic 0 116257\n", 0,
     [0.476571072694226, 32.225381005220804, 395233559.0, 4359906870.0, 5984153183.0]),
    ((5, 2, 2, 2), (11, 0.2, 4), "10 halo 0 0\n8 allreduce 0 0\n2 synthetic 0 58129\n", 1,
     [0.880433473061865, 93.01819689885043, 647025193.0, 12496973908.0, 11875877950.0]),
])  # fmt: skip
def test_a_generated_run_is_what_it_was(tmp_path, sizes, more, work, places, expected):
    """All of a run of SimGrid 3.32 in a few sums: figures of a page stand on such runs."""
    if why := generate.without_simgrid():
        pytest.skip(why)
    options = dict(zip(("iterations", "load", "seed"), more, strict=True))
    generate.generate_network_run(tmp_path, Dragonfly(*sizes), **options)
    assert (tmp_path / "wl.conf").read_text() == work
    assert (tmp_path / "alloc.conf").read_text() == ALLOCATED[places]
    names = ("groups", "routers", "cns_per_router", "global_channels")
    head = "".join(f'num_{n}="{k}";\n' for n, k in zip(names, sizes, strict=True))
    assert (tmp_path / "net.conf").read_text() == head + SPEEDS
    assert sums(read_network_run(tmp_path)) == pytest.approx(expected, rel=1e-9)
