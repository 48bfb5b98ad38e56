"""A model that no run is of: planned from its config, on placements that hold it."""

import json

import numpy as np
import pytest

from rheostat.cli import run
from rheostat.errors import DataError
from rheostat.measurement.serving.model_config import model_config
from rheostat.measurement.serving.runs import read_serving
from rheostat.measurement.synthetic.served_models import serving_runs, true_cost
from rheostat.prediction.serving_law import ServingLaw
from rheostat.prediction.serving_law.configurations import Configurations
from rheostat.prediction.serving_law.left_out_models import left_out_models
from rheostat.recipes.energylens import offered
from rheostat.recipes.new_model import as_service, is_new
from tests.measurement.test_model_config import CONFIGS, LLAMA


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("new")
    serving_runs().gather_every(3).write_csv(made / "runs.csv")
    (made / "config.json").write_text(json.dumps(LLAMA))
    (made / "huge.json").write_text(json.dumps(CONFIGS["DeepSeek-V3"]))
    return made


@pytest.fixture(scope="module")
def runs(folder):
    return read_serving(folder / "runs.csv")


def test_rows_of_a_new_model_have_its_size_and_nothing_measured(folder, runs):
    config = model_config(folder / "config.json")
    own = as_service(runs, "llama", config)
    assert is_new(runs, "llama")
    assert not is_new(runs, "m32")
    assert sorted(own.numpy("batch_cap")) == sorted(set(runs.numpy("batch_cap")))
    assert set(own.numpy("params")) == {config.params}
    assert np.isnan(own.numpy("energy_per_token_j")).all()
    made = ServingLaw().fit(runs).predict(own)
    at = Configurations.of(own)
    true = [true_cost(config.params, g, int(n), int(b))[1]
            for g, n, b in zip(at.gpu, at.gpus, at.batch, strict=True)]  # fmt: skip
    low, high = made.interval("energy_per_token_j", 0.9)
    assert np.mean((low <= true) & (true <= high)) >= 0.7


def test_a_new_model_is_offered_what_holds_its_weights_alone(folder, runs):
    config = model_config(folder / "huge.json")
    with pytest.raises(DataError, match="fit no placement"):
        as_service(runs.rows(np.flatnonzero(runs.numpy("gpus") == 1)), "huge", config)
    llama = model_config(folder / "config.json")
    assert {s["gpus"] for s in offered(runs, as_service(runs, "llama", llama))[0]} == {1, 2, 4, 8}


def test_models_left_out_in_turn_say_how_far_to_believe_it(runs):
    law = ServingLaw().fit(runs)
    found = left_out_models(law)["energy_per_token_j"]
    assert found.models == len(set(runs.frame["app"]))
    apart = []
    for app in sorted(set(runs.frame["app"])):
        there = (runs.frame["app"] == app).to_numpy()
        other = ServingLaw().fit(runs.rows(~there))
        other.evidence_ = None  # the law alone
        mean, _ = other.posterior(Configurations.of(runs.rows(there)), ["energy_per_token_j"])
        off = np.abs(mean - np.log(runs.rows(there).numpy("energy_per_token_j")))
        apart.append(np.median(np.expm1(off)))
    assert found.median_error == pytest.approx(np.median(apart), rel=0.3)
    assert left_out_models(ServingLaw().fit(runs.rows(np.arange(10)))) == {}


def test_the_command_plans_it_says_so_and_prints_the_engines_line(folder, capsys):
    plan = ["llm", "plan", str(folder / "runs.csv"), "--app", "org/llama", "--json"]
    assert run(plan) == 1
    assert "no run of" in capsys.readouterr().err
    assert run([*plan, "--model-config", str(folder / "config.json"), "--engine", "sglang"]) == 0
    out = capsys.readouterr()
    said, err = json.loads(out.out), " ".join(out.err.split())
    assert "org/llama is in no run: all is predicted" in err
    assert "each left out in turn" in err
    cap = said["choice"]["setting"]["batch_cap"]
    assert said["engine_line"].startswith("python -m sglang.launch_server --model-path org/llama")
    assert said["engine_line"].endswith(f"--max-running-requests {cap}")


def test_a_type_of_gpu_is_known_by_its_data_sheet(folder, capsys):
    path = folder / "other.csv"
    lines = (folder / "runs.csv").read_text().replace("A100", "Wafer 3").splitlines(keepends=True)
    path.write_text("".join(lines[:1] + [line for line in lines if "m32" in line]))
    fit = ["llm", "fit", str(path), "--json"]
    assert run(fit) == 0
    out = capsys.readouterr()
    assert "not known were left out: 'Wafer 3'" in out.err
    assert run([*fit, "--gpu", "Wafer 3=2.039,312,400,80,600"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] > json.loads(out.out)["runs"]
    assert run([*fit, "--gpu", "Wafer 3=fast"]) == 1
    assert "TB/s,TFLOPs,W,GB" in capsys.readouterr().err
