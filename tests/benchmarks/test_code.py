"""The benchmark of source code: rates with intervals, and a search that a model cannot starve."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("tree_sitter_c")
PLACE = Path(__file__).parents[2] / "benchmarks" / "code.py"
spec = importlib.util.spec_from_file_location("code_benchmark", PLACE)
assert spec is not None
assert spec.loader is not None
code = importlib.util.module_from_spec(spec)
__import__("sys").modules["code_benchmark"] = code
spec.loader.exec_module(code)


def test_rates_have_wilson_intervals() -> None:
    rows = [{"direction": "serial->openmp", "proposer": p, "verified": i < good}
            for p, good in (("search", 10), ("model", 0)) for i in range(10)]  # fmt: skip
    search, model = code.verified_rates(rows)
    z = 1.959964
    assert (search["rate"], search["high"]) == (1.0, 1.0)
    assert search["low"] == pytest.approx(10 / (10 + z * z), abs=1e-4)
    assert (model["low"], model["high"]) == pytest.approx((0.0, z * z / (10 + z * z)), abs=1e-4)


@pytest.mark.parametrize("translates", [True, False])
def test_a_search_beside_a_model_keeps_its_variants(translates, tmp_path) -> None:
    chain = code.Chain("m", tmp_path / "t", code.LassiOptions(most_corrections=2))
    alone, model, both = (
        chain.begins(p, 1).budget(8, translates=translates) for p in code.PROPOSERS
    )
    assert alone == 8
    assert both == alone + model
