"""The demonstration: one document, same bytes, honest fronts, a page that is whole."""

from __future__ import annotations

import json
import re

import pytest

from rheostat.cli import run

SMALL = ["demo", "--jobs", "600", "--kind", "lightgbm"]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """(JSON text, text, page) of one seed."""
    import contextlib
    import io

    page = tmp_path_factory.mktemp("demo") / "demo.html"
    texts = []
    for extra in (["--json"], ["--html", str(page)]):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            assert run([*SMALL, *extra]) == 0
        texts.append(out.getvalue())
    return texts[0], texts[1], page.read_text()


@pytest.mark.slow
def test_one_document_with_front_choice_and_reasons(told):
    value = json.loads(told[0])
    assert value["schema"] == "rheostat.demo/1"
    known = [e for e in value["front"] if e["runtime_s"] is not None]
    assert len(known) >= 3
    for entry in known:
        for q in ("runtime_s", "energy_j"):
            low, high = entry["intervals"][q]
            assert low < entry["true"][q] * 100
            assert low < high
        assert entry["energy_j"] == pytest.approx(entry["runtime_s"] * entry["power_w"], rel=0.2)
    chosen = value["front"][value["choice"]["index"]]
    assert value["choice"]["setting"]["nodes"] == chosen["nodes"]
    assert chosen["on_front"]
    assert value["because"]["rule"] == "knee of the front"
    assert value["because"]["constraints"]


@pytest.mark.slow
def test_what_is_on_the_front_is_not_dominated(told):
    front = [e for e in json.loads(told[0])["front"] if e["runtime_s"] is not None]
    for a in front:
        beaten = any(
            b["runtime_s"] <= a["runtime_s"] and b["energy_j"] <= a["energy_j"] and b != a
            for b in front
        )
        assert a["on_front"] == (not beaten)


def test_the_search_finds_more_and_more_of_the_front(told):
    shares = json.loads(told[0])["hypervolume"]
    for name in ("search", "random"):
        assert shares[name] == sorted(shares[name])
        assert 0 <= shares[name][0] <= shares[name][-1] <= 1 + 1e-9


@pytest.mark.slow
def test_same_seed_same_bytes_and_another_seed_another_site(told, capsys):
    run([*SMALL, "--json"])
    assert capsys.readouterr().out == told[0]
    run([*SMALL, "--json", "--seed", "1"])
    assert capsys.readouterr().out != told[0]


def test_text_tells_the_story_in_order_at_80_columns(told):
    text = told[1]
    places = [text.index(f"\n{w} ") for w in ("decide", "front", "why", "truth", "read", "fit")]
    assert places == sorted(places)
    assert max(map(len, text.splitlines())) <= 80
    assert "knee" in text
    assert "instead of the" in text
    assert text.rstrip().splitlines()[-1].strip().startswith("rheostat ")


def test_the_page_has_all_charts_and_fetches_nothing(told):
    page = told[2]
    assert page.count('class="chart"') == 4
    assert not re.search(r"(?:src|href)\s*=\s*[\"'`]?\s*https?:", page)
    for title in ("Front", "Decide", "Why", "Truth", "Leans on", "All recent jobs"):
        assert f"<h2>{title}</h2>" in page


def test_the_demo_says_which_model_ran(told):
    assert json.loads(told[0])["model"] == "lightgbm"
    assert "Boosted trees (LightGBM) on the first" in told[1]
