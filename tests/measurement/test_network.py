"""Readers of simulated networks: golden telemetry, closed forms of the graph, damaged files."""

from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest

from rheostat.errors import DataError
from rheostat.measurement.network.dragonfly import Dragonfly, read_dragonfly
from rheostat.measurement.network.folder import read_network_run
from rheostat.measurement.network.iteration_log import application_marks, read_iteration_log
from rheostat.measurement.network.link_statistics import read_link_statistics
from rheostat.measurement.network.model_statistics import read_model_statistics
from rheostat.measurement.network.network_jobs import read_network_jobs
from rheostat.measurement.network.port_series import PortSeries, read_ports, write_ports

CONF = """PARAMS
{
# num_routers="5";
   num_routers="4";
   num_groups="9";
   num_cns_per_router="2";
   num_global_channels="2";
   local_bandwidth="5.25";
   routing="prog-adaptive";
}
"""


def router_record(router: int, when: float, radix: int, value: int = 1) -> bytes:
    """One record as CODES writes it."""
    payload = struct.pack("<Qdqq", router, when, 5, 0) + b"\xee" * 40
    payload += struct.pack(f"<{radix}d", *[10.0 * value] * radix)
    payload += struct.pack(f"<{radix}q", *[4096 * value] * radix)
    payload += struct.pack(f"<{radix}Q", *range(radix))
    payload += struct.pack(f"<{2 * radix}i", *[value] * 2 * radix)
    return header(len(payload)) + payload


def header(size: int, flag: int = 3) -> bytes:
    return struct.pack("<QQQddii", 4, 4, 0, 250_000.0, 0.0, size, flag)


def test_binary_telemetry_is_read_to_the_last_bit(shared_data):
    folder = shared_data / "network" / "raw_sample"
    ports = read_model_statistics(folder / "ross-stats-analysis-lps.bin.gz")
    expected = np.load(folder / "expected.npz")
    values = expected["A"].copy()
    values[..., 0] *= 1e-9
    assert ports.values.shape == (175, 36, 7, 5)
    assert (ports.values == values).all()
    assert ports.end_s == pytest.approx(expected["t"] * 1e-9, rel=1e-15)


def test_a_run_is_read_whole(shared_data):
    run = read_network_run(shared_data / "network" / "raw_sample")
    assert {a: len(run.mark_s(a)) for a in run.applications} == {"milc": 30, "lammps": 12}
    assert (run.network.terminals, run.network.radix, run.notes) == (72, 7, ())
    assert [j.interval_s for j in run.jobs] == [0.0, 0.0, 5e-6]
    assert run.ended_s("milc") == pytest.approx(13.06e-3, rel=1e-3)
    assert run.ended_s("lammps") == np.inf
    facts = run.summary()
    assert facts["network"] == {"groups": 9, "routers": 36, "terminals": 72, "ports": 252,
                                "edges": 1692, "routing": "prog-adaptive"}  # fmt: skip
    assert [(a, j["ranks"], j["iterations"]) for a, j in facts["applications"].items()] == [
        ("milc", 36, 30), ("lammps", 32, 12)]  # fmt: skip
    assert facts["applications"]["lammps"]["ended_s"] is None
    assert facts["applications"]["milc"]["median_iteration_s"] == np.median(run.iteration_s("milc"))
    assert facts["background"] == [{"app": "synthetic1", "ranks": 4, "interval_s": 5e-6}]
    assert facts["windows"] == {"count": 175, "window_s": pytest.approx(250e-6),
                                "traffic_b": run.ports.values[:, :, :, 1].sum(),
                                "stalled_chunks": run.ports.values[:, :, :, 2].sum()}  # fmt: skip


def test_one_window_is_as_long_as_the_run():
    assert PortSeries(np.array([0.5]), np.zeros((1, 2, 3, 5))).window_s == 0.5


@pytest.mark.parametrize(
    ("sizes", "ports", "edges"),
    [((9, 4, 2, 2), 252, 1_692), ((33, 8, 4, 4), 3_960, 58_344), ((3, 2, 1, 2), 24, 90)],
)
def test_the_port_graph_has_its_closed_form_and_every_link_leads_back(sizes, ports, edges):
    network = Dragonfly(*sizes)
    source, target = network.edges
    assert (network.ports, len(source)) == (ports, edges)
    pairs = set(zip(source.tolist(), target.tolist(), strict=True))
    assert len(pairs) == edges
    assert {(b, a) for a, b in pairs} == pairs
    within = source // network.radix == target // network.radix
    group = source // network.radix // network.routers_per_group
    other = target // network.radix // network.routers_per_group
    wide = ~within & (group != other)
    reached = {(a, b) for a, b in zip(group[wide], other[wide], strict=True)}
    assert len(reached) == network.groups * (network.groups - 1)
    graph = network.port_graph()
    assert (len(graph), (graph.nodes["kind"] == "global").sum()) == (
        ports, network.routers * network.global_ports)  # fmt: skip
    assert within.sum() == network.routers * network.radix * (network.radix - 1)


def test_the_configuration_gives_the_network(tmp_path):
    (tmp_path / "net.conf").write_text(CONF)
    network = read_dragonfly(tmp_path / "net.conf")
    assert (network.groups, network.routers_per_group, network.routing) == (9, 4, "prog-adaptive")
    assert network.local_b_s == 5.25 * 2**30
    for change, message in (
        (("num_groups", "groups"), "num_groups is missing"),
        (('"9"', '"nine"'), "expected a count"),
        (('"9"', '"8"'), "a multiple"),
        (("   routing", 'num_router_rows="2";\n num_router_cols="2";\n   routing'), "1-D"),
    ):
        (tmp_path / "net.conf").write_text(CONF.replace(*change))
        with pytest.raises(DataError, match=message):
            read_dragonfly(tmp_path / "net.conf")


def test_records_of_other_sizes_are_skipped_and_order_does_not_matter(tmp_path):
    rank = header(104) + b"\x01" * 104
    records = [router_record(r, w * 250_000.0, 7, 1 + r + 2 * w) for w in (1, 2) for r in (0, 1)]
    (tmp_path / "s.bin").write_bytes(
        rank + records[3] + records[0] + rank + records[2] + records[1]
    )
    ports = read_model_statistics(tmp_path / "s.bin")
    assert ports.end_s.tolist() == [0.00025, 0.0005]
    assert ports.values[1, 0, 0].tolist() == pytest.approx([50e-9, 5 * 4096, 0, 5, 5])
    assert ports.values[0, 1, 6, 2] == 6


ONE, TWO = router_record(0, 1e5, 7), router_record(1, 1e5, 7)
DAMAGED = {
    "cut off": ONE[:-3],
    "a header has 48": ONE + b"abc",
    "at byte 0, got other bytes": header(296, flag=1) + ONE[48:],
    "real time": struct.pack("<iidd", 3, 24, 0.0, 0.0) + ONE,
    "before July 2026": header(48 + 16 * 7) + b"\0" * (48 + 16 * 7),
    "expected router records": header(104) + b"\0" * 104,
    "got 1 in 2": ONE + ONE,
    "expected routers 0 to 0": TWO,
    "busy_s": router_record(0, 1e5, 7, -1),
}


@pytest.mark.parametrize("why", DAMAGED)
def test_damaged_telemetry_is_one_clear_error(tmp_path, why):
    (tmp_path / "s.bin").write_bytes(DAMAGED[why])
    with pytest.raises(DataError, match=why):
        read_model_statistics(tmp_path / "s.bin")


def test_every_cut_of_a_telemetry_file_is_refused(tmp_path):
    whole = router_record(0, 1e5, 3) + router_record(1, 1e5, 3)
    for end in range(1, len(whole), 7):
        (tmp_path / "s.bin").write_bytes(whole[:end])
        with pytest.raises(DataError):
            read_model_statistics(tmp_path / "s.bin", 3 if end % 2 else 0)
    packed = gzip.compress(whole)
    (tmp_path / "s.bin.gz").write_bytes(packed[:-9])
    with pytest.raises(DataError, match="damaged or cut off"):
        read_model_statistics(tmp_path / "s.bin.gz")


def test_ports_come_back_as_they_were_written(tmp_path):
    values = np.random.default_rng(0).integers(0, 9, (3, 2, 7, 5)).astype(float)
    series = PortSeries(np.array([1.0, 2.0, 3.0]), values)
    write_ports(tmp_path / "ports.npz", series)
    again = read_ports(tmp_path / "ports.npz")
    assert again.values == pytest.approx(values)
    assert len(again.before(2.5, 8)) == 2
    np.savez(tmp_path / "odd.npz", t=np.array([1.0]), A=np.array([{}], dtype=object))
    with pytest.raises(DataError, match="port telemetry"):
        read_ports(tmp_path / "odd.npz")


def test_marks_that_are_none_are_noted_and_the_median_of_the_ranks_is_the_application(tmp_path):
    lines = [f"ITERATION {i} node {r} job 1 rank {r} time {1e6 * (i + 1) + r}"
             for i in range(3) for r in range(3)]  # fmt: skip
    text = "\n".join(
        [*lines[:8], "ITERATION 2 node", lines[0], "ITERATION 0 node 1 job 1 rank 2 time nan"]
    )
    (tmp_path / "log").write_text(text)
    finished, notes = read_iteration_log(tmp_path / "log")
    assert finished.height == 8
    assert [(n.count, n.rows) for n in notes] == [(2, (8, 10)), (1, (9,))]
    marks = application_marks(finished, 1)
    assert marks.iteration.tolist() == [0, 1]  # rank 2 had not finished the last one
    assert marks.time_s == pytest.approx([1.000001e-3, 2.000001e-3])


def test_what_a_log_has_no_mark_of_is_passed_over_and_said(tmp_path):
    rows = [f"ITERATION {i} node 0 job 0 rank 0 time {1e6 * i}\n" for i in (5, 6, 7, 10, 11)]
    (tmp_path / "iterations.txt").write_text("".join(rows))
    run = read_network_run(tmp_path)
    gone = np.nan
    assert run.iteration_s("job-0") == pytest.approx(
        [1e-3, 1e-3, gone, gone, gone, 1e-3], nan_ok=True
    )
    assert run.mark_s("job-0") == pytest.approx(1e-3 * np.arange(5, 12))
    assert run.first_iteration("job-0") == 6
    assert [(n.message, n.count, n.dropped) for n in run.notes] == [
        ("job-0: iterations have no mark, they are passed over as not seen", 2, False)
    ]


def test_a_parallel_simulation_has_a_log_per_process(tmp_path):
    """One file or several, one of them empty: the same run."""
    rows = [f"ITERATION {i} node {r} job 0 rank {r} time {1e6 * (i + 1) + r}\n"
            for i in range(4) for r in range(3)]  # fmt: skip
    for name, parts in (("one", [rows]), ("three", [rows[::2], [], [*rows[1::2], "odd\n"]])):
        (tmp_path / name / "iteration-logs").mkdir(parents=True)
        for k, part in enumerate(parts):
            (tmp_path / name / "iteration-logs" / f"pe={k}.txt").write_text("".join(part))
    one, three = (read_network_run(tmp_path / name) for name in ("one", "three"))
    assert one.finished.equals(three.finished)
    assert [n.rows for n in three.notes] == [(12,)]


def test_an_iteration_that_ends_before_the_one_before_it_is_refused(tmp_path):
    rows = [f"ITERATION {i} node 0 job 0 rank 0 time {t}\n" for i, t in enumerate((1e6, 2e6, 2e6))]
    (tmp_path / "iterations.txt").write_text("".join(rows))
    with pytest.raises(DataError, match="job-0: expected iterations one after the other"):
        read_network_run(tmp_path)


def test_links_with_and_without_a_kind(tmp_path):
    (tmp_path / "links").write_text(
        "# Format x\n\n0 T 0 R CN 4096 5e8 3\n0 R 1 R L 7 2.5 0\n1 R 9 R 8 0.0 2\n"
    )
    frame, notes = read_link_statistics(tmp_path / "links")
    assert frame.rows() == [(0, "router", 1, "router", "local", 7, 2.5e-9, 0),
                            (1, "router", 9, "router", "", 8, 0.0, 2)]  # fmt: skip
    assert notes[0].rows == (0,)
    (tmp_path / "links").write_text("a,b\n")
    with pytest.raises(DataError, match="got none in 1 lines"):
        read_link_statistics(tmp_path / "links")


def test_jobs_and_places_have_to_agree(tmp_path):
    work, place = tmp_path / "wl.conf", tmp_path / "alloc.conf"
    work.write_text("2 ./milc.json 0 0\n1 synthetic1 0 5000\n")
    place.write_text("7 8\n9\n\n")
    jobs = read_network_jobs(work, place)
    assert [(j.app, j.terminals, j.interval_s) for j in jobs] == [
        ("milc", (7, 8), 0.0), ("synthetic1", (9,), 5e-6)]  # fmt: skip
    for text, message in (("7 8\n", "expected 2 lines"), ("7\n9\n", "expected 2 terminals"),
                          ("7 8\n8\n", "twice"), ("7 x\n9\n", "expected numbers")):  # fmt: skip
        place.write_text(text)
        with pytest.raises(DataError, match=message):
            read_network_jobs(work, place)


def test_files_of_a_folder_have_to_agree(tmp_path):
    with pytest.raises(DataError, match="expected an iteration log"):
        read_network_run(tmp_path)
    with pytest.raises(DataError, match="nothing there"):
        read_network_run(tmp_path / "none")
    (tmp_path / "iterations.txt").write_text("ITERATION 0 node 0 job 3 rank 0 time 1e6\n")
    (tmp_path / "wl.conf").write_text("1 a 0 0\n")
    (tmp_path / "alloc.conf").write_text("99\n")
    (tmp_path / "net.conf").write_text(CONF)
    with pytest.raises(DataError, match=r"names jobs \[3\].*beyond the 72"):
        read_network_run(tmp_path)
    (tmp_path / "iterations.txt").write_text("ITERATION 0 node 0 job 0 rank 0 time 1e6\n")
    (tmp_path / "alloc.conf").write_text("1\n")
    write_ports(tmp_path / "ports.npz", PortSeries(np.ones(1), np.zeros((1, 2, 7, 5))))
    with pytest.raises(DataError, match="expected 36 routers of 7 ports"):
        read_network_run(tmp_path)
