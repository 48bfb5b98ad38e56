"""Energy without what is drawn at idle, in tables that say how much that is."""

from __future__ import annotations

import pytest

import rheostat as rh

CLOCKS, SECONDS, NET_KJ = (1.2, 1.6, 2.0, 2.4, 2.8), (1430, 1105, 912, 790, 705), (
    88.7, 91.7, 102.1, 116.9, 158.6)  # fmt: skip
WHOLE = [210 * t + 1000 * e for t, e in zip(SECONDS, NET_KJ, strict=True)]


def runs(tmp_path, heads, *columns, **options):
    rows = [",".join(map(str, row)) for row in zip(CLOCKS, *columns, strict=True)]
    (file := tmp_path / "runs.csv").write_text("\n".join([f"freq_GHz,{heads}", *rows, ""]))
    return rh.read(file, options=options or None)


def said(jobs):
    return " ".join(n.message for n in jobs.notes)


FORMS = {
    "energy and watts": ("time_s,energy_minus_idle_kJ,idle_power_W", SECONDS, NET_KJ, [210] * 5),
    "durations": ("elapsed,dynamic_energy_kJ,static_power_W",
                  [f"{s // 3600}:{s % 3600 // 60:02d}:{s % 60:02d}" for s in SECONDS], NET_KJ,
                  [210] * 5),
    "two energies": ("time_s,net_energy_kJ,idle_energy_kJ", SECONDS, NET_KJ,
                     [0.21 * t for t in SECONDS]),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_what_is_drawn_at_idle_is_added_where_the_table_has_it(tmp_path, form):
    """By the energy without it the slowest clock was the thriftiest."""
    jobs = runs(tmp_path, *FORMS[form])
    assert jobs.frame["energy_j"].to_list() == pytest.approx(WHOLE)
    assert "so that it counts what is drawn at idle" in said(jobs)
    answer = rh.front(jobs, knobs="frequency_hz=1.2e9,2.0e9,2.4e9,2.8e9", rule="deadline=25m")
    assert answer.choice.setting == {"frequency_hz": 2.4e9}


def test_watts_above_idle_are_whole_with_those_at_idle(tmp_path):
    net = [1000 * e / t for e, t in zip(NET_KJ, SECONDS, strict=True)]
    jobs = runs(tmp_path, "time_s,net_power_W,idle_power_W", SECONDS, net, [210] * 5)
    assert jobs.frame["power_w"].to_list() == pytest.approx([210 + w for w in net])


def test_the_energy_that_somebody_named_is_left_as_it_is(tmp_path):
    jobs = runs(tmp_path, *FORMS["energy and watts"], columns={"energy_j": "energy_minus_idle_kJ"})
    assert jobs.frame["energy_j"].to_list() == pytest.approx([1000 * e for e in NET_KJ])
    assert "is without the power at idle" in said(jobs)


@pytest.mark.parametrize(
    ("heads", "others"),
    [
        ("energy_minus_idle_kJ,idle_power_W,nodes", (NET_KJ, [210] * 5, (1, 2, 4, 8, 16))),
        ("energy_minus_idle_kJ,node_idle_power_W,nodes", (NET_KJ, [210] * 5, [4] * 5)),
        ("energy_minus_idle_kJ,idle_power_W,energy_kJ", (NET_KJ, [210] * 5, NET_KJ)),
        ("energy_minus_idle_kJ,idle_time_s", (NET_KJ, [210] * 5)),
        ("energy_kJ,idle_power_W", (NET_KJ, [210] * 5)),
    ],
)
def test_nothing_is_added_that_may_be_of_one_of_several_or_counts_already(tmp_path, heads, others):
    jobs = runs(tmp_path, f"time_s,{heads}", SECONDS, *others)
    assert "so that it counts" not in said(jobs)
    own = jobs.frame["energy_j"].to_list() if "energy_j" in jobs.columns else []
    assert own in ([], pytest.approx([1000 * e for e in NET_KJ]))


def test_watts_at_idle_that_grow_with_the_nodes_are_of_all_of_them(tmp_path):
    idle = [210 * n for n in (1, 2, 4, 8, 16)]
    jobs = runs(tmp_path, "time_s,energy_minus_idle_kJ,idle_power_W,nodes", SECONDS, NET_KJ, idle,
                (1, 2, 4, 8, 16))  # fmt: skip
    whole = [w * t + 1000 * e for w, t, e in zip(idle, SECONDS, NET_KJ, strict=True)]
    assert jobs.frame["energy_j"].to_list() == pytest.approx(whole)
