"""Columns of serving tables in the names of whoever wrote them, given ours.

``gpu``, ``num_gpus``, ``max_num_seqs``, ``itl_ms``, ``output_tput_per_gpu`` or ``watts_per_gpu``
are known.  A plain ``batch_size`` is the batch that ran: it is taken where no cap is stated.  The
``concurrency`` of clients is the batch cap, unless the server's own stands beside it.
"""

from __future__ import annotations

import re

import polars as pl

from rheostat.measurement.serving.energy_names import plain

_MID = r"((?P<mid>p50|median|mean|avg|average)_)?"
_END = r"(_(?P<end>p50|median|mean|avg|average))?"
_TIME = r"(_(in_)?(?P<unit>s|sec(onds)?|ms|msec|milliseconds|us|microseconds|ns))?"
_ITL = (r"(itl|tpot|tbt|inter_?token_latency|(request_)?time_per_output_token|time_between_tokens|"
        r"per_token_latency|latency_per_(output_)?token|decode_latency_per_token)")  # fmt: skip
_PER_S = r"(_per_s(ec(ond)?)?|_s|ps)"
_TOK = r"tok(en)?s?"
_TPUT = r"(throughput|tput|tps)"
_OUT = r"(output|generated|generation|decode)"
_HOW_MANY = r"(num(ber_of)?_?|n_?|total_)"
_PART = r"(_(size|degree|num|world_size))?"
_DP_ATTENTION = r"dp_(attention|attn)|(attention|attn)_dp"
_SERVERS_CAP = (r"max_((num_)?(concurrent_)?(seqs|sequences)|num_requests|batch(_size)?"
                r"|running_requests|bs)")  # fmt: skip
_CLIENTS = (r"conc(urrency)?|(num_)?concurren(t|cy)(_(requests|users|sessions|clients))?"
            r"|(num_)?(users|clients|vus|streams)|(num_)?(requests_running|running_req(uest)?s)"
            )  # fmt: skip
_UNIT = r"(?P<unit>s|sec(onds)?|ms|msec|milliseconds|us|microseconds|ns)"
THEIRS: dict[str, tuple[str, ...]] = {
    "app": (r"(served_|base_|llm_|hf_)?model(_id|_name|_repo|_path)?", r"model_name_or_path|llm"),
    "gpu_model": (
        r"(gpu|accelerator|hardware|hw|chip|device)(_type|_name|_model|_sku)?", r"hardware_name"),
    "gpus": (
        rf"{_HOW_MANY}(gpus?|accelerators|chips|devices)(_used)?|gpus_used|world_size"
        r"|(gpu|accelerator|device)s?_(count|num(ber)?)|(num|number)_of_hardware",
        r"gpus|accelerators|chips", r"count_dcgm_fi_dev_\w+"),
    "nodes": (rf"({_HOW_MANY})?(nodes|servers|hosts)|node_count",),
    "gpus_per_node": (r"(num_)?(gpu|accelerator|chip)s?_per_(node|server|host)",),
    "tp": (rf"tp{_PART}|tensor_parallel(ism)?{_PART}|decode_tp",),
    "pp": (rf"pp{_PART}|pipeline_parallel(ism)?{_PART}",),
    "ep": (rf"ep{_PART}|expert_parallel(ism)?{_PART}|decode_ep",),
    "dp": (rf"dp{_PART}|data_parallel(ism)?{_PART}|(attn|attention)_(dp|data_parallel)_size",),
    "dp_attention": (rf"(enable_)?({_DP_ATTENTION})(_enabled)?", rf"decode_({_DP_ATTENTION})"),
    "disaggregated": (r"(is_|pd_)?(disagg(regated|regation)?)(_enabled)?",),
    "batch_cap": (_SERVERS_CAP, "max_concurrency", _CLIENTS),
    "concurrency": ("max_concurrency", _CLIENTS),
    "batch_cap_all": (r"(total|global|overall)_(concurrency|batch(_?size)?|requests_at_once)",),
    "batch_cap_each": (
        rf"({_SERVERS_CAP}|batch(_?size)?|conc(urrency)?)_(per_)(replica|copy|instance|dp(_rank)?)",),
    "batch_size": (r"batch(_?size)?|bs",),
    "power_cap_w": (
        r"((gpus?|accelerator|enforced)_)?power_?(cap|limit)(_w(atts)?)?|(gpu_)?(cap|limit)_w(atts)?",),
    "weight_precision": (r"precision|dtype|quant(ization)?|weight_dtype|weights_precision",),
    "prompt_tokens": (
        rf"((mean|avg|average|median|number_of|num|max|random)_)?(isl|(input|prompt)_?"
        rf"({_TOK}|len(gth)?|seq(uence)?_len(gth)?|size)({_END}))(_{_TOK})?",),
    "output_tokens": (
        rf"((mean|avg|average|median|number_of|num|random)_)?(osl|(output|generated|completion)_?"
        rf"({_TOK}|len(gth)?|seq(uence)?_len(gth)?|size|token_limit)({_END}))(_{_TOK})?"
        rf"|max_new_tokens|token_size",),
    "itl_s": (rf"{_MID}{_ITL}{_END}{_TIME}{_END.replace('end', 'last')}",
              rf"{_UNIT}_per_({_OUT}_)?{_TOK}"),
    "ttft_s": (rf"{_MID}(ttft|time_to_first_token){_END}{_TIME}{_END.replace('end', 'last')}",),
    "latency_s": (
        rf"{_MID}((e2e|end_to_end|request)_?(latency|time|el)?|e2el|latency){_END}{_TIME}"
        rf"{_END.replace('end', 'last')}",),
    "duration_s": (
        rf"(total_|benchmark_|run_)?(duration|runtime|elapsed(_time)?|wall_time){_TIME}",),
    "tokens_per_s_user": (
        rf"({_OUT}_)?({_TOK}{_PER_S}|{_TPUT}|{_TOK}_{_TPUT})_(per_)?user(_{_TOK}{_PER_S}(_user)?)?"
        rf"|request_{_OUT}_{_TPUT}_{_TOK}{_PER_S}_mean|per_user_{_OUT}_({_TPUT}|speed)(_tps(_per_user)?)?"
        rf"|{_MID}(interactivity|intvty)(_{_TOK}{_PER_S}(_user)?)?",),
    "tokens_per_s_gpu": (
        rf"{_OUT}_({_TOK}_)?({_TPUT}|{_TOK}{_PER_S})_(per_)?gpu(_{_TOK}{_PER_S}(_(per_)?gpu)?)?"
        rf"|per_gpu_{_OUT}_{_TPUT}(_tps(_per_gpu)?)?",
        rf"({_TPUT}_)?{_TOK}{_PER_S}_(per_)?gpu"),
    "tokens_per_s_all_gpu": (
        rf"(total_)?({_TOK}_)?{_TPUT}_(per_)?gpu(_{_TOK}{_PER_S}(_(per_)?gpu)?)?",),
    "tokens_per_s": (
        rf"({_OUT}_)({_TPUT}_)?{_TOK}(_{_TPUT})?{_PER_S}|(mean_)?{_OUT}_({_TOK}_)?{_TPUT}(_{_TOK})?"
        rf"({_PER_S})?(_{_TOK}{_PER_S})?",
        rf"({_TPUT}_)?{_TOK}(_{_TPUT})?{_PER_S}|{_TOK}_{_TPUT}(_{_TOK}{_PER_S})?"
        rf"|rate_(generation|generated)_{_TOK}(_total)?(_\d+[smh])?"),
    "tokens_per_s_all": (
        rf"total_({_TOK}_)?{_TPUT}(_{_TOK}{_PER_S})?|total_{_TOK}(_{_TPUT})?{_PER_S}",),
    "requests_per_s": (
        rf"(request_{_TPUT}|req(uest)?s?{_PER_S}|rps|qps)(_req(uest)?s?{_PER_S})?",),
    "completed": (
        r"(num_)?completed(_requests)?|successful_requests|num_(requests|prompts)|request_count",),
    "total_output_tokens": (rf"total_(output|generated)_{_TOK}",),
    "total_prompt_tokens": (rf"total_(input|prompt)_{_TOK}",),
    "power_w_all": (
        r"(total|deployment|all_gpus)_(avg_|mean_|average_)?(gpus?_)?(watts?|power(_usage|_draw)?"
        r"(_w(atts)?)?)",
        r"(avg_|mean_|average_)?(gpus?_)?(w|watts?|(dcgm_fi_dev_)?power(_usage|_draw)?)"
        r"(_w(atts)?)?_(total|sum|all(_gpus)?|deployment)(_w(atts)?)?",
        r"sum_dcgm_fi_dev_power_usage"),
    "power_w": (
        r"(avg_|mean_|average_)?(gpus?_|dcgm_fi_dev_)?(watts?|power(_usage|_draw)?"
        r"(_(avg|mean|average))?(_w(atts)?)?)(_(avg|mean|average))?"
        r"|(avg_|mean_|average_)?gpus?_w",
        r"((avg|mean|average)_)?w"),
    "power_kw": (r"(total_)?(avg_|mean_|average_)?(gpus?_)?(kw|power(_usage|_draw)?_kw)",),
    "power_w_node": (
        r"(avg_|mean_|average_)?((node|server)_(watts?|power(_w(atts)?)?)"
        r"|(watts?|power(_w(atts)?)?)_per_(node|server)(_w)?)",),
    "power_w_gpu": (
        r"(measured_)?(avg_|mean_|average_)?(watts?|w|power(_w(atts)?)?)_per_(gpu|accelerator|chip)"
        r"(_w)?",),
}  # fmt: skip
"""Patterns of headings by our name, the surest first."""
TIMES = ("itl_s", "ttft_s", "latency_s", "duration_s")
SECONDS = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "msec": 1e-3, "milliseconds": 1e-3,
           "us": 1e-6, "microseconds": 1e-6, "ns": 1e-9}  # fmt: skip
COUNTED_GPUS = r"^\s*\d+\s*[xX\u00d7]\s*[A-Z]+\d"
"""``2xA100``: how many GPUs of what type."""
BARE = "_bare"
"""End of the name of a time whose unit is not said."""


def in_our_names(frame: pl.DataFrame) -> pl.DataFrame:
    """A table with our names in place of others'; a column that has one of ours stands.

    Parameters
    ----------
    frame : DataFrame
        As it was read.

    Returns
    -------
    DataFrame
        Times in seconds, where their unit is said: others end in `BARE`.

    Examples
    --------
    >>> theirs = pl.DataFrame({"GPU": ["H100"], "num_gpus": [2], "itl_ms": [9.0], "watts": [600]})
    >>> in_our_names(theirs).to_dicts()
    [{'gpu_model': 'H100', 'gpus': 2, 'itl_s': 0.009000000000000001, 'power_w': 600}]
    """
    frame = _gpus_by_cells(frame)
    matches = _matches([c for c in frame.columns if not len(frame) or frame[c].count()])
    cap = next((t for t, o, _ in matches if o == "batch_cap"), "concurrency")
    if cap != "concurrency" and not _servers_cap(matches):  # SGLang states how many ran beside it
        frame = frame.rename({"concurrency": "mean_concurrency"}, strict=False)
    for theirs, ours, unit in matches:
        said = _seconds_of_cells(frame[theirs]) if ours.removesuffix(BARE) in TIMES else None
        if said is not None:
            frame = frame.with_columns(said).rename({theirs: ours.removesuffix(BARE)})
        elif unit is None:
            frame = frame.rename({theirs: ours})
        else:
            number = pl.col(theirs).cast(pl.Float64, strict=False) * SECONDS[unit]
            same = unit == "s" and frame[theirs].dtype.is_numeric()
            named = pl.col(theirs) if same else number
            frame = frame.with_columns(named.alias(theirs)).rename({theirs: ours})
    if "weight_precision" in frame.columns:  # an engine that was told nothing says auto
        stated = pl.col("weight_precision").cast(pl.String)
        frame = frame.with_columns(pl.when(stated.str.to_lowercase() != "auto").then(stated))
    return frame


def _gpus_by_cells(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with ``gpu_model``, where one column alone has cells as ``2xA100``.

    >>> _gpus_by_cells(pl.DataFrame({"setup": ["2xA100", "4 x H100 SXM"]})).columns
    ['gpu_model']
    """
    if any(ours == "gpu_model" for _, ours, _ in _matches(frame.columns)) or "gpu_model" in frame:
        return frame
    counted = [c for c in frame.columns if frame[c].dtype == pl.String and frame[c].count()
               and frame[c].drop_nulls().str.contains(COUNTED_GPUS).all()]  # fmt: skip
    return frame.rename({counted[0]: "gpu_model"}) if len(counted) == 1 else frame


def our_name(heading: str) -> str:
    """Our name of a column in a serving table, the heading itself where it has none.

    >>> our_name("num_gpus"), our_name("max_num_seqs"), our_name("colour")
    ('gpus', 'batch_cap', 'colour')
    """
    return next((ours for _, ours, _ in _matches([heading])), heading)


def _seconds_of_cells(cells: pl.Series) -> pl.Series | None:
    """Seconds, where every cell with a number says its unit; OOM and the like are null.

    >>> _seconds_of_cells(pl.Series(["25.10 ms", "OOM", "1.2s"])).to_list()
    [0.0251, None, 1.2]
    >>> _seconds_of_cells(pl.Series(["25.10 ms", "24"]))
    """
    if cells.dtype != pl.String:
        return None
    parts = cells.str.extract_groups(
        rf"(?i)^\s*(?P<number>[\d.]+)\s*(?P<unit>{'|'.join(SECONDS)})\s*$"
    ).struct.unnest()
    numbers = parts["number"].cast(pl.Float64, strict=False)
    unread = numbers.is_null() & cells.str.contains(r"\d").fill_null(value=False)
    if unread.any() or not numbers.count():
        return None
    scale = parts["unit"].str.to_lowercase().replace_strict(SECONDS, return_dtype=pl.Float64)
    return (numbers * scale).alias(cells.name)


def _matches(columns: list[str]) -> list[tuple[str, str, str | None]]:
    """Their heading, our name, and the unit of a time, for each of ours that is there."""
    made: list[tuple[str, str, str | None]] = []
    taken = set(columns)
    for ours, patterns in THEIRS.items():
        if ours in taken or (ours == "concurrency" and not _servers_cap(made)):
            continue
        some = [
            (rank, c, m)
            for rank, pattern in enumerate(patterns)
            for c in columns
            if c not in {t for t, _, _ in made} and (m := re.fullmatch(pattern, _bare(c)))
        ]
        if not some:
            continue
        _, theirs, match = min(some, key=lambda s: (s[0], _middle(s[2])))
        unit = match.groupdict().get("unit") if ours in TIMES else None
        if ours in TIMES and unit is None:
            made.append((theirs, ours + BARE, None))
        else:
            made.append((theirs, ours, unit))
    return [m for m in made if m[0] != m[1]]


def _servers_cap(made: list[tuple[str, str, str | None]]) -> bool:
    """Whether the batch cap is what the server was started with."""
    return any(o == "batch_cap" and re.fullmatch(_SERVERS_CAP, _bare(t)) for t, o, _ in made)


def sent_by_clients(columns: list[str]) -> str:
    """The heading that stands for the batch cap and is of clients, who know of no copies; or "".

    >>> sent_by_clients(["conc", "dp"]), sent_by_clients(["conc", "max_num_seqs"])
    ('conc', '')
    """
    clients = rf"max_concurrency|{_CLIENTS}"
    return next((t for t, o, _ in _matches(columns)
                 if o == "batch_cap" and re.fullmatch(clients, _bare(t))), "")  # fmt: skip


def known_headings(columns: list[str]) -> dict[str, str]:
    """Our name to theirs, where it is not ours already.

    >>> known_headings(["num_gpus", "tp", "colour"])
    {'gpus': 'num_gpus'}
    """
    return {ours: theirs for theirs, ours, _ in _matches(columns)}


def _bare(heading: str) -> str:
    """The heading without LLMPerf's results and quantiles, nor the names of engines' metrics.

    >>> _bare("results_ttft_s_quantiles_p50"), _bare("Result (Tokens/s)")
    ('ttft_s_p50', 'tokens_per_s')
    >>> _bare("rate(vllm:generation_tokens_total[5m])"), _bare("sglang:num_running_reqs")
    ('rate_generation_tokens_total_5m', 'num_running_reqs')
    """
    named = re.sub(r"\b(vllm|sglang):", "", heading)
    return re.sub(r"^results?_", "", plain(named)).replace("_quantiles_", "_")


def _middle(match: re.Match[str]) -> int:
    """Medians before means before what does not say."""
    parts = match.groupdict()
    said = {parts.get(k) for k in ("mid", "end", "last")}
    return 0 if said & {"p50", "median"} else 1 if said & {"mean", "avg", "average"} else 2


def our_names(columns: set[str]) -> set[str]:
    """Our names of what a table's columns are called.

    Parameters
    ----------
    columns : set of str
        Theirs.

    Returns
    -------
    set of str
        Ours, where they are known, and theirs.
    """
    empty = pl.DataFrame(schema=dict.fromkeys(sorted(columns), pl.String))
    return set(in_our_names(empty).columns)
