"""Applications of a table of runs that a plan leaves out are named."""

from __future__ import annotations

import polars as pl

from rheostat import table
from rheostat.recipes.ecoshift import node_fleet


def test_applications_that_no_node_is_planned_for_are_named():
    runs = {"app": ["a", "a", "A", "b"], "cap_w": [200, 300, 300, 200]}
    runs = table(
        {**runs, "runtime_s": [9.0, 8.0, 8.0, 7.0], "power_w": [190.0, 280.0, 280.0, 190.0]}
    )
    said = [n.message for n in node_fleet(runs, start="lowest").notes]
    assert any(m.endswith("no node of it is planned: A, b") for m in said)
    assert any(m.endswith("several applications: a, A") for m in said)
    stated = pl.DataFrame({"node": ["n1"], "app": ["a"], "cap_w": [200.0]})
    assert not any("planned" in n.message for n in node_fleet(runs, stated).notes)
