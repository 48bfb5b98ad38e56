"""Prices of tokens, and plans for a trace: closed forms, limits, what is refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from rheostat import Outcome, table
from rheostat.cli import run
from rheostat.core.front import Front
from rheostat.errors import DataError, Infeasible
from rheostat.prediction.accelerators import accelerator
from rheostat.prediction.serving_law import ServingLaw
from rheostat.prediction.serving_law.configurations import Configurations
from rheostat.prediction.serving_law.law import NAMES
from rheostat.questions.llm.serving_limits import MEMORY, TTFT, overfull, with_limits
from rheostat.questions.llm.serving_model import CacheSize
from rheostat.questions.llm.serving_prices import CARBON, COST, Prices, priced
from rheostat.questions.llm.serving_trace import (
    TraceLimits,
    best_for_trace,
    plan_for_trace,
    replicas_of,
    simple_rules_on_trace,
)
from rheostat.recipes.energylens import mixed_workloads, turned
from tests.prediction.test_serving_law import runs


def front():
    """Two settings: one H100 with 0.02 s and 0.4 J, two B200 with 0.01 s and 0.3 J, batch 50."""
    settings = table({"app": ["m"] * 2, "params": [8e9] * 2, "gpu_model": ["H100", "B200"],
                      "gpus": [1, 2], "batch_cap": [50, 50]})  # fmt: skip
    draws = {"itl_s": np.array([[0.02, 0.01]]), "energy_per_token_j": np.array([[0.4, 0.3]])}
    return Front(settings, Outcome(draws), ("itl_s", "energy_per_token_j"))


def test_a_million_tokens_take_hours_of_gpus_and_kilowatt_hours():
    made = priced(front(), Prices({"H100": 2.0, "*": 5.0}, kwh=0.3, carbon_g_per_kwh=400.0))
    hours = np.array([1e6 * 0.02 / 50 / 3600, 1e6 * 0.01 / 50 / 3600])
    kwh = np.array([0.4, 0.3]) / 3.6
    assert made.mean(COST) == pytest.approx(hours * [2.0, 10.0] + kwh * 0.3)
    assert made.mean(CARBON) == pytest.approx(kwh * 400)
    assert [o.name for o in made.objectives][-2:] == [COST, CARBON]
    assert COST not in priced(front(), Prices()).outcome


def test_prices_that_cannot_be_are_refused():
    with pytest.raises(DataError, match=r"(?s)H100.*carbon"):
        Prices({"H100": -1.0}, carbon_g_per_kwh=math.nan)
    with pytest.raises(DataError, match="no price of B200"):
        priced(front(), Prices({"H100": 1.0}))


def test_a_replica_steps_as_fast_as_its_setting_at_a_full_batch():
    law = ServingLaw().fit(runs(24))
    one, two = replicas_of(law, front())
    for r, itl, energy in ((one, 0.02, 0.4), (two, 0.01, 0.3)):
        assert r.base_s + 50 * r.request_s == pytest.approx(itl)
        assert r.base_s > 0 < r.request_s
        assert r.busy_w == pytest.approx(energy * 50 / itl)
        assert r.idle_w < r.busy_w
    assert two.cache_tokens > one.cache_tokens


def trace(n=300, gap=0.05):
    rng = np.random.default_rng(0)
    return table({"submit_s": np.cumsum(rng.exponential(gap, n)),
                  "prompt_tokens": rng.integers(20, 2000, n),
                  "output_tokens": rng.integers(5, 300, n)})  # fmt: skip


def test_a_trace_gets_the_least_energy_that_holds_the_limit_with_as_few_replicas_as_do():
    law = ServingLaw().fit(runs(24))
    easy = plan_for_trace(law, front(), trace(), TraceLimits(1e6))
    assert {r["replicas"] for r in easy} == {1}
    assert best_for_trace(easy)["energy_per_token_j"] == min(r["energy_per_token_j"] for r in easy)
    tight = plan_for_trace(law, front(), trace(gap=0.02), TraceLimits(1.0))
    best = best_for_trace(tight)
    assert best["ttft_p99_s"] <= 1.0
    assert best["replicas"] > 1
    with pytest.raises(Infeasible, match="nearest"):
        best_for_trace(plan_for_trace(law, front(), trace(), TraceLimits(1e-6), counts=(1,)))
    long = trace().with_columns([], prompt_tokens=10**9)
    with pytest.raises(DataError, match="no setting holds"):
        plan_for_trace(law, front(), long, TraceLimits())


def test_first_tokens_take_the_prompt_and_a_step_and_memory_holds_weights_and_caches():
    law = ServingLaw().fit(runs(24))
    made = with_limits(front(), law, prompt_tokens=1000, context_tokens=2000)
    at = Configurations.of(front().alternatives)
    compute = np.exp(law.log_parameters_of(at))[:, NAMES.index("compute")]
    rate = np.array([989e12, 2 * 2250e12]) * np.minimum(compute, 1.0)
    middle = np.median(made.draws(TTFT), axis=0)
    assert middle == pytest.approx([0.02, 0.01] + 1000 * 2 * 8e9 / rate, rel=1e-3)
    low, high = made.interval(TTFT)
    assert ((low < 0.95 * middle) & (middle < 0.95 * high)).all()  # no first token was measured
    taken = 16e9 + 50 * 2000 * 131_072
    assert made.mean(MEMORY) == pytest.approx([taken / 80e9, taken / 360e9])


def test_a_batch_whose_caches_have_no_place_is_noted_with_how_much_it_is_over():
    """8e9 parameters take 16 GB, a request of 10,000 tokens 1.31072 GB, an H100 has 80 GB."""
    settings = table({"app": ["m"] * 3, "params": [8e9] * 3, "gpu_model": ["H100"] * 3,
                      "gpus": [1] * 3, "batch_cap": [48, 500, 500],
                      "prompt_tokens": [9000.0, 9000.0, None],
                      "output_tokens": [1000.0] * 3})  # fmt: skip
    fits, over, unsaid = (overfull(settings, i, CacheSize()) for i in range(3))
    assert fits == unsaid == ()
    share = (16e9 + 500 * 10_000 * 131_072) / 80e9
    assert f"10,000 tokens needs {share:.2g} times the memory" in over[0].message
    assert (
        "--context-tokens 10000 leaves such settings out (the cache is guessed" in over[0].message
    )


def test_the_command_holds_first_tokens_memory_and_power_caps(tmp_path, capsys):
    runs(36, seed=1).frame.write_csv(tmp_path / "runs.csv")
    call = ["llm", "plan", str(tmp_path / "runs.csv"), "--app", "m1", "--json"]

    def chosen(*more):
        assert run([*call, *more]) == 0
        return json.loads(capsys.readouterr().out)["choice"]["setting"]

    free, tight = chosen(), chosen("--context-tokens", "8000")
    assert tight["batch_cap"] * 8000 * 131_072 * (14 / 8) ** 0.5 + 28e9 <= (
        0.9 * tight["gpus"] * accelerator(tight["gpu_model"]).memory_b)  # fmt: skip
    assert tight != free
    assert chosen("--knob", "power_cap_w=350,1000")["power_cap_w"] == 1000  # no cap saves energy
    least = chosen(
        "--knob", "power_cap_w=300,1000", "--knob", "batch_cap=64,256", "--power", "301W@0.99"
    )
    assert least["power_cap_w"] == 300  # at which no draw is above the cap
    assert chosen("--prompt-tokens", "4000", "--ttft", "10s") == free
    assert run([*call, "--prompt-tokens", "4000", "--ttft", "1ms"]) == 3
    assert run([*call, "--ttft", "1s"]) == 1
    assert "--prompt-tokens" in capsys.readouterr().err


def test_requests_far_longer_than_measured_ones_are_refused_and_unsaid_lengths_are_not(
    tmp_path, capsys
):
    path = tmp_path / "runs.csv"
    call = ["llm", "plan", str(path), "--app", "m1"]
    long = ["--prompt-tokens", "9000", "--context-tokens", "9000", "--memory", "1"]
    runs(36, seed=1, prompt_tokens=[1000.0] * 36, output_tokens=[500.0] * 36).frame.write_csv(path)
    assert run([*call, *long]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "--prompt-tokens: 9000 is beyond 4 times the longest that was measured (1000)" in said
    assert "--context-tokens: 9000 is beyond 4 times the longest that was measured (1500)" in said
    assert run([*call, "--context-tokens", "5900", "--memory", "1"]) in {0, 3}
    runs(36, seed=1).frame.write_csv(path)
    assert run([*call, *long]) in {0, 3}


@pytest.mark.slow
def test_the_command_plans_by_cost_and_for_a_trace(tmp_path, capsys):
    runs(36, seed=1).frame.write_csv(tmp_path / "runs.csv")
    trace().frame.write_csv(tmp_path / "trace.csv")
    file = str(tmp_path / "runs.csv")
    call = ["llm", "plan", file, "--app", "m1", "--json"]
    assert run([*call, "--minimise", "cost", "--gpu-price", "H100=1", "--gpu-price", "B200=9"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["minimised"] == COST
    assert all(r["ratio"] >= 1 - 1e-9 for r in said["simple_rules"].values())
    page = tmp_path / "trace.html"
    served = [*call, "--trace", str(tmp_path / "trace.csv"), "--ttft", "5s"]
    assert run([*served, "--html", str(page)]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["choice"]["ttft_p99_s"] <= 5
    assert "Candidates on the trace" in page.read_text()
    assert "least energy" in page.read_text()
    assert "All candidates" in page.read_text()
    every = len(said["candidates"])
    assert every > 20
    assert f"20 of {every} candidates" in page.read_text()
    assert said["engine_line"].startswith("vllm serve m1 ")
    assert run([*served, "--minimise", "cost"]) == 1
    assert "energy alone is minimised" in capsys.readouterr().err
    assert run([*call, "--trace", str(tmp_path / "trace.csv"), "--ttft", "1ms"]) == 3
    for more, word in ((["--minimise", "cost"], "--gpu-price"), (["--minimise", "x"], "expected"),
                       (["--gpu-price", "much"], "H100=2.5")):  # fmt: skip
        assert run([*call, *more]) == 1
        assert word in capsys.readouterr().err


def test_a_placement_that_is_not_offered_has_as_many_gpus_as_its_split():
    settings = [{"gpu_model": "H100", "gpus": 1, "tp": 1, "ep": 1, "batch_cap": 8},
                {"gpu_model": "H100", "gpus": 8, "tp": 8, "ep": 8, "batch_cap": 8}]  # fmt: skip
    twice = turned(settings, [{"gpus": 2}])
    assert [(s["gpus"], s["tp"], s["ep"], s["batch_cap"]) for s in twice] == [
        (2, 2, 1, 8), (2, 2, 2, 8)]  # fmt: skip
    assert [s["gpus"] for s in turned(settings[:1], [{"tp": 4}])] == [4]
    assert turned(settings[:1], [{"tp": 4, "gpus": 2}]) == []


def test_simple_rules_stand_beside_a_plan_for_a_trace_and_mixed_workloads_are_said():
    law = ServingLaw().fit(runs(24))
    rows = plan_for_trace(law, front(), trace(100), TraceLimits(60.0), (1, 2))
    simple = simple_rules_on_trace(front(), rows)
    assert simple["fewest GPUs"]["setting"]["gpus"] == 1
    assert simple["newest GPU, then fewest"]["setting"]["gpus"] == 2
    least = min(r["energy_per_token_j"] for r in rows)
    assert all(r["energy_per_token_j"] >= least for r in simple.values())
    two = table({"app": ["m"] * 2, "workload": ["chat", "code"]})
    assert "chat, code" in mixed_workloads(two)[0].message
    assert mixed_workloads(two.rows([0])) == ()
