"""config.json of published models: bytes per token in closed form, parameters as makers say."""

from __future__ import annotations

import json

import pytest

from rheostat.cli import run
from rheostat.errors import DataError
from rheostat.measurement.read import guess_format, read
from rheostat.measurement.serving.model_config import model_config

BF16 = {"torch_dtype": "bfloat16", "tie_word_embeddings": False}
LLAMA = {"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, **BF16,
         "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
         "vocab_size": 128_256, "max_position_embeddings": 131_072}  # fmt: skip
CONFIGS = {
    "Llama 3.1 8B": LLAMA,
    "Mistral 7B v0.1": LLAMA | {"model_type": "mistral", "vocab_size": 32_000,
                                "sliding_window": 4096},
    "Mixtral 8x7B": LLAMA | {"model_type": "mixtral", "vocab_size": 32_000,
                             "num_local_experts": 8, "num_experts_per_tok": 2},
    "DeepSeek-V3": {
        "model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18_432, **BF16,
        "moe_intermediate_size": 2048, "num_hidden_layers": 61, "num_attention_heads": 128,
        "num_key_value_heads": 128, "q_lora_rank": 1536, "kv_lora_rank": 512,
        "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128,
        "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8,
        "first_k_dense_replace": 3, "vocab_size": 129_280,
        "quantization_config": {"quant_method": "fp8"}},
    "Qwen3-30B-A3B": {
        "model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144, **BF16,
        "moe_intermediate_size": 768, "num_hidden_layers": 48, "num_attention_heads": 32,
        "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8,
        "decoder_sparse_step": 1, "mlp_only_layers": [], "vocab_size": 151_936,
        "sliding_window": None, "use_sliding_window": False, "max_window_layers": 48},
    "gpt-oss-120b": {
        "model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, **BF16,
        "num_hidden_layers": 36, "num_attention_heads": 64, "num_key_value_heads": 8,
        "head_dim": 64, "num_local_experts": 128, "experts_per_token": 4, "vocab_size": 201_088,
        "sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"] * 18,
        "quantization_config": {"quant_method": "mxfp4"}},
    "Gemma 3 27B": {
        "model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"],
        "torch_dtype": "bfloat16",
        "text_config": {"model_type": "gemma3_text", "head_dim": 128, "hidden_size": 5376,
                        "intermediate_size": 21_504, "num_attention_heads": 32,
                        "num_hidden_layers": 62, "num_key_value_heads": 16,
                        "sliding_window": 1024}},
    "Qwen3-Next-80B-A3B": {
        "model_type": "qwen3_next", "hidden_size": 2048, "intermediate_size": 5120, **BF16,
        "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512,
        "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 2,
        "head_dim": 256, "num_experts": 512, "num_experts_per_tok": 10, "decoder_sparse_step": 1,
        "vocab_size": 151_936, "full_attention_interval": 4, "linear_num_value_heads": 32,
        "linear_num_key_heads": 16, "linear_key_head_dim": 128, "linear_value_head_dim": 128},
    "Jamba v0.1": {
        "model_type": "jamba", "hidden_size": 4096, "intermediate_size": 14_336, **BF16,
        "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
        "num_experts": 16, "num_experts_per_tok": 2, "expert_layer_period": 2,
        "expert_layer_offset": 1, "attn_layer_period": 8, "attn_layer_offset": 4,
        "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2, "vocab_size": 65_536},
    "Llama 4 Scout": {
        "model_type": "llama4", "torch_dtype": "bfloat16",
        "text_config": {"model_type": "llama4_text", "hidden_size": 5120,
                        "intermediate_size": 8192, "intermediate_size_mlp": 16_384,
                        "num_hidden_layers": 48, "num_attention_heads": 40,
                        "num_key_value_heads": 8, "head_dim": 128, "num_local_experts": 16,
                        "num_experts_per_tok": 1, "interleave_moe_layer_step": 1,
                        "vocab_size": 202_048, "tie_word_embeddings": False,
                        "attention_chunk_size": 8192, "no_rope_layers": []}},
    "Falcon 7B": {"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32,
                  "num_attention_heads": 71, "multi_query": True, "vocab_size": 65_024,
                  "torch_dtype": "bfloat16"},
    "Nemotron-H-8B": {
        "model_type": "nemotron_h", "hidden_size": 4096, "num_hidden_layers": 52, **BF16,
        "hybrid_override_pattern": "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
        "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
        "intermediate_size": 21_504, "mamba_num_heads": 128, "mamba_head_dim": 64,
        "ssm_state_size": 128, "n_groups": 8, "conv_kernel": 4, "vocab_size": 131_072},
    "Mamba 2.8B": {"model_type": "mamba", "hidden_size": 2560, "num_hidden_layers": 64,
                   "state_size": 16, "expand": 2, "conv_kernel": 4, "vocab_size": 50_280,
                   "torch_dtype": "bfloat16"},
}  # fmt: skip
SAID = {  # parameters in 1e9: all, active; bytes per token: kept, in a window; tokens of the window
    "Llama 3.1 8B": (8.03, 8.03, 2 * 32 * 8 * 128 * 2, 0, 0),
    "Mistral 7B v0.1": (7.24, 7.24, 0, 131_072, 4096),
    "Mixtral 8x7B": (46.7, 12.9, 131_072, 0, 0),
    "DeepSeek-V3": (671, 37, 61 * (512 + 64) * 2, 0, 0),
    "Qwen3-30B-A3B": (30.5, 3.3, 2 * 48 * 4 * 128 * 2, 0, 0),
    "gpt-oss-120b": (116.8, 5.7, 18 * 2048, 18 * 2048, 128),
    "Gemma 3 27B": (27.0, 27.0, 10 * 8192, 52 * 8192, 1024),
    "Qwen3-Next-80B-A3B": (80, 3.9, 12 * 2 * 2 * 256 * 2, 0, 0),
    "Jamba v0.1": (52, 12, 2**32 // 2**18, 0, 0),  # "4 GB for 256 K tokens"
    "Llama 4 Scout": (109, 17, 12 * 4096, 36 * 4096, 8192),
    "Falcon 7B": (6.9, 6.9, 32 * 2 * 64 * 2, 0, 0),
    "Nemotron-H-8B": (8.1, 8.1, 4 * 4096, 0, 0),
    "Mamba 2.8B": (2.77, 2.77, 0, 0, 0),
}


@pytest.fixture
def config(tmp_path):
    def write(*given):
        path = tmp_path / "config.json"
        path.write_text("\n".join(json.dumps(g, indent=1) for g in given))
        return path

    return write


@pytest.mark.parametrize("name", CONFIGS)
def test_cache_and_parameters_of_published_models(config, name):
    model = model_config(config(CONFIGS[name]))
    params, active, kept, in_window, window = SAID[name]
    assert model.params == pytest.approx(params * 1e9, rel=0.015)
    assert model.active_params == pytest.approx(active * 1e9, rel=0.02)
    assert (model.cache_per_token_b, model.window_cache_per_token_b) == (kept, in_window)
    assert model.window_tokens == window


def test_a_window_and_a_state_bound_what_a_request_keeps(config):
    mistral = model_config(config(CONFIGS["Mistral 7B v0.1"]))
    assert mistral.request_b([1000.0, 4096.0, 30_000.0]).tolist() == [
        131_072 * n for n in (1000, 4096, 4096)
    ]
    mamba = model_config(config(CONFIGS["Mamba 2.8B"]))
    inner = 2 * 2560
    assert mamba.request_b(1.0) == mamba.request_b(1e6) == 2 * 64 * inner * (16 + 4 - 1)
    jamba = model_config(config(CONFIGS["Jamba v0.1"]))
    assert jamba.request_b(100.0) == 100 * 16_384 + 2 * 28 * 8192 * (16 + 3)


def test_heads_that_are_shared_cannot_be_split(config):
    assert model_config(config(CONFIGS["DeepSeek-V3"])).kv_heads == 1
    assert model_config(config(CONFIGS["Falcon 7B"])).kv_heads == 1
    assert model_config(config(LLAMA)).kv_heads == 8


@pytest.mark.parametrize(
    ("quantization", "precision", "cache_b"),
    [({"quant_method": "fp8"}, "fp8", 2), ({"quant_method": "gptq", "bits": 8}, "int8", 2),
     ({"quant_method": "awq", "bits": 4}, "int4", 2), ({"quant_method": "mxfp4"}, "mxfp4", 2),
     ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "int4", 2),
     ({"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"},
      "nvfp4", 1),
     ({"quant_method": "compressed-tensors", "kv_cache_scheme": {"num_bits": 8},
       "config_groups": {"g": {"weights": {"num_bits": 8, "type": "float"}}}}, "fp8", 1),
     ({"quant_method": "compressed-tensors",
       "config_groups": {"g": {"weights": {"num_bits": 4, "type": "int"}}}}, "int4", 2)],
)  # fmt: skip
def test_precision_is_that_of_the_quantization(config, quantization, precision, cache_b):
    model = model_config(config(LLAMA | {"quantization_config": quantization}))
    assert (model.weight_precision, model.cache_per_token_b) == (precision, 65_536 * cache_b)
    assert model.notes == ()


@pytest.mark.parametrize(
    ("change", "word"),
    [({"model_type": "novel"}, "novel is not known here"), ({"torch_dtype": None}, "16 bits"),
     ({"quantization_config": {"quant_method": "odd"}}, "quantization odd is not known"),
     ({"use_cla": True}, "use_cla"), ({"num_local_experts": 8}, "all are taken to be active")],
)  # fmt: skip
def test_what_is_guessed_is_said(config, change, word):
    assert word in " ".join(model_config(config(LLAMA | change)).notes)
    assert model_config(config(LLAMA)).notes == ()


def test_what_a_config_inside_another_leaves_out_is_said(config):
    """llava-1.5-7b: Transformers leaves out what Llama's class has by default."""
    decoder = {"model_type": "llama", "vocab_size": 32_064}
    given = {"model_type": "llava", "torch_dtype": "float16", "text_config": decoder}
    model = model_config(config(given))
    assert model.cache_per_token_b == 2 * 32 * 32 * 128 * 2
    assert "num_hidden_layers 32" in model.notes[0]


@pytest.mark.parametrize(
    ("given", "words"),
    [({**LLAMA, "num_hidden_layers": -3, "vocab_size": "many"},
      ("num_hidden_layers", "vocab_size")),
     ({"model_type": "llama", "hidden_size": 4096}, ("num_hidden_layers is missing",)),
     ({**LLAMA, "num_hidden_layers": 10**9}, ("at most 10000",)),
     ({**LLAMA, "num_hidden_layers": 10**30}, ("64 bits",)),
     ({**LLAMA, "layer_types": ["quantum"] * 32}, ("unknown kind: quantum",)),
     ({**LLAMA, "num_key_value_heads": [1, 2]}, ("num_key_value_heads",)),
     ({**LLAMA, "architectures": ["BertForMaskedLM"]}, ("expected a decoder",)),
     ({"dim": 4096, "n_layers": 32}, ("expected a config.json", "JSON with dim, n_layers")),
     ({"model_type": "x", "text_config": [3]}, ("missing",))],
)  # fmt: skip
def test_what_cannot_be_is_one_error(config, given, words):
    with pytest.raises(DataError) as error:
        model_config(config(given))
    assert all(w in str(error.value) for w in words)


def test_several_files_are_several_rows_and_read_shows_them(config, capsys):
    path = config(CONFIGS["Llama 3.1 8B"], CONFIGS["Mamba 2.8B"])
    assert guess_format(path) == "model-config"
    assert read(path).numpy("cache_per_token_b").tolist() == [131_072, 0]
    with pytest.raises(DataError, match="one model, got 2"):
        model_config(path)
    assert run(["read", str(path)]) == 0
    assert "cache_per_token_b" in capsys.readouterr().out
    assert run(["read", str(config(LLAMA)), "--json"]) == 0
    columns = {c["column"]: c["median"] for c in json.loads(capsys.readouterr().out)["columns"]}
    assert columns["weight_precision"] == "bfloat16"  # a text that is the same in all rows
