"""What a report says follows from the numbers, in text, HTML and JSON alike."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from rheostat import Deadline, Knee, Knob, Outcome, explain, table
from rheostat.core.front import Front
from rheostat.core.report import Chart, Grid, Report, Section
from rheostat.decision.decide import decide
from rheostat.errors import DataError
from rheostat.explanation.formats.grid_cells import tsv
from rheostat.explanation.formats.html import packed, page, plotly_js
from rheostat.explanation.formats.json import document
from rheostat.explanation.formats.text import render
from rheostat.explanation.number_words import spanned
from rheostat.explanation.pictures.scatter import draw
from rheostat.prediction.compare import Row
from rheostat.prediction.importance import Importance

NODES = np.array([1.0, 2, 4, 8, 16, 32, 64])


def front(support=True):
    """One job whose runtime is flat beyond 16 nodes and whose energy grows with nodes."""
    factor = np.linspace(0.9, 1.1, 15)[:, None]
    t = factor * (600 + 6000 / NODES)
    t[:, 5:] = t[:, [4]] * [0.995, 0.99]
    draws = {"runtime_s": t, "power_w": 150 + 100 * NODES + 0 * factor}
    held = np.array([3.0, 9, 40, 214, 30, 12, 4]) if support else None
    alternatives = table({"job_id": [7] * 7, "nodes": NODES.astype(int)})
    return Front(alternatives, Outcome(draws, held), ("runtime_s", "energy_j"))


@pytest.fixture
def chosen():
    found = front()
    return found.choose(Knee(), Deadline("2h")), found


def test_the_sentence_says_what_is_saved_for_what(chosen):
    choice, found = chosen
    said = explain(choice, front=found, requested={"nodes": 64})
    ratio = {
        o: found.mean(o)[choice.index] / found.mean(o)[6] - 1 for o in ("runtime_s", "energy_j")
    }
    sentence = said.sections[0].sentences[0]
    assert sentence.startswith(
        f"{choice.setting['nodes']} nodes instead of the 64 nodes asked for: "
    )
    assert f"{-100 * ratio['energy_j']:.0f} % less energy" in sentence
    assert f"{100 * ratio['runtime_s']:.0f} % more time" in sentence


def test_the_reasons_name_rule_limit_evidence_and_where_runtime_is_flat(chosen):
    choice, found = chosen
    answer, reasons = explain(choice, front=found, requested={"nodes": 64}).sections
    why = " ".join([*answer.sentences, *reasons.sentences])
    assert "knee of the front" in why
    assert "runtime at most 2h" in why
    assert "Runtime stops improving after 16 nodes." in why
    assert f"Evidence: {int(found.outcome.support[choice.index])} similar past runs." in why


def test_evidence_is_not_claimed_where_there_is_none():
    found = front(support=False)
    said = str(explain(found.choose(Knee()), front=found))
    assert "Evidence" not in said
    assert "column runs" not in str(explain(found))


def test_keeping_the_request_is_said_plainly(chosen):
    choice, found = chosen
    said = explain(choice, front=found, requested=dict(choice.setting))
    assert "as asked for" in said.sections[0].sentences[0]


def test_a_choice_without_its_front_still_has_its_numbers(chosen):
    sentence = explain(chosen[0]).sections[0].sentences[0]
    assert "energy" in sentence
    assert "[" in sentence


@pytest.mark.parametrize("width", [80, 100])
def test_text_fits_the_width_and_marks_the_knee_by_glyph_and_word(chosen, width):
    choice, found = chosen
    text = render(explain(found, requested={"nodes": 64}), width)
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text
    knee = next(line for line in text.splitlines() if line.rstrip().endswith("knee"))
    assert str(choice.setting["nodes"]) in knee.split()
    assert re.search(r"□ +64 .*asked", text)


def test_one_line_per_setting_at_80_columns(chosen):
    text = render(explain(chosen[1], requested={"nodes": 64}), 80)
    table_lines = text[text.index("nodes") :].splitlines()
    assert len([x for x in table_lines if re.match(r"[◆□o· ] +\d+ .*\[", x)]) == 7


def test_a_chart_puts_small_left_and_low():
    chart = Chart(
        "front", ({"x": [1.0, 10, 100], "y": [9.0, 3, 1], "kind": "front"},), ("a", "b"), True
    )
    lines = draw(chart, 60, 7)
    marks = [
        (i, line.index("o"))
        for i, line in enumerate(lines)
        if "│" in line and "o" in line.split("│")[1]
    ]
    assert [i for i, _ in marks] == sorted(i for i, _ in marks)
    assert [c for _, c in marks] == sorted(c for _, c in marks)
    assert len(marks) == 3


def test_a_chart_without_points_is_no_chart():
    nothing = Chart("front", ({"x": [float("nan")], "y": [1.0]},), ("runtime_s", "energy_j"))
    assert draw(nothing) == []


def test_an_interval_never_uses_another_unit_than_its_value():
    assert spanned(9.13e6, 8.7e6, 9.5e6, "J") == "9.13 MJ [8.7 9.5]"
    assert spanned(990.0, 970.0, 1020.0, "W") == "990 W [970 1,020]"


def test_json_has_no_nan_and_keeps_its_schema_first():
    text = document(
        "rheostat.front/1", explain(front()).facts | {"odd": [float("nan"), np.int64(3)]}
    )
    value = json.loads(text)
    assert next(iter(value)) == "schema"
    assert value["odd"] == [None, 3]
    assert len(value["front"]) == 7


def test_facts_and_table_agree(chosen):
    said = explain(chosen[1], requested={"nodes": 64})
    for row, entry in zip(said.sections[0].grid.rows, said.facts["front"], strict=True):
        assert row[1] == entry["nodes"]
        assert row[2] == (entry["runtime_s"], *entry["intervals"]["runtime_s"])


def test_the_page_fetches_nothing_and_holds_plotly_once(chosen):
    choice, found = chosen
    told = explain(found, requested={"nodes": 64})
    text = page(Report("A <b>title</b>", [*told.sections, *explain(choice).sections]))
    for part in (text, plotly_js()):
        assert not re.search(r"(?:src|href)\s*=\s*[\"'`]?\s*https?:", part)
    assert not re.search(r"@import|url\(\s*[\"']?http", text)
    assert text.count(packed(plotly_js())) == 1
    assert "showSendToCloud: false" in text  # plotly's own button would upload the data
    assert len(text) < 2.5e6
    assert "default-src 'none'" in text
    assert "&lt;b&gt;title" in text


def test_a_setting_named_like_markup_stays_text_in_the_page():
    grid = Grid(("setting",), (("</script><script>alert(1)</script>",),))
    chart = Chart("line", ({"name": "</script>", "x": [1, 2], "y": [1, 2]},), ("a", "b"))
    text = page(Report("", [Section("s", (), grid, chart)]))
    assert "<script>alert" not in text
    assert text.count("</script>") == 2


def test_importances_name_what_matters_and_what_is_noise():
    found = Importance(
        "permutation", "runtime_s", "rise", ("nodes", "app", "qos"),
        np.array([0.7, 0.2, 0.01]), np.array([0.6, 0.1, -0.02]), np.array([0.8, 0.3, 0.03]),
    )  # fmt: skip
    said = " ".join(explain(found).sections[0].sentences)
    assert "nodes and app matter most" in said
    assert "Not distinguishable from noise: qos." in said


def row(method, error, low, high):
    marks = {
        "median_abs_log_error": (error, low, high),
        "r2_log": (0.9, 0.8, 1.0),
        "coverage": (0.9, 0.85, 0.95),
    }
    return Row(method, "runtime_s", "all", 100, 0.0, marks, 1.0)


@pytest.mark.parametrize(("low", "word"), [(0.2, "clearly"), (0.05, "within noise")])
def test_a_winner_is_only_clear_when_the_intervals_are_apart(low, word):
    rows = [row("slow", 0.3, low, 0.4), row("fast", 0.1, 0.08, 0.12)]
    said = explain(rows).sections[0].sentences[0]
    assert said.startswith("runtime: fast is nearest")
    assert f"{word} ahead of slow" in said


def test_advice_is_summed_and_its_gaps_are_told():
    class Law:
        def fit(self, jobs):
            return self

        def predict(self, jobs):
            n = jobs.numpy("nodes")[None, :]
            known = np.where(n <= 64, 1.0, np.nan)
            return Outcome({"runtime_s": (10 + 90 / n) * known, "power_w": 100 * n * known})

    jobs = table({"job_id": [1, 2, 3], "user": ["a", "b", "b"], "nodes": [64, 64, 500]})
    advice = decide(jobs, Law(), Knob("nodes", [1, 2, 4, 8, 16, 32, 64]), Knee())
    text = " ".join(str(explain(advice)).split())
    assert "the advised settings never ran" in text
    assert "3 of 3 jobs should change" in text
    assert "1 job: the requested setting itself has no prediction: saving unknown" in text


def test_an_unknown_thing_is_refused_by_name():
    with pytest.raises(DataError, match=r"expected one of these, .*Got dict"):
        explain({})


def test_a_pipe_gets_no_broken_rows_and_no_formulas():
    """Every value comes back from its field, and a spreadsheet runs none of them."""
    names = ["a\tb", "two\nlines", "back\\slash", "=1+1", "@SUM(A1)", "+x", "-x", "-", "-1.5"]
    names += ["\x1b]0;title\x07"]
    lines = tsv(Grid(("name\t", "n"), tuple((n, -2.0) for n in names))).splitlines()
    assert lines[0] == "name\\t\tn"
    fields = [line.split("\t") for line in lines[1:]]
    assert [f[1] for f in fields] == ["-2.0"] * len(names)
    assert not any(f[0][0] in "=+@" for f in fields)
    assert all(line.isprintable() for line in "".join(lines).split("\t"))
    assert [f[0].removeprefix("'").encode().decode("unicode_escape") for f in fields] == names


def test_a_pipe_gets_no_tails_of_floating_point():
    """Means of equal runs end in their last digits; milliseconds since 1970 keep theirs."""
    spans = ((152.8999999999998, 152.9, 152.9), (139.0000000000001, 138.99999999999997, 139.0))
    rows = [*((s, 0.1 + 0.2) for s in spans), ((1.0, 1.0, 1.0), 1767225600.123)]
    _, first, second, last = tsv(Grid(("t", "x"), tuple(rows))).splitlines()
    assert first == "152.9\t152.9\t152.9\t0.3"
    assert second == "139.0\t139.0\t139.0\t0.3"
    assert last.endswith("1767225600.123")
