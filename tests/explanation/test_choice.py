"""What a front and a choice say: numbers follow the draws, words follow the numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rheostat as rh
from rheostat.core.outcome import GRADES
from rheostat.core.report import Report
from rheostat.explanation.choices.choice import (
    bargain,
    bought,
    changes,
    explain_choice,
    price_words,
)
from rheostat.explanation.choices.front import (
    asked,
    explain_front,
    front_facts,
    front_table,
    row_of,
)
from rheostat.explanation.formats.text import render

NODES = [1, 2, 4, 8]


def front(runtime, power, *, support=None, grade=None) -> rh.Front:
    draws = {k: np.atleast_2d(np.asarray(v, float))
             for k, v in (("runtime_s", runtime), ("power_w", power))}  # fmt: skip
    held = None if support is None else np.asarray(support, float)
    graded = None if grade is None else np.array([GRADES.index(g) for g in grade])
    table = rh.table(
        {"job_id": [7] * len(draws["runtime_s"][0]), "nodes": NODES[: len(runtime[0])]}
    )
    return rh.Front(table, rh.Outcome(draws, held, grade=graded), ("runtime_s", "energy_j"))


positive = st.lists(st.floats(1.0, 1e5), min_size=4, max_size=4)
tables = st.lists(positive, min_size=3, max_size=3)


@settings(deadline=None)
@given(tables, tables, st.integers(0, 3), st.integers(0, 3))
def test_changes_are_ratios_draw_by_draw_and_zero_against_itself(runtime, power, row, base):
    found = front(runtime, power)
    said = changes(found, row, base)
    energy = np.multiply(runtime, power)
    ratio = energy[:, row] / energy[:, base] - 1
    assert said["energy_j"][1:] == pytest.approx(np.quantile(ratio, [0.05, 0.95]).tolist())
    mean = energy.mean(axis=0)
    assert said["energy_j"][0] == pytest.approx(mean[row] / mean[base] - 1)
    if row == base:
        assert said == {"runtime_s": [0.0] * 3, "energy_j": [0.0] * 3}


@settings(deadline=None)
@given(tables, tables, st.integers(0, 3), st.integers(0, 3))
def test_a_front_as_data_has_every_setting_once_with_its_interval(runtime, power, chosen, base):
    shown = front(runtime, power)
    entries = front_facts(shown)["front"]
    assert [e["nodes"] for e in entries] == NODES
    assert [e["on_front"] for e in entries] == shown.mask.tolist()
    for e in entries:
        for q, (low, high) in e["intervals"].items():
            assert low <= high
            draws = shown.draws(q)[:, NODES.index(e["nodes"])]
            assert draws.min() - 1e-6 <= low
            assert high <= draws.max() + 1e-6 * draws.max()
    grid = front_table(shown, chosen, base)
    column = {h: [r[i] for r in grid.rows] for i, h in enumerate(grid.heads)}
    assert column["chosen"] == [i == chosen for i in range(4)]
    assert column["requested"] == [i == base for i in range(4)]
    assert grid.marked == chosen


@given(st.floats(-0.99, 20.0))
def test_a_change_in_words_has_its_sign_and_its_size(ratio):
    said = bought(ratio, "energy")
    if abs(ratio) < 0.005:
        assert said == "the same energy"
    elif ratio > 1:
        assert float(said.split()[0]) == pytest.approx(1 + ratio, rel=0.06)
    else:
        assert said.endswith("less energy" if ratio < 0 else "more energy")
        assert float(said.split()[0]) == pytest.approx(100 * abs(ratio), abs=0.51)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"runtime_s": -0.5, "energy_j": 0.2}, "50 % less time for 20 % more energy."),
        ({"runtime_s": 0.0, "energy_j": 0.2}, "20 % more energy at the same time."),
        ({"runtime_s": -0.1, "energy_j": -0.2}, "10 % less time and 20 % less energy."),
        ({"runtime_s": 0.0, "energy_j": 0.0}, "the same time and the same energy."),
        ({"runtime_s": 2.0, "energy_j": -0.2}, "20 % less energy for 3 times the time."),
    ],
)
def test_a_bargain_is_what_is_less_for_what_is_more(change, said):
    assert bargain(change) == said


def test_a_setting_that_was_asked_for_and_stays_is_said_to():
    shown = front([[100, 60, 40, 30]], [[100, 110, 120, 130]])
    choice = shown.choose(rh.Deadline(35.0))
    sections, facts = explain_choice(choice, shown, requested={"nodes": 8})
    assert sections[0].sentences == (
        "8 nodes, as asked for: no other setting is better by this rule.",
        "Its price: no setting takes less time or energy.",
    )
    assert facts["choice"]["change"] == {"runtime_s": [0.0] * 3, "energy_j": [0.0] * 3}
    sections, _ = explain_choice(choice, None)
    assert sections[0].sentences[0].startswith("8 nodes: 30 s runtime and 3.9 kJ energy")


def test_a_price_is_what_the_setting_takes_more_than_the_least_there_is():
    shown = front([[100, 60, 40, 30]], [[100, 150, 300, 500]])
    dear = "Its price: 100 % more time than 8 nodes; no setting takes less energy."
    assert price_words(shown, 1) == (dear,)
    fast = "Its price: 67 % more energy than 2 nodes; no setting takes less time."
    assert price_words(shown, 3) == (fast,)


def test_what_was_measured_is_told_from_what_was_interpolated():
    runs = [[100, 60, 40, 30]], [[100, 110, 120, 130]]
    mixed = front(*runs, support=[3, 1, 0, 2], grade=["measured", "interpolated", "borrowed",
                                                      "measured"])  # fmt: skip
    (section,), _ = explain_front(mixed, None, None)
    assert section.sentences[1] == (
        "This application ran at 2 of 4 settings, 1 between settings it ran at, 1 judged by other "
        "applications; the column runs counts the runs behind each."
    )
    evidence = section.grid.heads.index("evidence")
    assert [r[evidence] for r in section.grid.rows] == ["measured", "interpolated", "borrowed",
                                                         "measured"]  # fmt: skip
    every = front(*runs, support=[1] * 4, grade=["measured"] * 4)
    (section,), _ = explain_front(every, None, None)
    assert section.sentences[1] == (
        "This application ran at 4 of 4 settings; the column runs counts the runs behind each."
    )


def test_a_setting_without_a_forecast_is_named_and_not_drawn():
    shown = front([[100, 60, 40, np.nan]], [[100, 110, 120, np.nan]])
    (section,), facts = explain_front(shown, 1, {"nodes": 1})
    assert section.sentences[-1] == "No forecast for 8 nodes: too few similar past runs."
    assert section.chart.series[0]["kinds"] == ["requested", "chosen", "front", ""]
    assert np.isnan(facts["front"][3]["energy_j"])
    deltas = section.grid.heads.index("\N{GREEK CAPITAL LETTER DELTA} energy")
    assert section.grid.rows[0][deltas] == 0.0
    assert np.isnan(section.grid.rows[3][deltas])


def test_one_run_behind_a_forecast_is_one_run():
    shown = front([[100, 60, 40, 30]], [[100, 110, 120, 130]], support=[1, 1, 1, 1])
    sections, _ = explain_choice(shown.choose(rh.Knee()), shown)
    assert any(s.endswith("1 similar past run.") for s in sections[0].sentences)


def test_what_was_asked_for_is_taken_from_the_job_unless_given():
    shown = front([[100, 60, 40, 30]], [[100, 110, 120, 130]])
    job = rh.table({"nodes": [4], "user": ["a"]})
    assert asked(shown, job, None) == {"nodes": 4}
    assert asked(shown, job, {"nodes": 2}) == {"nodes": 2}
    assert asked(shown, rh.table({"user": ["a"]}), None) is None
    assert row_of(shown, {"nodes": 4}) == 2
    assert row_of(shown, {"nodes": 5}) is None
    assert row_of(shown, {"cap_w": 100}) is None


@pytest.mark.parametrize("objectives", [("runtime_s", "energy_j"), ("runtime_s", "power_w")])
def test_shown_energy_is_shown_power_times_runtime(objectives):
    drawn = front([[10.0, 4.0], [30.0, 6.0]], [[100.0, 300.0], [40.0, 200.0]])
    shown = front_facts(rh.Front(drawn.alternatives, drawn.outcome, objectives))
    assert shown["statistic"] == "means over draws; energy_j is power_w times runtime_s"
    for entry in shown["front"]:
        assert entry["energy_j"] == pytest.approx(entry["runtime_s"] * entry["power_w"])
        for q, (low, high) in entry["intervals"].items():
            assert low <= entry[q] <= high
    first = shown["front"][0]
    chosen_by = {"energy_j": 1100.0} if "energy_j" in objectives else {"power_w": 70.0}
    assert first | chosen_by == first  # what was chosen by keeps its own mean


def test_of_many_settings_the_table_has_twenty_and_a_page_opens_them_all():
    many = list(range(1, 31))
    draws = {"runtime_s": np.array([[100.0 / n for n in many]]),
             "power_w": np.array([[float(n * n) for n in many]])}  # fmt: skip
    table = rh.table({"job_id": [7] * 30, "nodes": many})
    shown = rh.Front(table, rh.Outcome(draws), ("runtime_s", "energy_j"))
    (short, every), _ = explain_front(shown, 2, {"nodes": 1}, kept=[4])
    assert [row[1] for row in short.grid.rows] == [1, 3, 5, *range(14, 31)]  # then the fastest
    assert short.grid.rows[short.grid.marked][1] == 3
    assert short.sentences[-1].startswith("The table shows 20 of 30 settings")
    assert (every.folded, len(every.grid.rows)) == (True, 30)
    text = render(Report("", [short, every]), width=100)
    assert "All settings" not in text
    assert text.count("\n") < 60
