"""Leave one source out: nothing is chosen on the source it is judged on; pools are read right."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from nodecount_lib.sources import Table, drawn, pools_of
from nodecount_lib.sources_table import differences, left_out, lines


def row(source, method, share, budget=4):
    return {"source": source, "method": method, "objectives": "runtime,energy",
            "budget": budget, "hv_attainable": share}  # fmt: skip


def test_a_source_is_judged_by_the_variant_that_is_best_on_the_others():
    rows = [row("s", "m@a", 0.9), row("s", "m@b", 0.1), row("t", "m@a", 0.2), row("t", "m@b", 0.8),
            row("u", "m@a", 0.5), row("u", "m@b", 0.6), row("s", "peer", 0.3)]  # fmt: skip
    found = {c["source"]: (c["variant"], c["share"]) for c in left_out(rows, ["m@a", "m@b"])}
    assert found == {"s": ("m@b", 0.1), "t": ("m@a", 0.2), "u": ("m@a", 0.5)}
    table = lines(left_out(rows, ["m@a", "m@b", "peer"]), ["m@a", "m@b", "peer"])
    assert (
        table[-1]
        == "| runtime,energy | 4 | 0.267 | 0.300 | 0.100 / 0.300 | 0.200 / nan | 0.500 / nan |"
    )


def test_differences_are_paired_by_pool_and_seed():
    shares = {"ours": ([0.7, 0.5], [0.9, 0.8]), "peer": ([0.6, 0.4], [0.8, 0.7])}
    rows = [row("s", m, v, 8) | {"pool": f"p{i}", "seed": k}
            for m, pools in shares.items() for i, of in enumerate(pools)
            for k, v in enumerate(of)]  # fmt: skip
    found = differences(rows, ["ours", "peer"])
    assert found[2:] == ["| runtime,energy | 8 | peer | 0.100 [0.100, 0.100] | ahead |"]
    assert differences(rows, ["ours"]) == []


def test_a_table_is_read_by_application_with_the_median_of_repeats(tmp_path):
    rows = [(a, n, r, w * (r + 1) / n, 40.0 + 10.0 * n) for a, w in (("a", 90.0), ("b/c", 60.0))
            for n in range(1, 13) for r in (0, 0, 1)]  # fmt: skip
    pl.DataFrame(rows, ["app", "n", "bad", "t", "p"], orient="row").write_csv(tmp_path / "x.csv")
    told = Table("x.csv", (), ("app",), {"n": "nodes"}, pl.col("t"), pl.col("p"), pl.col("t") > 0)
    a, bc = pools_of(told, tmp_path)
    assert (a.name, bc.app, a.knobs, a.n) == ("x/a", "b-c", ("nodes",), 12)
    assert np.exp(a.log_y[1]) == pytest.approx([45.0, 60.0, 2700.0])  # the odd run took 90 s
    assert [p.name for p in drawn([bc, a], 1)] in (["x/a"], ["x/b-c"])
    assert drawn([bc, a], 5) == [a, bc]
