"""The command prints one JSON document on stdout and resumes from its cache."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nodecount_lib.command import SCHEMA, main

FIELDS = {
    "method",
    "pool",
    "objectives",
    "budget",
    "seed",
    "hv_fraction",
    "hv_attainable",
    "regret",
}


def table(folder: Path) -> None:
    lines = [f"{a},{n},{(7 + len(a)) / n**0.7},{200 * n}" for a in ("p", "qq") for n in range(1, 9)]
    (folder / "t.csv").write_text("app,nodes,runtime_s,power_w\n" + "\n".join(lines) + "\n")


def test_document_and_cache(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table(tmp_path)
    order = [
        "--data",
        str(tmp_path),
        "--methods",
        "random,sobol",
        "--seeds",
        "2",
        "--jobs",
        "1",
        "--json",
    ]
    order += ["--cache", str(tmp_path / "kept")]
    assert main(order) == 0
    first = capsys.readouterr()
    document = json.loads(first.out)
    assert document["schema"] == SCHEMA
    assert len(document["rows"]) == 2 * 2 * 2 * 2 * 7
    assert set(document["rows"][0]) >= FIELDS
    assert main(order) == 0
    second = capsys.readouterr()
    assert second.out == first.out
    assert "8 of them cached" in second.err


def test_a_line_cut_short_is_computed_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table(tmp_path)
    order = ["--data", str(tmp_path), "--methods", "sobol", "--seeds", "1", "--jobs", "1", "--json"]
    order += ["--cache", str(tmp_path / "kept")]
    main(order)
    whole = json.loads(capsys.readouterr().out)
    kept = tmp_path / "kept" / "sobol.jsonl"
    kept.write_text(kept.read_text()[:-40])
    main(order)
    again = json.loads(capsys.readouterr().out)
    strip = [
        [{k: v for k, v in r.items() if k != "cpu_s"} for r in d["rows"]] for d in (whole, again)
    ]
    assert strip[0] == strip[1]


def test_nothing_to_run_is_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(tmp_path), "--no-cache"]) == 2
    assert "no pools" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_quick(shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    order = ["--quick", "--seeds", "1", "--json", "--cache", str(tmp_path), "--jobs", "1"]
    assert main([*order, "--methods", "random,botorch,paper-lgbm"]) == 0
    found = json.loads(capsys.readouterr().out)["rows"]
    assert len({r["pool"] for r in found}) == 4
    assert all(0.0 <= r["hv_fraction"] <= 1.0 and r["regret"] >= 0.0 for r in found)
