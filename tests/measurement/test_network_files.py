"""Files of simulated networks to the last field, and those damaged at an edge."""

from __future__ import annotations

import numpy as np
import pytest

from rheostat.core.jobs import Note
from rheostat.errors import DataError
from rheostat.measurement.network.dragonfly import MOST, Dragonfly, read_dragonfly
from rheostat.measurement.network.iteration_log import application_marks, read_iteration_log
from rheostat.measurement.network.link_statistics import read_link_statistics
from rheostat.measurement.network.model_statistics import LONGEST_B, read_model_statistics
from rheostat.measurement.network.network_jobs import NetworkJob, read_network_jobs
from rheostat.measurement.network.port_series import read_ports, write_ports
from tests.measurement.exactly import refused, written
from tests.measurement.small_network import CONF, header, mark, record, series

# --- the network -------------------------------------------------------------------------------


def test_the_ports_of_the_smallest_network_one_by_one():
    """Two groups of two routers with one terminal: each link can be drawn by hand."""
    network = Dragonfly(2, 2, 1, 1)
    assert (network.routers, network.terminals, network.radix, network.ports) == (4, 4, 3, 12)
    assert (network.local_ports, network.wide_ports) == (slice(0, 1), slice(1, 2))
    within = [
        (3 * r + a, 3 * r + b) for r in range(4) for a in range(3) for b in range(3) if a != b
    ]
    local = [(0, 3), (3, 0), (6, 9), (9, 6)]
    wide = [(1, 7), (4, 10), (7, 1), (10, 4)]
    made = network.edges.T.tolist()
    assert sorted(map(tuple, made)) == sorted(within + local + wide)
    assert list(map(tuple, made))[24:28] == local
    router, port = network.terminal_port([0, 3])
    assert (router.tolist(), port.tolist()) == ([0, 3], [2, 2])
    graph = network.port_graph()
    assert graph.name == "ports"
    assert graph.nodes.rows()[:4] == [(0, 0, "local"), (0, 1, "global"), (0, 2, "terminal"),
                                      (1, 0, "local")]  # fmt: skip


def test_channels_of_groups_lead_to_the_groups_after_them():
    network = Dragonfly(3, 2, 2, 2)
    router, port = network.terminal_port(np.arange(5))
    assert router.tolist() == [0, 0, 1, 1, 2]
    assert port.tolist() == [3, 4, 3, 4, 3]
    wide = network.edges[:, -12:]
    group = wide // (network.radix * 2)
    place = wide % network.radix - 1
    router = wide // network.radix % 2
    channel = router * 2 + place
    assert ((place >= 0) & (place < 2)).all()
    assert np.array_equal((group[0] + 1 + channel[0] % 2) % 3, group[1])
    assert np.array_equal(channel[1], channel[0] // 2 * 2 + 1 - channel[0] % 2)
    local = network.edges[:, -18:-12]
    assert (local % network.radix == 0).all()
    assert (abs(local[0] - local[1]) == network.radix).all()


@pytest.mark.parametrize(("sizes", "said"), [
    ((1, 1, 1, 1), "expected two groups or more and sizes from 1, got (1, 1, 1, 1)"),
    ((2, 1, 0, 1), "expected two groups or more and sizes from 1, got (2, 1, 0, 1)"),
    ((2, 3, 16665, 1), f"expected at most {MOST:,} ports, got 100,008"),
    ((4, 2, 1, 2),
     "expected as many global ports of a group (4) as other groups (3), or a multiple"),
])  # fmt: skip
def test_sizes_that_make_no_network(sizes, said):
    refused(lambda: Dragonfly(*sizes), said)
    assert Dragonfly(2, 1, 49_999, 1).ports == MOST
    assert Dragonfly(2, 1, 1, 1).local_b_s == Dragonfly(2, 1, 1, 1).global_b_s == 0.0
    assert Dragonfly(2, 1, 1, 1).terminal_b_s == 0.0


def test_a_configuration_in_full_and_all_that_is_wrong_at_once(tmp_path):
    read = lambda text: read_dragonfly(written(tmp_path / "n", text))  # noqa: E731
    assert read(CONF) == Dragonfly(3, 2, 1, 1, 2 * 2**30, 0.0, 2**29, "")
    odd = CONF.replace('"3"', '"x"').replace('"2";\ncn', '"1.1234567890";\nglobal')
    refused(lambda: read(odd.replace("num_routers", "num_r")), "num_routers is missing",
            "num_groups: expected a count, got 'x'",
            "local_bandwidth: expected GiB/s, got '1.1234567890'")  # fmt: skip
    for key in ("num_router_rows", "num_router_cols"):
        refused(lambda key=key: read(f'{CONF}{key}="1";\n'),
                "expected a 1-D Dragonfly, got one with router rows and columns")  # fmt: skip
    refused(lambda: read(CONF.replace('"3"', '"1"')),
            "expected two groups or more and sizes from 1, got (1, 2, 1, 1)")  # fmt: skip


# --- binary telemetry --------------------------------------------------------------------------


def other(size):
    return header(size) + b"\1" * size


def telemetry(path, *records, radix=0):
    path.write_bytes(b"".join(records))
    return read_model_statistics(path, radix)


def test_every_quantity_of_every_port_has_its_place(tmp_path):
    given = [record(r, 1e6 * (w + 1), 3, seed=2 * w + r) for w in (1, 0) for r in (1, 0)]
    made = telemetry(tmp_path / "s", *given)
    assert made.end_s.tolist() == [1e-3, 2e-3]
    port, factor = np.arange(3), np.array([1e-9, 2, 3, 4, 5])
    for w in (0, 1):
        for r in (0, 1):
            expected = (1000.0 * (2 * w + r) + port)[:, None] * factor
            assert made.values[w, r] == pytest.approx(expected)
    assert np.array_equal(telemetry(tmp_path / "s", *given, radix=3).values, made.values)


def test_of_a_file_that_grows_what_is_not_whole_is_left_out(tmp_path):
    """Two windows of two routers, cut off within the second."""
    data = b"".join(record(r, 1e6 * (w + 1), 3, seed=2 * w + r) for w in (0, 1) for r in (0, 1))
    whole, path = telemetry(tmp_path / "s", data).values, tmp_path / "s"
    for end in range(len(data) // 2 + 1, len(data), 31):
        with pytest.raises(DataError):
            telemetry(path, data[:end])
        assert np.array_equal(read_model_statistics(path, growing=True).values, whole[:1])
    telemetry(path, data)
    assert np.array_equal(read_model_statistics(path, growing=True).values, whole)


def test_the_routers_are_the_largest_records_of_their_layout(tmp_path):
    small, large = record(0, 1.0, 2), record(0, 1.0, 3)
    assert telemetry(tmp_path / "s", small, other(72 + 32), other(80)).values.shape[2] == 2
    assert telemetry(tmp_path / "s", small, large).values.shape[2] == 3
    assert telemetry(tmp_path / "s", small, large, radix=2).values.shape[2] == 2
    for size in (1, LONGEST_B - 1):
        assert telemetry(tmp_path / "s", small, other(size)).values.shape[2] == 2
    assert LONGEST_B == 72 + 32 * 4096


NO_RECORD = "expected a record of virtual-time statistics at byte {}, got other bytes"
GVT = ("expected virtual-time statistics (analysis-lps.bin, --model-stats=3), "
       "got those of GVT or real time (model.bin)")  # fmt: skip
GVT_START = bytes((3, 0, 0, 0, 24, 0, 0, 0))
ROUTER = record(0, 1.0, 2)
SAMPLES = ("expected a sample of each of {} routers in each of {} windows, got {} in {} "
           "(a full --buffer-size drops samples)")  # fmt: skip


@pytest.mark.parametrize(("parts", "said"), [
    ((ROUTER, b"x" * 47), "cut off: 47 bytes left at byte 184, a header has 48"),
    ((ROUTER, other(80)[:-1]), "cut off: the record at byte 184 of 311 has 80 bytes"),
    ((ROUTER, header(80)), "cut off: the record at byte 184 of 232 has 80 bytes"),
    ((ROUTER, header(0)), NO_RECORD.format(184)), ((ROUTER, header(-4)), NO_RECORD.format(184)),
    ((header(LONGEST_B + 1),), NO_RECORD.format(0)),
    ((header(8, 4), b"x" * 8), NO_RECORD.format(0)),
    ((GVT_START, b"\0" * 40), GVT), ((other(80), GVT_START, b"\0" * 40), NO_RECORD.format(128)),
    *(((GVT_START[:k] + b"\7" + GVT_START[k + 1 :], b"\0" * 40), NO_RECORD.format(0))
      for k in range(8)),
    ((ROUTER, ROUTER), SAMPLES.format(1, 1, 1, 2)),
    ((ROUTER, record(1, 2.0, 2)), SAMPLES.format(2, 2, 2, 2)),
    ((ROUTER, record(1, 1.0, 2), record(0, 2.0, 2)), SAMPLES.format(2, 2, 3, 3)),
    ((record(0, 1.0, 2), record(2, 1.0, 2)), "expected routers 0 to 1, got 2"),
    ((record(0, 1.0, 2, seed=-1),), "expected numbers from 0, got -1e-06 in window 0, router 0, "
     "port 0 (busy_s), and 7 more; windows may be left out"),
])  # fmt: skip
def test_what_is_wrong_with_telemetry_is_said_with_its_byte(tmp_path, parts, said):
    refused(lambda: telemetry(tmp_path / "s", *parts), said)


OLD = ("got the router layout of before July 2026 (48 + 16 * radix bytes, without stalls and "
       "occupancy; records: {}): run CODES of July 2026 or later")  # fmt: skip
NONE = "expected router records of 72 + 32 * radix bytes{}, got records: {}"


@pytest.mark.parametrize(("sizes", "radix", "said"), [
    ((64,), 0, OLD.format("1 of 64 bytes")), ((80, 80), 2, OLD.format("2 of 80 bytes")),
    ((80,), 3, NONE.format(" (radix 3)", "1 of 80 bytes")),
    ((48, 60, 60), 0, NONE.format("", "1 of 48 bytes, 2 of 60 bytes")),
    ((32,), 0, NONE.format("", "1 of 32 bytes")),
    ((72 + 32 + 8,), 0, OLD.format("1 of 112 bytes")), ((72,), 0, NONE.format("", "1 of 72 bytes")),
    ((104,), 0, NONE.format("", "1 of 104 bytes")),
])  # fmt: skip
def test_without_routers_the_records_that_there_are_are_named(tmp_path, sizes, radix, said):
    refused(lambda: telemetry(tmp_path / "s", *map(other, sizes), radix=radix), said)


# --- series of ports ---------------------------------------------------------------------------


FOUR = np.zeros((2, 1, 1, 5))
ODD = ("expected numbers from 0, got {} in window 0, router 0, port 0 ({}), and 1 more; windows "
       "may be left out")  # fmt: skip


@pytest.mark.parametrize(("end_s", "values", "said"), [
    ([1, 2], np.zeros((2, 1, 5)), "expected values of (windows, routers, ports, 5), got (2, 1, 5)"),
    ([1, 2], np.zeros((2, 1, 1, 4)),
     "expected values of (windows, routers, ports, 5), got (2, 1, 1, 4)"),
    ([1], FOUR, "expected a time per window, got (1,) and (2,)"),
    ([], FOUR[:0], "expected a time per window, got (0,) and (0,)"),
    ([1, 1], FOUR, "expected windows in ascending order of time"),
    ([1, np.nan], FOUR, "expected windows in ascending order of time"),
    ([1, np.inf], FOUR, "expected windows in ascending order of time"),
    ([3, 4, 1], np.zeros((3, 1, 1, 5)), "expected windows in ascending order of time"),
    ([1, 2], FOUR - np.array([0, 0, 1e-9, 0, 0]), ODD.format(-1e-09, "stalled_chunks")),
    ([1, 2], FOUR + np.array([0, np.nan, 0, 0, 0]), ODD.format("nan", "traffic_b")),
])  # fmt: skip
def test_series_that_are_none_are_refused(end_s, values, said):
    refused(lambda: series(end_s, values), said)


def test_windows_before_a_moment():
    whole = series([0.5, 1.0, 1.75], np.arange(3)[:, None, None, None] * np.ones((1, 1, 5)))
    last = lambda moment, count: whole.before(moment, count)[:, 0, 0, 0].tolist()  # noqa: E731
    assert (last(1.0, 1), last(0.99, 9), last(9, 2), last(0.4, 3)) == ([1], [0], [1, 2], [])
    assert whole.window_s == 0.625
    assert series([0.5, 0.75], FOUR).window_s == 0.25


def test_ports_are_written_in_ns_and_other_arrays_refused(tmp_path):
    file = tmp_path / "ports.npz"
    write_ports(file, series([0.5, 1.0], FOUR + np.array([1e-9, 2, 3, 4, 5])))
    with np.load(file) as raw:
        assert raw["t"] == pytest.approx([5e8, 1e9])
        assert raw["A"][0, 0, 0] == pytest.approx([1, 2, 3, 4, 5])
    again = read_ports(file)
    assert again.values[1, 0, 0] == pytest.approx([1e-9, 2, 3, 4, 5])
    assert again.end_s == pytest.approx([0.5, 1.0])
    np.savez(file, t=np.array(["a"]), A=np.zeros((1, 1, 5)))
    refused(lambda: read_ports(file), "t: expected 1 axes of numbers, got (1,) <U1",
            "A: expected 4 axes of numbers, got (1, 1, 5) float64")  # fmt: skip
    np.savez(file, t=np.array([2, 1], np.uint8), A=FOUR)
    refused(lambda: read_ports(file), "expected windows in ascending order of time")
    np.savez(file, t=np.array([1]))
    with pytest.raises(
        DataError, match=r"expected port telemetry \(\.npz with t and A\), got a zip"
    ):
        read_ports(file)
    np.savez(file, t=np.array([1]), A=np.full((1, 1, 1, 5), None))
    with pytest.raises(DataError, match="port telemetry"):
        read_ports(file)


# --- texts -------------------------------------------------------------------------------------


def test_marks_are_kept_once_and_every_odd_line_is_noted(tmp_path):
    lines = [mark(1, 1, 4e6), mark(0, 0, 0), mark(0, 0, 5e6), mark(0, 1, -1), mark(0, 1, "1e999"),
             "ITERATION", mark(1, 0, 2e6), mark(0, 1, 1e6), mark(0, 2, 3e6, job=1)]  # fmt: skip
    finished, notes = read_iteration_log(written(tmp_path / "log", "\n".join(lines)))
    assert finished.rows() == [(0, 10, 0, 0, 0.0), (0, 11, 0, 1, 1e-3), (1, 10, 0, 0, 2e-3),
                               (1, 11, 0, 1, 4e-3), (0, 12, 1, 2, 3e-3)]  # fmt: skip
    assert notes == [Note("the line is no iteration mark", (3, 4, 5), 3, dropped=True),
                     Note("the mark is there before", (2,), 1, dropped=True)]  # fmt: skip
    marks = application_marks(finished, 0)
    assert (marks.iteration.tolist(), marks.time_s.tolist()) == ([0, 1], [0.5e-3, 3e-3])
    _, notes = read_iteration_log(written(tmp_path / "log", mark(0, 0, 1)))
    assert notes == []
    refused(
        lambda: read_iteration_log(written(tmp_path / "log", "a\nb\n")),
        "expected lines ITERATION i node n job j rank r time ns, got none in 2 lines of text that "
        "begins with 'a'; a table is named iterations.csv",
    )


@pytest.mark.parametrize(("last", "end"), [(7, 7), (6, 10)])
def test_a_rank_three_iterations_behind_is_waited_for_and_one_further_behind_is_silent(
    tmp_path, last, end
):
    lines = [mark(i, r, 1e6 * (i + 1)) for r in range(3) for i in range(11 if r else last + 1)]
    finished, _ = read_iteration_log(written(tmp_path / "log", "\n".join(lines)))
    marks = application_marks(finished, 0)
    assert (marks.iteration.tolist(), marks.missing) == (list(range(end + 1)), end - last)


def test_links_of_each_kind_and_lines_that_are_none(tmp_path):
    lines = ["<source_id> <source_type>", "0,T,1,R,CN,5,2e9,3", "0,T,1,R,CN,5,2000000000,3",
             "1 R 2 R L 6 1.5 0", "2 R 3 R G 7 0 1"]  # fmt: skip
    frame, notes = read_link_statistics(written(tmp_path / "l", "\n".join(lines)))
    assert frame.rows() == [(0, "terminal", 1, "router", "terminal", 5, 2.0, 3),
                            (1, "router", 2, "router", "local", 6, 1.5 * 1e-9, 0),
                            (2, "router", 3, "router", "global", 7, 0.0, 1)]  # fmt: skip
    assert notes == [Note("the line is no link", (1,), 1, dropped=True)]
    _, notes = read_link_statistics(written(tmp_path / "l", "\n".join(lines[2:])))
    assert notes == []
    refused(
        lambda: read_link_statistics(written(tmp_path / "l", f"{lines[0]}\na\nb")),
        "expected lines of links: source, kind, target, kind, ...",
        "got none in 2 lines",
    )


def test_jobs_by_line_and_all_that_does_not_fit(tmp_path):
    def read(work, places):
        w, p = written(tmp_path / "wl.conf", work), written(tmp_path / "alloc.conf", places)
        return read_network_jobs(w, p)

    assert read("2 a/b.json 1 0\n1 noise 0 2.5\n", "4 5\n6\n") == (
        NetworkJob(0, "b", (4, 5), 0.0), NetworkJob(1, "noise", (6,), 2.5 * 1e-9))  # fmt: skip
    assert (NetworkJob(0, "a", (4, 5)).ranks, NetworkJob(0, "a", ()).interval_s) == (2, 0.0)
    refused(lambda: read("2 a 0 0\n1 b 0 0\n", "4\n4\n"),
            "line 1: expected 2 terminals for a, got 1", "a terminal is there twice")  # fmt: skip
    refused(lambda: read("1 a 0 0\n", "4\n5\n"),
            f"expected 1 lines as {tmp_path / 'wl.conf'} has jobs, got 2")  # fmt: skip
    refused(lambda: read("1 a 0 0\n1 b 0\n", "4\n5\n"),
            "line 2: expected ranks, workload, qos, interval in ns, got '1 b 0'")  # fmt: skip
    refused(lambda: read("1 a 0 0\n2 b 0 0\n", "4\n5 x\n"),
            "line 2: expected numbers of terminals, got '5 x'")  # fmt: skip
    refused(lambda: read("1 a 0 0\n", " \n"), "expected a line per job, got none")
