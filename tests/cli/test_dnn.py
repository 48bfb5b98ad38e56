"""``rheostat dnn`` as it is typed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rheostat.cli import run
from rheostat.errors import QuestionError
from rheostat.questions.dnn.step import predict
from tests.prediction.test_step_cost import many_runs, plus


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dnn")
    plus(many_runs(), memory_peak_b=1e9 * many_runs().numpy("batch_size")).frame.write_csv(
        folder / "runs.csv"
    )
    assert run(["dnn", "fit", str(folder / "runs.csv"), "-o", str(folder / "m")]) == 0
    return folder / "m"


@pytest.mark.slow
def test_errors_of_the_fit_stand_beside_the_trivial_baseline(model, capsys):
    runs = model.parent / "runs.csv"
    assert run(["dnn", "fit", str(runs), "-o", str(model.parent / "again"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["schema"] == "rheostat.dnn-fit/1"
    scores = said["median_ape"]["runtime_s"]
    assert max(scores["run"], scores["network"]) < 0.3 * scores["baseline"]


def test_a_named_network_has_time_memory_and_a_request(model, capsys):
    call = ["dnn", "predict", str(model), "--model-name", "resnet-18", "--device", "B",
            "--image-px", "64", "--classes", "10", "--samples", "5000", "--json"]  # fmt: skip
    requests = []
    for risk in ("0.05", "0.4"):
        assert run([*call, "--risk", risk]) == 0
        said = json.loads(capsys.readouterr().out)
        assert said["schema"] == "rheostat.dnn-predict/1"
        (row,) = said["runs"]
        assert row["runtime_s"]["low"] < row["runtime_s"]["median"] < row["runtime_s"]["high"]
        assert {"baseline_runtime_s", "epoch_s", "memory_peak_b", "memory_b"} <= set(row)
        requests.append(row["time_limit_s"])
    assert requests[0] > requests[1] > 0


def test_a_page_has_the_notes_of_the_answer_and_a_batch_is_a_number(tmp_path, capsys):
    page = tmp_path / "page.html"
    call = ["dnn", "front", "resnet50", "--device", "T4,H100", "--batch-size", "256,512"]
    assert run([*call, "--html", str(page)]) == 0
    assert "does not fit, left out: T4 at 256" in page.read_text()
    capsys.readouterr()
    assert run(["dnn", "predict", "resnet51", "--device", "T4"])
    assert "ResNet50" in capsys.readouterr().err
    with pytest.raises(QuestionError, match="expected a whole number from 1, got 0"):
        predict("resnet50", device="T4", batch_size=0)


@pytest.mark.slow
def test_a_table_is_answered_row_by_row(model, capsys):
    assert run(["dnn", "predict", str(model), str(model.parent / "runs.csv"), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["runs"]
    middle = [r["runtime_s"]["median"] for r in rows]
    assert np.median(np.abs(middle / many_runs().numpy("runtime_s") - 1)) < 0.05


def test_the_front_turns_the_batch_and_the_device_of_a_run(model, capsys):
    call = ["front", str(model.parent / "runs.csv"), "--where", "app=VGGSmall", "--model",
            str(model), "--knob", "batch_size=16,48", "--knob", "device=A,B,C", "--objectives",
            "runtime_s,memory_peak_b", "--rule", "weighted=runtime_s:1", "--json"]  # fmt: skip
    assert run(call) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["choice"]["setting"]["device"] == "B"


def test_settings_of_a_named_network_are_weighed_without_a_table(model, capsys):
    call = ["dnn", "front", str(model), "--model-name", "resnet-18", "--image-px", "64",
            "--classes", "10", "--samples", "5000", "--objectives", "epoch_s",
            "--rule", "weighted=epoch_s:1", "--json"]  # fmt: skip
    assert run(call) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["choice"]["setting"] == {"batch_size": 256, "device": "B"}
    assert len(said["front"]) == 5 * 3
    assert run([*call, "--knob", "batch_size=16,32", "--within", "memory=1kB"]) == 3
    capsys.readouterr()
    assert run([*call, "--within", "memory=50GB@0.9"]) == 0
    assert json.loads(capsys.readouterr().out)["choice"]["setting"]["batch_size"] == 32
    assert run([*call, "--knob", "colour=1,2"]) == 2
    assert "colour" in capsys.readouterr().err


def test_a_table_of_questions_needs_no_measurement_and_keeps_what_was_known(model, capsys):
    asked = model.parent / "asked.csv"
    asked.write_text("app,device,batch_size,samples\nResNet18,B,32,5000\n")
    assert run(["dnn", "predict", str(model), str(asked), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["runs"]
    steps = np.ceil(5000 / 32)
    assert row["epoch_s"]["median"] == pytest.approx(row["runtime_s"]["median"] * steps)


@pytest.mark.slow
def test_what_to_measure_next_was_not_run_there_and_helps_what_is_wanted(model, capsys):
    runs = str(model.parent / "runs.csv")
    call = ["dnn", "fit", runs, "-o", str(model.parent / "again"), "--target", "runtime_s",
            "--next", "4", "--device", "C", "--json"]  # fmt: skip
    said = []
    for more in ([], ["--wanted", "app=VGGSmall"]):
        assert run([*call, *more]) == 0
        said.append(json.loads(capsys.readouterr().out))
    run_before = many_runs().frame.filter(device="C").select("app", "image_px", "batch_size").rows()
    for answer in said:
        named, error = answer["next"], answer["expected_error"]
        assert all(row["device"] == "C" for row in named)
        assert not any((r["app"], r["image_px"], r["batch_size"]) in run_before for r in named)
        assert all(np.diff(error) < 0)
    assert said[1]["next"][0]["app"] == "VGGSmall"


def test_where_nothing_is_left_to_measure_it_says_so(tmp_path, capsys):
    many_runs().frame.filter(device="C").write_csv(tmp_path / "c.csv")
    call = ["dnn", "fit", str(tmp_path / "c.csv"), "-o", str(tmp_path / "m"), "--next", "3"]
    assert run([*call, "--device", "C"]) == 0
    assert "0 named, as every other configuration of the table was run on C" in (
        capsys.readouterr().err.replace("\n", " "))  # fmt: skip


@pytest.mark.parametrize(
    ("more", "code", "word"),
    [([], 2, "TABLE"), (["--model-name", "gpt-9"], 1, "VGG16"),
     (["--model-name", "inceptionv3", "--image-px", "32"], 1, "too small")],
)  # fmt: skip
def test_what_cannot_be_meant_is_one_message(model, capsys, more, code, word):
    assert run(["dnn", "predict", str(model), *more]) == code
    assert word in capsys.readouterr().err
