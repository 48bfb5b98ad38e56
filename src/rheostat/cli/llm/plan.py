"""``rheostat llm plan``: which configuration to serve a model with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.asks import asks
from rheostat.cli.llm.serving_runs import Config, Gpus, Kernels, Runs
from rheostat.cli.options.declared import option, written


@asks("llm.plan", o.table, o.drawn, carbon="carbon_g_per_kwh", config="model_config")
def plan(
    runs: Runs,
    app: Annotated[
        str, option("The language model, as RUNS names it (where they hold several).")
    ] = "",
    workload: Annotated[str, option("The workload, as RUNS names it.")] = "",
    knob: Annotated[
        list[str] | None,
        option(
            "What may be turned, as gpus=1,2,4 or power_cap_w=400..700/100 (others stay as "
            "models of this architecture were run). Repeatable."
        ),
    ] = None,
    itl: Annotated[str, option("Most time between tokens, as 50ms or 50ms@0.9.")] = "",
    power: Annotated[str, option("Most power of the deployment, as 2kW@0.9.")] = "",
    minimise: Annotated[str, option("energy, cost or carbon, of a token.")] = "energy",
    gpu_price: Annotated[
        list[str] | None, option("Price of a GPU-hour: 2.5, or by type H100=2.5. Repeatable.")
    ] = None,
    kwh_price: Annotated[float, option("Price of a kilowatt-hour.", min=0.0)] = 0.0,
    carbon: Annotated[float, option("Carbon of electricity, gCO2e per kWh.", min=0.0)] = 0.0,
    trace: Annotated[
        Path | None, option("Also replicas and order, for this trace of requests.")
    ] = None,
    ttft: Annotated[
        str,
        option(
            "Most time to the first token, as 500ms@0.9: over the trace for 99 %, else of a "
            "request that finds a place (--prompt-tokens)."
        ),
    ] = "",
    prompt_tokens: Annotated[float, option("Tokens of a prompt.", min=0.0)] = 0.0,
    output_tokens: Annotated[float, option("Tokens of an answer.", min=0.0)] = 0.0,
    context_tokens: Annotated[
        float,
        option(
            "Tokens of a running request, prompt and answer: the caches of a full batch have "
            "to fit --memory.",
            min=0.0,
        ),
    ] = 0.0,
    memory: Annotated[
        float, option("Share of the GPUs' memory that may be taken.", min=0.0, max=1.0)
    ] = 0.9,
    config: Config = None,
    gpu: Gpus = None,
    engine: Annotated[str, option("Whose command line is printed: vllm or sglang.")] = "vllm",
    kernels: Kernels = None,
    replicas: Annotated[int, option("Most replicas for the trace.", min=1, max=1000)] = 8,
    out: Annotated[
        Path | None,
        written(
            "Also write what holds the limits as runs under caps (CSV), for rheostat budget plan "
            "and site what-if.",
            "--out",
            "-o",
        ),
    ] = None,
    unit: o.Units = None,
) -> None:
    """Take the configuration of least energy, cost or carbon a token within limits.

    What RUNS hold for this model is a measurement, the law fills the rest. What simple rules would
    take, and what that costs more, stands below.  With --trace candidates serve the trace in
    simulation, each with the fewest replicas that hold --ttft.
    """
