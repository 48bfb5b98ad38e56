"""The words of serving: columns of a table of measured configurations."""

from __future__ import annotations

from rheostat.core.jobs import Column, Moment

_S, _E = Moment.SUBMIT, Moment.END
COLUMNS = (
    Column("gpu_model", "", _S, "type of accelerator"),
    Column("tp", "", _S, "GPUs one layer is split over (tensor parallel)"),
    Column("pp", "", _S, "stages the layers are split into (pipeline parallel)"),
    Column("ep", "", _S, "GPUs the experts are split over (expert parallel)"),
    Column("dp", "", _S, "copies of the attention layers (data parallel)"),
    Column("batch_cap", "", _S, "most requests that run at once"),
    Column("params", "", _S, "parameters of the model"),
    Column("active_params", "", _S, "parameters used for one token"),
    Column("weight_precision", "", _S, "format of the weights"),
    Column("architecture", "", _S, "kind of network"),
    Column("workload", "", _S, "which requests are served"),
    Column("batch_mean", "", _E, "requests that ran at once, mean"),
    Column("prompt_tokens", "", _S, "tokens of a prompt, mean"),
    Column("output_tokens", "", _S, "tokens of an answer, mean, as set or expected"),
    Column("itl_s", "s", _E, "time between tokens of a request"),
    Column("ttft_s", "s", _E, "time to the first token of an answer"),
    Column("tokens_per_s", "1/s", _E, "tokens generated per second"),
    Column("energy_per_token_j", "J", _E, "energy per generated token"),
    Column("energy_per_request_j", "J", _E, "energy per request"),
)
