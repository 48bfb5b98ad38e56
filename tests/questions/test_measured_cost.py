"""`llm.plan` by the price of GPUs where nothing was metered: measured rows, no energy invented."""

from __future__ import annotations

import pytest

import rheostat as rh
from rheostat.errors import DataError, Infeasible
from rheostat.questions.llm.measured_cost import NO_LAW

PRICE = {"H100": 3.0, "A100": 1.5}
ROWS = [
    (gpu, gpus, batch, itl * (1 + batch / 100) / gpus**0.8)
    for gpu, itl in (("H100", 0.012), ("A100", 0.026))
    for gpus in (1, 2)
    for batch in (8, 64)
]


@pytest.fixture
def runs(tmp_path):
    lines = [f"llama,{g},{n},{b},{1e3 * t:.4f}" for g, n, b, t in ROWS]
    heads = "model,gpu,num_gpus,max_num_seqs,tpot_ms"
    (file := tmp_path / "runs.csv").write_text("\n".join([heads, *lines]))
    return file


def cost(row: tuple[str, int, int, float]) -> float:
    gpu, gpus, batch, itl_s = row
    return 1e6 * PRICE[gpu] * gpus * itl_s / 3600 / batch


@pytest.mark.parametrize("most_s", [0.015, 0.03, 1.0])
def test_the_measured_configuration_of_least_cost_within_the_limit_is_taken(runs, most_s):
    answer = rh.llm.plan(runs, minimise="cost", gpu_price=PRICE, itl=f"{most_s}s")
    best = min((row for row in ROWS if row[3] <= most_s), key=cost)
    assert tuple(answer.setting.values()) == best[:3]
    assert answer.front.mean("cost_per_mtoken") == pytest.approx([*map(cost, ROWS)], rel=1e-4)
    assert answer.choice.because.evidence == "measured"
    assert NO_LAW in answer.notes
    assert "energy" not in " ".join(answer.front.outcome.names)


def test_prices_of_other_things_limits_that_nothing_holds_and_no_price_are_refused(runs):
    with pytest.raises(DataError, match="give --gpu-price, as"):
        rh.llm.plan(runs, minimise="cost")
    with pytest.raises(DataError, match="no price of A100"):
        rh.llm.plan(runs, minimise="cost", gpu_price={"H100": 3.0})
    with pytest.raises(DataError, match="energy_per_token_j"):
        rh.llm.plan(runs, minimise="cost", gpu_price=3.0, kwh_price=0.2)
    with pytest.raises(Infeasible) as stop:
        rh.llm.plan(runs, minimise="cost", gpu_price=3.0, itl="1ms")
    assert stop.value.answer.facts()["feasible"] is False
    assert stop.value.answer.setting["gpu_model"] == "H100"
