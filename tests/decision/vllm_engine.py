"""Run by a Python that has vLLM: serve requests in this process, and print in what order.

    python vllm_engine.py [SCHEDULER]

The model has random weights and no tokenizer.  Requests 0, 3, 6 and 9 ask for long answers.  One
runs at a time, so that the order of starts is exact; two are given up while others run.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

os.environ.update(
    VLLM_ENABLE_V1_MULTIPROCESSING="0", VLLM_CPU_KVCACHE_SPACE="1", VLLM_LOGGING_LEVEL="ERROR",
    VLLM_NO_USAGE_STATS="1", HF_HUB_OFFLINE="1", OMP_NUM_THREADS="1",
)  # fmt: skip

MODEL = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 128,
    "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 2000, "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5, "hidden_act": "silu", "tie_word_embeddings": True,
    "torch_dtype": "bfloat16", "bos_token_id": 0, "eos_token_id": 1,
}  # fmt: skip
LENGTHS = [60 if i % 3 == 0 else 4 for i in range(12)]


def main() -> None:
    """One JSON document on the last line."""
    import vllm
    from vllm import LLM, SamplingParams

    folder = Path(tempfile.mkdtemp())
    (folder / "config.json").write_text(json.dumps(MODEL))
    given = {"scheduler_cls": sys.argv[1]} if sys.argv[1:] else {}
    engine = LLM(
        model=str(folder), skip_tokenizer_init=True, load_format="dummy", max_model_len=512,
        max_num_seqs=1, enforce_eager=True, num_gpu_blocks_override=16, **given,
    ).llm_engine  # fmt: skip
    for i, most in enumerate(LENGTHS):
        prompt = {"prompt_token_ids": [3 + 7 * i + j for j in range(20)]}
        asked = SamplingParams(max_tokens=most, ignore_eos=True, detokenize=False)
        engine.add_request(str(i), prompt, asked)
    scheduler = engine.engine_core.engine_core.scheduler
    started, ended = [], {}
    while engine.has_unfinished_requests():
        outputs = engine.step()
        started += [r.request_id for r in outputs if r.request_id not in started]
        ended |= {r.request_id: len(r.outputs[0].token_ids) for r in outputs if r.finished}
        if len(ended) == 2:
            engine.abort_request([i for i in ("8", "9") if i not in ended])
    print(json.dumps({
        "version": vllm.__version__, "class": type(scheduler).__name__, "started": started,
        "ended": ended, "left": len(getattr(scheduler, "_started", ())),
        "waiting": len(scheduler.waiting),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
