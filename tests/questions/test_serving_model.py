"""What a config.json changes in a plan: memory by closed form, parameters, replicas on a trace."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rheostat import table
from rheostat.cli import run
from rheostat.errors import DataError
from rheostat.measurement.serving.model_config import model_config
from rheostat.prediction.serving_law import ServingLaw
from rheostat.questions.llm.serving_limits import memory_share
from rheostat.questions.llm.serving_model import (
    AS_LLAMA,
    CacheSize,
    of_known_size,
    only_app,
    with_config,
)
from rheostat.questions.llm.serving_trace import replicas_of
from rheostat.recipes.energylens import runnable
from tests.measurement.test_model_config import CONFIGS, LLAMA
from tests.prediction.test_serving_law import runs
from tests.questions.test_serving_plan import front

SETTINGS = {"app": ["m"] * 3, "params": [8.03e9] * 3, "gpu_model": ["H100"] * 3,
            "gpus": [1, 8, 16], "batch_cap": [32] * 3}  # fmt: skip


@pytest.fixture
def config(tmp_path):
    def read(name):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(CONFIGS[name]))
        return model_config(path)

    return read


def test_memory_is_weights_and_caches_and_heads_beyond_their_number_are_kept_again(config):
    settings = table(SETTINGS)
    cache = CacheSize(config("Llama 3.1 8B")).request_b(settings, 4000)
    assert cache.tolist() == [4000 * 131_072 * copies for copies in (1, 1, 2)]
    share = memory_share(settings, cache)
    assert share[0] == pytest.approx((2 * 8.03e9 + 32 * 4000 * 131_072) / 80e9)
    mla = CacheSize(config("DeepSeek-V3")).request_b(settings, 4000)
    assert mla.tolist() == [4000 * 70_272 * tp for tp in (1, 8, 16)]
    alone = settings.frame.with_columns(tp=1)  # each GPU serves requests of its own
    assert CacheSize(config("DeepSeek-V3")).request_b(table(alone), 4000)[2] == 4000 * 70_272


def test_every_copy_of_a_model_holds_its_weights() -> None:
    settings = table({"app": ["m"] * 3, "gpu_model": ["H100"] * 3, "gpus": [2, 2, 2],
                      "batch_cap": [8] * 3, "params": [46.7e9] * 3, "tp": [2, 1, 2],
                      "dp": [1, 2, 1]})  # fmt: skip
    share = memory_share(settings, np.zeros(3))
    assert share.tolist() == pytest.approx([93.4 / 160, 2 * 93.4 / 160, 93.4 / 160])
    experts = table({**settings.frame.to_dict(as_series=False), "active_params": [12.9e9] * 3,
                     "ep": [1, 1, 2], "dp": [1, 2, 2]})  # fmt: skip
    assert memory_share(experts, np.zeros(3))[2] == pytest.approx(93.4 / 160)  # once, for both


def test_a_placement_whose_copies_do_not_fit_is_offered_only_where_it_ran() -> None:
    own = table({"app": ["m"], "gpu_model": ["H100"], "gpus": [2], "batch_cap": [8],
                 "params": [46.7e9], "tp": [2], "dp": [1]})  # fmt: skip
    split, copied = {"gpus": 2, "tp": 2, "dp": 1}, {"gpus": 2, "tp": 1, "dp": 2}
    assert runnable([split, copied], own) == [split]  # two copies of 93 GB on 160 GB
    ran = table({**own.frame.to_dict(as_series=False), "tp": [1], "dp": [2]})
    assert runnable([split, copied], ran) == [split, copied]


def test_a_replica_holds_as_many_tokens_as_its_requests_have_where_its_cache_is_full(config):
    law = ServingLaw().fit(runs(24))
    room_b = 0.9 * 80e9 - 2 * 8e9
    lengths = np.array([1000.0, 30_000.0])
    long = replicas_of(law, front(), CacheSize(config("Mistral 7B v0.1")), lengths)[0]
    assert long.cache_tokens == int(room_b / (131_072 * (1000 + 4096) / 31_000))
    guessed = replicas_of(law, front(), AS_LLAMA, lengths)[0]
    assert guessed.cache_tokens == int(room_b / 131_072)


def test_a_config_says_parameters_of_its_model_alone_and_refuses_another(config):
    given = {"app": ["q", "q", "x"], "params": [None, 30e9, 8e9], "active_params": [3e9, None, 8e9],
             "weight_precision": ["fp8", None, None]}  # fmt: skip
    made = with_config(table(given), "q", config("Qwen3-30B-A3B"))
    assert made.numpy("params")[:2] == pytest.approx([30.5e9] * 2, rel=0.01)
    assert made.numpy("active_params") == pytest.approx([3.35e9, 3.35e9, 8e9], rel=0.01)
    assert made.frame["weight_precision"].to_list() == ["fp8", "bfloat16", None]
    assert made.notes == ()
    with pytest.raises(DataError, match="of another model than q"):
        with_config(table(given), "q", config("DeepSeek-V3"))
    near = with_config(table(given | {"params": [20e9, None, 8e9]}), "q", config("Qwen3-30B-A3B"))
    assert "2e+10 in RUNS" in near.notes[0].message
    with pytest.raises(DataError, match="--where app=q"):
        only_app(table(given))


def test_the_command_takes_the_cache_from_the_config_and_says_that_it_guesses(tmp_path, capsys):
    path, model = tmp_path / "runs.csv", tmp_path / "config.json"
    rows = [f"m,H100,1,{b},{0.01 + b / 1e4},{0.05 + 1 / b}" for b in (8, 32, 128)]
    path.write_text("app,gpu_model,gpus,batch_cap,itl_s,energy_per_token_j\n" + "\n".join(rows))
    model.write_text(json.dumps(LLAMA))
    plan = ["llm", "plan", str(path), "--app", "m", "--context-tokens", "4000", "--json"]
    assert run(plan) == 1  # the name says no parameters
    assert "params" in capsys.readouterr().err
    assert run([*plan, "--model-config", str(model)]) == 0
    out = capsys.readouterr()
    said = json.loads(out.out)
    assert said["choice"]["setting"]["batch_cap"] == 32  # 128 would need 83 of 80 GB
    shares = [row["memory_share"] for row in said["front"]]
    assert shares[1] == pytest.approx((2 * 8.03e9 + 32 * 4000 * 131_072) / 80e9, rel=1e-3)
    assert "524.3 MB by the config.json" in " ".join(out.err.split())
    model.write_text(json.dumps(CONFIGS["Qwen3-Next-80B-A3B"] | {"num_experts": 16}))
    assert run([*plan, "--model-config", str(model)]) == 0
    assert json.loads(capsys.readouterr().out)["choice"]["setting"]["batch_cap"] == 128
    path.write_text(path.read_text().replace("m,H100", "m-8B,H100"))
    assert run([*plan[:3], "--app", "m-8B", *plan[5:]]) == 0
    assert "guessed as Llama's" in " ".join(capsys.readouterr().err.split())
    model.write_text(json.dumps(CONFIGS["DeepSeek-V3"]))
    assert run(["llm", "fit", str(path), "--model-config", str(model)]) == 1
    assert "another model than m-8B" in " ".join(capsys.readouterr().err.split())


def test_models_of_unknown_size_are_left_out_and_the_asked_one_is_named():
    runs = table({"app": ["a-8B", "own", "a-8B"], "params": [8e9, None, 8e9]})
    kept = of_known_size(runs, "a-8B")
    assert kept.frame["app"].to_list() == ["a-8B", "a-8B"]
    assert ("'own'" in kept.notes[0].message, kept.notes[0].rows) == (True, (1,))
    with pytest.raises(DataError, match=r"parameters 'own' has.*--model-config.*--column params=="):
        of_known_size(runs, "own")
