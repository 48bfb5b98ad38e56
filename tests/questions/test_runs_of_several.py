"""Serving tables of several people together: their headings, and what one does not state."""

import pytest

import rheostat as rh
from rheostat.errors import DataError
from tests.measurement.exactly import written

OURS = "model,gpu,num_gpus,tp,max_num_seqs,itl_ms,tokens_per_s,watts_per_gpu\n" + "".join(
    f"m-70B,H100,{n},{n},{b},{10 + b / n},{b / (10 + b / n) * 1e3},400\n"
    for n in (4, 8) for b in (8, 64)
)  # fmt: skip
THEIRS = "Modell,Karte,Anzahl,Batch,ms/token,J/token\n" + "".join(
    f"m-70B,MI300X,{n},{b},{8 + b / n},{n * 400 * (8 + b / n) / b / 1e3}\n"
    for n in (2, 4, 8) for b in (8, 64)
)  # fmt: skip
NAMED = ["app=Modell", "gpu_model=Karte", "gpus=Anzahl"]


def test_a_column_is_named_for_the_table_that_has_it_and_splits_are_taken_as_the_law_does(tmp_path):
    files = [written(tmp_path / "ours.csv", OURS), written(tmp_path / "theirs.csv", THEIRS)]
    plan = rh.llm.plan(files, "m-70B", renamed=NAMED)
    frame = plan.front.alternatives.frame
    splits = frame.filter(frame["gpu_model"] == "MI300X").select("gpus", "tp").unique().sort("gpus")
    assert splits.rows() == [(2, 2.0), (4, 4.0), (8, 8.0)]
    said = [n for n in plan.notes if n.startswith("tp is not stated in some rows")]
    assert said == ["tp is not stated in some rows, and taken as GPUs / (pp x dp) (6 rows)"]
    assert (plan.setting["gpu_model"], plan.setting["gpus"]) == ("MI300X", 2)


def test_a_column_that_no_table_has_is_refused_alone(tmp_path):
    files = [written(tmp_path / "ours.csv", OURS), written(tmp_path / "theirs.csv", THEIRS)]
    with pytest.raises(DataError) as stop:
        rh.llm.plan(files, "m-70B", renamed=[*NAMED, "power_w=Leistung"])
    assert stop.value.problems == ("mapped column Leistung is missing",)
