"""Runs that a remark, a check, a version, a meter or a host sets apart are not compared unsaid."""

from __future__ import annotations

import pytest

import rheostat as rh
from rheostat.errors import RheostatError


@pytest.fixture
def written(tmp_path):
    def write(head, rows):
        path = tmp_path / "runs.csv"
        path.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")
        return path

    return write


def chosen(answer, knob):
    return answer.front.alternatives.frame[knob][answer.choice.index]


TIMES = {4: 112.0, 8: 70.0, 16: 52.0, 24: 51.0, 32: 54.0}
WATTS = {4: 110.0, 8: 134.0, 16: 178.0, 24: 222.0, 32: 266.0}


def test_a_setting_that_ran_cold_alone_is_brought_to_the_others(written):
    """Cold runs take 1.45 times as long, and 16 threads have no other."""
    rows = [(n, r, TIMES[n] * (1.45 if r == 1 else 1 + r / 500), WATTS[n],
             "cold cache" if r == 1 else "")
            for n in TIMES for r in range(1, 6 if n != 16 else 2)]  # fmt: skip
    file = written("threads,rep,wall_s,power_w,remark", rows)
    knob = [f"threads={','.join(map(str, TIMES))}"]
    answer = rh.front(file, knobs=knob, rule="weighted=runtime_s:1,energy_j:1")
    assert chosen(answer, "threads") == 16
    assert any("--where 'remark=cold cache'" in n for n in answer.notes)
    warm = rh.front(file, knobs=knob, where=["remark="], rule="weighted=runtime_s:1,energy_j:1")
    assert all(n in (4, 8, 16, 24, 32) for n in warm.front.alternatives.frame["threads"])


def test_a_run_that_failed_is_no_kind_that_counts_as_repeats(written):
    rows = [(n, t * (1 + r / 500), t * WATTS[n], "ok") for n, t in TIMES.items() for r in range(3)]
    rows.append((32, 0.6, 70, "failed"))
    answer = rh.front(written("threads,seconds,joules,status", rows), knobs="threads=4,8,16,24,32")
    assert any("counts as unfinished" in n for n in answer.notes)
    assert not any("kinds" in n for n in answer.notes)


def test_throttled_runs_are_named_where_the_others_have_no_reason(written):
    """The tool writes None for a card that was not throttled: no word at all."""
    rows = [(w, 150 - w / 4, 300, "HW Slowdown") if w == 300 and r else (w, 120 - w / 8, w, "None")
            for w in (150, 200, 250, 300, 350) for r in range(3)]  # fmt: skip
    file = written("power_limit_W,time_s,power_W,throttle_reason", [
        (w, t * (1.35 if why != "None" else 1), p, why) for w, t, p, why in rows
    ])  # fmt: skip
    answer = rh.front(file, knobs=["power_limit_W=150,200,250,300,350"])
    assert any("--where throttle_reason= leaves the others out" in n for n in answer.notes)


@pytest.mark.parametrize(("head", "good", "bad"), [
    ("Verification", "SUCCESSFUL", "UNSUCCESSFUL"), ("verified", "yes", "no"),
    ("result_correct", "true", "false"), ("check", "valid", "invalid"),
])  # fmt: skip
def test_the_fastest_that_fails_its_check_is_not_taken(written, head, good, bad):
    took = {"-O2": 30.0, "-O3": 20.0, "-Ofast": 10.0}
    rows = [(f, t + r / 100, 200, bad if f == "-Ofast" else good)
            for f, t in took.items() for r in range(3)]  # fmt: skip
    answer = rh.front(written(f"Flags,time_s,power_w,{head}", rows), knobs=["Flags=-O2,-O3,-Ofast"])
    assert chosen(answer, "Flags") == "-O3"


def test_a_yes_under_another_heading_is_no_check(written):
    rows = [(n, 10 / n + 1, 200, "no" if n == 4 else "yes") for n in (1, 2, 4)]
    answer = rh.front(written("threads,time_s,power_w,turbo", rows), knobs=["threads=1,2,4"])
    assert chosen(answer, "threads") == 4


def test_versions_are_words_whatever_they_look_like(written):
    rows = [(n, "2023.10" if n < 8 else "2026.1", 100 / n * (1 if n < 8 else 0.5), 300 * n)
            for n in (1, 2, 4, 8, 16)]  # fmt: skip
    file = written("nodes,gromacs_version,time_s,power_w", rows)
    assert rh.read(file).frame["gromacs_version"].to_list()[0] == "2023.10"
    answer = rh.front(file, knobs=["nodes=1,2,4,8,16"])
    assert any("one gromacs_version alone" in n for n in answer.notes)
    turned = rh.front(file, knobs=["gromacs_version=2023.10,2026.1", "nodes=1,2,4,8,16"])
    assert chosen(turned, "nodes") == 16


def test_settings_of_two_meters_do_not_compare(written):
    rows = [(n, "wall plug" if n < 32 else "RAPL", 100 / n, 10 * n) for n in (8, 16, 32, 48)]
    with pytest.raises(RheostatError, match="--where 'meter=wall plug' \\(has 8, 16\\)"):
        rh.front(written("cores,meter,time_s,energy_J", rows), knobs=["cores=8,16,32,48"])


def test_one_arm_on_a_host_of_its_own_is_said(written):
    """gcc ran on two hosts, one of them also with nvc; only icx ran on the third."""
    hosts = {"gcc": ("icl01", "icl02"), "icx": ("spr01",), "nvc": ("icl01",)}
    pairs = [(c, h) for c, own in hosts.items() for h in own]
    rows = [(c, h, t, 34.0 if c == "icx" else 54.0, 184)
            for c, h in pairs for t in (16, 32) for _ in range(2)]  # fmt: skip
    file = written("compiler,hostname,threads,runtime_s,power_w", rows)
    answer = rh.front(file, knobs=["compiler=gcc,icx,nvc", "threads=16,32"])
    assert any("only hostname spr01 ran compiler and threads icx x 16" in n for n in answer.notes)
    linked = [(c, "icl01" if h == "spr01" and t == 16 else h, t, s, p) for c, h, t, s, p in rows]
    answer = rh.front(written("compiler,hostname,threads,runtime_s,power_w", linked),
                      knobs=["compiler=gcc,icx,nvc"], where=["threads=16"])  # fmt: skip
    assert not any("only hostname" in n for n in answer.notes)


def test_the_energy_of_the_node_counts_beside_that_of_its_parts(written):
    """Never their sum; and not where it may be that of one node of many."""
    rows = [(n, 1500 / n, 220, 800, 1210 * (1500 / n) * n / 1000) for n in (1, 2, 4)]
    parts = [(n, t, c * t * n, g * t * n, 1000 * e) for n, t, c, g, e in rows]
    runs = rh.read(written("nodes,time_s,cpu_energy_j,gpu_energy_j,node_energy_j", parts)).frame
    assert runs["energy_j"].to_list() == pytest.approx([e for *_, e in parts])
    each = [(n, t, c / n, g / n, e / n) for n, t, c, g, e in parts]
    runs = rh.read(written("nodes,time_s,cpu_energy_j,gpu_energy_j,node_energy_j", each)).frame
    assert "energy_j" not in runs.columns


def test_hours_and_minutes_are_not_minutes_and_seconds(written):
    runs = rh.read(written("Nodes,Runtime (h:mm),Energy (MWh)", [(8, "9:03", 0.0463)])).frame
    assert runs["runtime_s"].to_list() == [9 * 3600 + 180]
    head = "threads,Elapsed (wall clock) time (h:mm:ss or m:ss)"
    runs = rh.read(written(head, [(1, "1:00:10"), (2, "31:05.2")])).frame
    assert runs["runtime_s"].to_list() == pytest.approx([3610, 1865.2])


def test_inputs_far_apart_that_did_not_all_run_everywhere_are_told_apart_first(written):
    """Mean of one setting would be of a small input, of another of a large one."""
    took = {"small": {4: 3.8, 8: 3.3, 16: 4.0, 32: 6.4},
            "mid": {1: 37.9, 2: 20.4, 4: 11.2, 8: 6.9, 16: 4.9, 32: 4.7}}  # fmt: skip
    rows = [(x, n, t, n * t / 100) for x, times in took.items() for n, t in times.items()]
    file = written("input,nodes,runtime_min,energy_kWh", rows)
    with pytest.raises(RheostatError, match=r"of input do not compare.*--where input=small: "):
        rh.front(file, knobs=["nodes=1,2,4,8,16,32"])
    both = [r for r in rows if r[1] >= 4]
    file = written("input,nodes,runtime_min,energy_kWh", both)
    with pytest.raises(RheostatError, match=r"--where input=mid: (16|32) nodes: "):
        rh.front(file, knobs=["nodes=4,8,16,32"])
