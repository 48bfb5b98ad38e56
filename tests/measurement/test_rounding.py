"""How far last digits leave energy, power and run time open, and which of the three decides."""

from __future__ import annotations

import pytest

import rheostat as rh

KNOB = "threads=8,16,24,32,48,64"
THREADS = (8, 16, 24, 32, 48, 64)
SECONDS = (201, 118, 92, 78, 74, 73)
WATTS = (255, 330, 391, 440, 500, 590)
JOULES = [s * w for s, w in zip(SECONDS, WATTS, strict=True)]


def runs(tmp_path, heads, *columns, **options):
    rows = [",".join(map(str, row)) for row in zip(THREADS, *columns, strict=True)]
    (file := tmp_path / "runs.csv").write_text("\n".join([f"threads,{heads}", *rows, ""]))
    return rh.read(file, options=options or None)


def said(jobs):
    return " ".join(n.message for n in jobs.notes)


@pytest.mark.parametrize("scale", [1, 3, 0.5])
@pytest.mark.parametrize(("unit", "joules"), [("kWh", 36_000), ("Wh", 3_600), ("MJ", 10_000)])
def test_watts_decide_where_energy_is_rounded_too_far(tmp_path, unit, joules, scale):
    """By energies of .01 kWh 64 threads took as little as any; they take a quarter more than 32."""
    seconds = [s * scale for s in SECONDS]
    step = {"kWh": 0.01, "Wh": 1, "MJ": 0.01}[unit]
    energy = [round(round(j * scale / joules) * step, 2) for j in JOULES]
    jobs = runs(tmp_path, f"wall_s,avg_power_W,energy_{unit}", seconds, WATTS, energy)
    assert jobs.frame["energy_j"].to_list() == pytest.approx([j * scale for j in JOULES])
    assert f"energy_{unit} is rounded to {joules} J" in said(jobs)
    answer = rh.front(jobs, knobs=KNOB, rule=f"deadline={100 * scale}s")
    assert answer.choice.setting == {"threads": 32}


def test_digits_that_were_cut_off_are_no_contradiction(tmp_path):
    energy = [j // 3600 for j in JOULES]
    jobs = runs(tmp_path, "wall_s,power_W,energy_Wh", SECONDS, WATTS, energy)
    assert jobs.frame["energy_j"].to_list() == pytest.approx(JOULES)


def test_run_times_in_whole_minutes_are_those_of_energy_over_power(tmp_path):
    seconds = [s * 3.7 for s in SECONDS]
    minutes = [round(s / 60) for s in seconds]
    energy = [round(s * w) for s, w in zip(seconds, WATTS, strict=True)]
    jobs = runs(tmp_path, "time_min,power_W,energy_J", minutes, WATTS, energy)
    assert jobs.frame["runtime_s"].to_list() == pytest.approx(seconds, rel=1e-3)
    assert "time_min is rounded to 60 s" in said(jobs)


def test_watts_in_whole_kilowatts_are_those_of_energy_over_time_or_noted(tmp_path):
    watts = [10 * w for w in WATTS]
    rounded = [round(w / 1000) for w in watts]
    energy = [10 * j for j in JOULES]
    jobs = runs(tmp_path, "wall_s,power_kW,energy_J", SECONDS, rounded, energy)
    assert jobs.frame["power_w"].to_list() == pytest.approx(watts)
    assert "power_kW is rounded to 1000 W" in said(jobs)
    alone = runs(tmp_path, "wall_s,power_kW", SECONDS, rounded)
    assert alone.frame["power_w"].to_list() == [1000 * w for w in rounded]
    assert "power_kW is rounded to 1000 W" in said(alone)
    assert "runs that differ by less look alike" in said(alone)


@pytest.mark.parametrize(
    ("heads", "watts", "energy"),
    [
        ("wall_s,gpu_power_W,energy_kWh", WATTS, [0.01] * 6),  # of a part of the machine
        ("wall_s,power_W,energy_kWh", [2 * w for w in WATTS], [0.01] * 6),  # disagrees
        ("wall_s,power_kW,energy_kWh", [1] * 6, [0.02] * 6),  # no finer
    ],
)
def test_a_rounded_energy_stays_where_watts_are_of_another_part_or_no_finer(
    tmp_path, heads, watts, energy
):
    jobs = runs(tmp_path, heads, SECONDS, watts, energy)
    assert jobs.frame["energy_j"].to_list() == pytest.approx([3.6e6 * e for e in energy])
    assert "runs that differ by less look alike" in said(jobs)


def test_an_energy_that_somebody_named_stays_as_it_stands(tmp_path):
    jobs = runs(tmp_path, "wall_s,avg_power_W,energy_kWh", SECONDS, WATTS, [0.01] * 6,
                columns={"energy_j": "energy_kWh"})  # fmt: skip
    assert jobs.frame["energy_j"].to_list() == pytest.approx([36_000] * 6)
    assert "energy_kWh is rounded to 36000 J" in said(jobs)


def test_a_precise_energy_is_not_replaced_by_watts_that_are_near_it(tmp_path):
    energy = [round(j * 1.004) for j in JOULES]
    jobs = runs(tmp_path, "wall_s,avg_power_W,energy_J", SECONDS, WATTS, energy)
    assert jobs.frame["energy_j"].to_list() == energy
    assert "rounded" not in said(jobs)


WRONG = [*JOULES[:5], round(JOULES[5] / 2.5)]


def test_an_energy_that_contradicts_watts_in_one_run_alone_is_out_with_them(tmp_path):
    """17 kJ beside 590 W for 73 s were taken as the least of all."""
    jobs = runs(tmp_path, "wall_s,avg_power_W,energy_J", SECONDS, WATTS, WRONG)
    assert jobs.frame["energy_j"].to_list() == [*JOULES[:5], None]
    assert jobs.frame["power_w"].to_list() == [*WATTS[:5], None]
    note = "energy_j is 0.4 times power_w x runtime_s in data row 6: one of them is wrong, both"
    assert note in said(jobs)
    assert "--column energy_j=energy_J keeps the energy" in said(jobs)
    answer = rh.front(jobs, knobs=KNOB, rule="deadline=100s")
    assert answer.choice.setting == {"threads": 32}


@pytest.mark.parametrize(
    ("named", "kept"), [({"energy_j": "energy_J"}, "energy_j"), ({"power_w": "power_W"}, "power_w")]
)
def test_of_two_that_contradict_each_other_the_named_one_stays(tmp_path, named, kept):
    jobs = runs(tmp_path, "wall_s,power_W,energy_J", SECONDS, WATTS, WRONG, columns=named)
    lost = {"energy_j": "power_w", "power_w": "energy_j"}[kept]
    assert jobs.frame[kept].null_count() == 0
    assert jobs.frame[lost].is_null().to_list() == [False] * 5 + [True]


def test_a_contradiction_beside_rounded_energies_is_out_and_the_others_are_finer(tmp_path):
    energy = [0.01] * 5 + [0.05]
    jobs = runs(tmp_path, "wall_s,avg_power_W,energy_kWh", SECONDS, WATTS, energy)
    assert jobs.frame["energy_j"].to_list()[:5] == pytest.approx(JOULES[:5])
    assert jobs.frame["energy_j"].to_list()[5] is None


def test_energies_that_scatter_about_watts_stay_and_what_they_scatter_by_is_said(tmp_path):
    factors = (0.7, 1.4, 0.8, 1.3, 0.75, 2.5)
    energy = [round(j * f) for j, f in zip(JOULES, factors, strict=True)]
    jobs = runs(tmp_path, "wall_s,power_W,energy_J", SECONDS, WATTS, energy)
    assert jobs.frame["energy_j"].to_list() == energy
    assert "energy_j is 0.7 to 2.5 times power_w x runtime_s: energy_j counts" in said(jobs)


def test_an_energy_of_a_whole_node_beside_watts_of_a_part_needs_no_word(tmp_path):
    energy = [round(1.6 * j) for j in JOULES]
    jobs = runs(tmp_path, "wall_s,power_W,energy_J", SECONDS, WATTS, energy)
    assert jobs.frame["energy_j"].to_list() == energy
    assert "times power_w x runtime_s" not in said(jobs)
