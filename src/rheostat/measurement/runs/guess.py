"""What a column of an unknown table probably is, from its name: quantity, unit, moment.

People write the unit at the end of the name (``wall_s``, ``core_freq_GHz``, ``energy_kWh``).  A
guess is a guess: every one is noted by the reader, and a mapping overrides it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from rheostat.core.jobs import Column, Moment, Note
from rheostat.core.vocabulary import VOCABULARY
from rheostat.measurement.counters.rates import COUNTERS
from rheostat.measurement.runs import languages
from rheostat.measurement.runs.header_units import TIMED, either_prefix, split_unit
from rheostat.measurement.runs.setting_words import SETTING

_ASKED = r"req(uest(ed)?)?_?"
_MEAN = r"(_(mean|avg|average))?"
# our name: patterns of theirs without the unit suffix, best first
NAMES: tuple[tuple[str, str], ...] = (
    ("runtime_s", r"(((ru|job)_)?wall(_?time|_?clock(_time)?)?|elapsed(_?time|_?raw)?|duration"
                  r"|(train(ing)?_|total_|job_|app_|solve_)?run_?time"
                  r"|(job|run|exec(ution)?|actual|true)_?(duration|length|run_?time)"
                  r"|(running|processing|service|actual|used)_?time|time_?(used|taken|spent|elapsed)"
                  r"|elapsed_wall_clock_time|walltime_sec|(resources_used_)?walltime(_used)?|used_(wall_?)?time)"
                  rf"{_MEAN}"),
    ("runtime_s", r"(exec(ution)?_?|total_?|solve_?|real_?|train(ing)?_?)?time" rf"{_MEAN}|makespan"
                  r"|time_(per_(epoch|step|iter(ation)?|run)|to_solution)|sec(ond)?s"),
    ("cap_w", r"(\w+_)?(power_?)?p?cap|(\w+_)?power_?limit|cap_per_gpu"),
    ("power_w", r"(total_|average_|avg_|mean_)?power(_total|_draw|_consumption)?"
                rf"{_MEAN}|watts"),
    ("energy_j", r"(total_|consumed_?|average_|avg_|mean_)?energy"
                 r"(_total|_used|_consumed|_consumption|_to_solution|_?raw)?"
                 rf"{_MEAN}|joules|ets"),
    ("power_per_node_w",
     r"(average_|avg_|mean_)?(node_power|power_per_(node|host|server))(_mean|_avg)?"),
    ("nodes_alloc", r"(num_)?nodes?_(alloc|allocated|used)|alloc_?nodes"),
    ("gpus_alloc", r"(num_)?gpus?_(alloc|allocated|used)|alloc_?gpus"),
    ("cores_alloc", r"(num_)?(cores?|cpus?)_(alloc|allocated|used)|alloc_?cpus"),
    ("nodes", rf"(num_?|n_?|{_ASKED})?nodes?(_req|_num|_count)?|nnodes|(num_?|n_?|nexec_)?hosts?"
              r"|resource_list_(nodect|nodes)|number_of_((utili[sz]ed|used|allocated)_)?nodes"),
    ("gpus", rf"(num_?|n_?|{_ASKED})?gpus?(_req|_num|_count)?|ngpus|resource_list_ngpus"
             r"|num(ber)?_of_(gpus|accelerators)|(num_?|n_?)?accelerators"),
    ("cores", rf"(num_?|n_?|{_ASKED})?(cores?|cpus?|slots?)(_req|_num)?"
              rf"|({_ASKED})?proc(essor)?s(_req)?|processes|ranks|resource_list_(ncpus|procs)"),
    ("memory_alloc_b", r"alloc_?mem(ory)?|mem(ory)?_alloc(ated)?"),
    ("memory_b", r"(req(uest(ed)?)?_?|resource_list_)?(mem(ory)?|ram)"
                 r"(_?(req(uest(ed)?)?|asked|limit))?|speicher(bedarf)?|m[eé]moire|memoria"),
    ("threads", r"(threads?|num_?threads|n_?threads|omp_num_threads)"),
    ("frequency_hz", r"(core_|cpu_|sm_)?(freq|frequency|clock)(_target)?|sm_target"),
    ("batch_size", r"(batch|batch_?size|bs)"),
    ("app", r"(app|application|job_?name|name|bench|benchmark|workload|code|kernel|program)"),
    ("wait_s", r"(wait|wait(ing)?_time|queue(d|ing)?_time|queue_wait)"),
    ("job_id", r"(job|(local_)?job_?id|run_?id|jobid|job_?id_?raw|job_?number)"),
    ("user", r"(user|user_?id|user_?name|owner)|username_genid"),
    ("account", r"(account|account_name|project)"),
    ("partition", r"(partition|queue|queue_?name|qname)"), ("qos", r"(qos)"),
    ("submit_s", r"(submit|(t_|time_)?submit(_?time)?(_at|_ts|_timestamp)?|submission(_?time)?|"
                 r"submitted(_at)?|qtime|qsub_time|(queued|created)_(at|timestamp))"),
    ("start_s", r"(t_|time_)?start(ing)?(_?time)?(_at|_ts|_timestamp)?|started(_at)?|t_run|"
                r"begin(_?time)?"),
    ("end_s", r"(t_|time_)?end(_?time)?(_at|_ts|_timestamp)?|ended(_at)?|(time_)?finish(_?time)?|"
              r"finished(_at)?|t_cleanup"),
    ("time_limit_s", r"(time|wall)_?limit|(wall_?(time|clock)(_time)?|time|run_?time)"
                     r"_(req(uest(ed)?)?|asked|limit|estimate)|resource_list_walltime|h_rt"
                     r"|(req(uest(ed)?)?|asked|max|estimated)_?"
                     r"(wall_?(time|clock)(_time)?|time|run_?time)"),
    ("state", r"(stat|((final|end|completion|job|run)_)?(state|status|outcome)"
              r"|zustand|[eé]tat|estado|stato|toestand)"),
    ("exit_code", r"exit|rc|(exit|return)_?(code|status|value)"),
)  # fmt: skip

SYMBOLS = {("E", "_j"): "energy_j", ("P", "_w"): "power_w"}
"""Letters that stand for a quantity where the unit is that of one: ``E [kJ]``."""
NET = re.compile(
    r"(^|_)(net|dynamic|(above|over|minus|less|without|no|excl(uding)?)_idle|"
    r"idle_(subtracted|removed|corrected|free))(_|$)"
)
"""Words of power or energy from which the power at idle was taken off."""
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
NAMED = {**{n: c for n, c in COUNTERS.items() if n != "run_id"}, **VOCABULARY}
"""Columns taken under the name they have; a ``run_id`` is one only where intervals are rows."""
RESULT = re.compile(
    r"mean|avg|average|std|min|max|temp|util|throttle|iter|sample|flop|energy|power|runtime|time|"
    r"elapsed|status|state|exit|cpi|clock|volume|vol|bw|band|rate|per_s$|score|fom|result|consistent|valid|warn|metric|epoch"
)

DRAWS = ("gpu", "cpu", "pkg", "package", "rapl", "node", "board", "system", "total", "avg", "mean")
"""What a column in watts or joules may be named after without the word power or energy."""
MEMORY_PART = re.compile(r"(d?ram|mem(ory)?)(\d*)(_(power|energy))?")
"""What memory draws comes on top of what the processor does: one of the two is not all."""
WHOLE = re.compile(
    r"(node|total|system|platform|server|chassis|wall|plug|whole|psu|ac|dc)(?![a-z])"
)
"""Beginnings of names of what a whole machine took."""
ASIDE = re.compile(
    r"(?<![a-z])(std|(min|max)(?!i(?!m[au]))|limit|cap|idle|wait|submit|start|end)"
    r"|(std|min|max|limit|cap|idle|wait|submit|start|end)(?![a-z])|per_"
)
"""Words of names that are of a part, a bound or a moment; ``miniFE`` and ``render`` hold none."""
TIMES_PARTS = re.compile(
    r"(?:(?:total|used|consumed|charged|billed)[ _-]?)?(gpu|node|core|cpu|processor)s?[ _*-]?"
    r"(h|hrs?|hours?|seconds)", re.IGNORECASE)  # fmt: skip
"""``GPU-hours``: a time by how many were held, which is no run time."""
A_SECOND = re.compile(r"[a-z]s ?/ ?(s|sec|min|h)[)\]]?$", re.IGNORECASE)
"""``timesteps/s``: many of something in a second, where ``time/s`` is a time in seconds."""
EXTREME = re.compile(r"(^|_)(min|max|std(dev)?|sd|p\d\d)(_|$)", re.IGNORECASE)
"""Beside these a mean or a median is the run time."""
NO_RUN = re.compile(
    r"std|min|max|per_|limit|cap|idle|wait|submit|start|end|stamp|setup|init|warm|delay|offset|span"
    r"|period|interval|lag|ttft|itl|tpot|token"
)
"""Times of something else than a run."""


@dataclass(frozen=True)
class Guess:
    """Ours for one of theirs: name, factor to our unit, unit, moment, whether theirs are dates."""

    name: str
    source: str
    scale: float = 1.0
    unit: str = ""
    known: Moment = Moment.SUBMIT
    dates: bool = False


def guess_name(source: str) -> str | None:
    """Our vocabulary's name for theirs, or None.

    >>> guess_name("Wall time (s)"), guess_name("core_GHz"), guess_name("Avg. power [W]")
    ('runtime_s', 'core_hz', 'power_w')
    >>> guess_name("Walltime requested"), guess_name("req_time"), guess_name("nodeCount")
    ('time_limit_s', 'time_limit_s', 'nodes')
    >>> guess_name("limit_h"), guess_name("reqtime"), guess_name("limit")
    ('time_limit_s', 'time_limit_s', None)
    >>> guess_name("requestedCores"), guess_name("runtime_s_mean"), guess_name("runtime_s_std")
    ('cores', 'runtime_s', None)
    >>> guess_name("total(s)"), guess_name("total")
    ('runtime_s', None)
    """
    if source in NAMED:
        return source
    if "%" in source:
        return None  # a share of something that nothing says
    stem, suffix, _, _ = split_unit(source)
    for ours, alone in TIMED if suffix == "_s" else ():
        if alone.fullmatch(stem):
            return ours
    plain = SYMBOLS.get((stem, suffix), (stem + suffix).lower())
    if (plain in COUNTERS and plain in NAMED) or (suffix and plain in VOCABULARY):
        return plain
    for said in dict.fromkeys((stem, CAMEL.sub("_", stem))):
        words = re.sub(r"[\W_]+", "_", said.lower().replace("#", "num_")).strip("_")
        for ours, pattern in (*NAMES, *languages.NAMES):
            if re.fullmatch(pattern, words) and (not suffix or ours.endswith(suffix)):
                return ours
    return None


def without_idle(columns: Sequence[Column]) -> list[Note]:
    """A note on power and energy of which the file's heading says that idle power is not in it.

    >>> from rheostat.core.jobs import Moment
    >>> without_idle([Column("power_w", "W", Moment.END, "from net_power_w")])[0].message[:40]
    'power_w (net_power_w) is without the pow'
    """
    net = [c for c in columns if c.name in ("power_w", "energy_j") and NET.search(_words(c))]
    return [
        Note(
            f"{c.name} ({c.meaning.removeprefix('from ')}) is without the power at idle, which a "
            "node draws for as long as it runs: slower settings look thriftier than they are; add "
            "the idle power to it where it is known"
        )
        for c in net
    ]


def _words(column: Column) -> str:
    return re.sub(r"[\W_]+", "_", column.meaning.lower())


def device_caps(columns: Sequence[str]) -> dict[str, str]:
    """The columns of a CPU cap and a GPU cap where a table has both; one alone is the cap.

    A cap of each GPU stays one where the number of GPUs stands beside it.

    >>> device_caps(["app", "CPU Cap (W)", "GPU Cap (W)"])
    {'cpu_cap_w': 'CPU Cap (W)', 'gpu_cap_w': 'GPU Cap (W)'}
    >>> device_caps(["app", "gpu_power_limit_w"])
    {}
    >>> device_caps(["app", "gpu_power_limit_w", "num_gpus"])
    {'gpu_cap_w': 'gpu_power_limit_w'}
    """
    caps: dict[str, str] = {}
    for ours, device in (("cpu_cap_w", "cpu|pkg|package|socket"), ("gpu_cap_w", "gpu")):
        pattern = rf"({device})_(power_)?(cap|limit)"
        for c in columns:
            stem, suffix, _, _ = split_unit(c)
            if suffix in ("", "_w") and re.fullmatch(pattern, re.sub(r"[ _]+", "_", stem.lower())):
                caps.setdefault(ours, c)
    counted = "gpu_cap_w" in caps and any(guess_name(c) == "gpus" for c in columns)
    return caps if len(caps) == 2 or counted else {}


def interval_names(columns: Sequence[str]) -> dict[str, str]:
    """``run_id`` under its own name where rows are intervals of a run, else nothing.

    >>> interval_names(["run_id", "span_s"]), interval_names(["run_id", "runtime_s"])
    ({'run_id': 'run_id'}, {})
    """
    return {"run_id": "run_id"} if {"run_id", "span_s"} <= set(columns) else {}


def no_unit(column: str, values: pl.Series) -> bool:
    """Whether neither name nor size tells the unit of memory: a job asks for a megabyte or more."""
    middle = values.median()
    return not split_unit(column)[2] and not (isinstance(middle, float) and middle >= 2**20)


def unclear_units(frame: pl.DataFrame) -> list[Note]:
    """A note for each column whose unit could be one of two, or any.

    >>> unclear_units(pl.DataFrame({"power_mw": [3.5]}))[0].message
    'power_mw: mW or MW? write which in its name, as power_mW'
    """
    notes = []
    for c in (c for c in frame.columns if frame[c].dtype.is_numeric()):
        if unit := either_prefix(c):
            said = f"{unit[0]}{unit[1:].capitalize()}", f"M{unit[1:].capitalize()}"
            named = f"{c[: -len(unit)]}{said[0]}"
            notes.append(Note(f"{c}: {' or '.join(said)}? write which in its name, as {named}"))
        elif guess_name(c) == "memory_b" != c and no_unit(c, frame[c]):
            notes.append(Note(f"{c}: of what unit? write it in its name, as {c}_GiB"))
    return notes


def lone_quantity(ours: str, columns: Sequence[str]) -> str | None:
    """The one column that must be ``ours`` because no other measures it: ``gpu_power_W`` alone.

    >>> lone_quantity("power_w", ["app", "gpu_power_W"])
    'gpu_power_W'
    >>> lone_quantity("power_w", ["ttft_ms", "gpu_w"])
    'gpu_w'
    >>> lone_quantity("power_w", ["cpu_power_W", "gpu_power_W"])
    >>> lone_quantity("power_w", ["pkg_W", "dram_W"])
    >>> lone_quantity("runtime_s", ["model", "step_ms"])
    'step_ms'
    >>> lone_quantity("runtime_s", ["model", "timesteps/s"])
    """
    fit, suffix = may_be(ours, columns), ours[-2:]
    parts = [c for c in columns if split_unit(c)[1] == suffix != "_s"
             and MEMORY_PART.fullmatch(split_unit(c)[0].lower())]  # fmt: skip
    return fit[0] if len(fit) == 1 and not set(parts) - set(fit) else None


def may_be(ours: str, columns: Sequence[str]) -> list[str]:
    """Columns that measure what ``ours`` does, by a word and a unit in their names.

    >>> may_be("runtime_s", ["miniFE time (s)", "HPCG time (s)", "min_time_s", "endTime_s"])
    ['miniFE time (s)', 'HPCG time (s)']
    """
    word = {"runtime_s": "time|step|iter|latency", "power_w": "power", "energy_j": "energy"}[ours]
    return [
        c
        for c in columns
        if (re.search(word, c.lower()) or _draws(split_unit(c)[0].lower()))
        and c not in COUNTERS
        and split_unit(c)[1] == ours[-2:]
        and not (TIMES_PARTS.fullmatch(c) or A_SECOND.search(c))
        and not ASIDE.search(CAMEL.sub("_", split_unit(c)[0]).lower())
    ]


def _draws(stem: str) -> bool:
    """Whether a name is that of something that draws power, or of several together.

    >>> _draws("gpu"), _draws("package_and_dram"), _draws("dram"), _draws("strong_and_weak")
    (True, True, False, False)
    """
    parts = re.split(r"[ _]*(?:\+|&|_and_|_plus_| and | plus )[ _]*", stem)
    other = [p for p in parts if p not in DRAWS]
    return len(other) < len(parts) and all(map(MEMORY_PART.fullmatch, other))


def whole_quantity(ours: str, frame: pl.DataFrame) -> str | None:
    """The one column of a whole machine beside those of its parts, which it is never less than.

    >>> parts = {"cpu_J": [2.0, 3.0], "gpu_J": [11.0, 9.0], "node_J": [18.0, 16.0]}
    >>> whole_quantity("energy_j", pl.DataFrame(parts))
    'node_J'
    >>> whole_quantity("energy_j", pl.DataFrame({**parts, "node_J": [12.0, 16.0]}))
    """
    suffix = ours[-2:]
    every = [c for c in frame.columns if split_unit(c)[1] == suffix and frame[c].dtype.is_numeric()]
    named = [c for c in every if WHOLE.match(c.lower())]
    parts = [c for c in every if c not in named and not NO_RUN.search(c.lower())]
    if ours == "runtime_s" or len(named) != 1 or not parts:
        return None
    amounts = {c: frame[c] * split_unit(c)[3] for c in (*named, *parts)}
    whole = amounts[named[0]]
    beyond = (whole >= pl.DataFrame({c: amounts[c] for c in parts}).sum_horizontal()).all()
    return named[0] if beyond and not _of_one_node(frame, whole, ours) else None


def _of_one_node(frame: pl.DataFrame, amount: pl.Series, ours: str) -> bool:
    """Whether watts may be those of one of many nodes: they do not grow with the nodes."""
    of = {guess_name(c): frame[c] for c in frame.columns if frame[c].dtype.is_numeric()}
    nodes = of.get("nodes")
    if nodes is None or nodes.n_unique() < 2:
        return nodes is not None and nodes.max() != 1
    time = of.get("runtime_s")
    if ours == "energy_j" and time is None:
        return True
    watts = (amount / time if ours == "energy_j" and time is not None else amount).to_numpy()
    count = nodes.to_numpy()
    return not watts[count == count.max()].mean() > 1.5 * watts[count == count.min()].mean()


def lone_time(frame: pl.DataFrame) -> str | None:
    """The one column of seconds that was measured beside energy or power, as ``solve_s``.

    >>> lone_time(pl.DataFrame({"solve_s": [1.6, 2.7], "energy_J": [519.65, 836.13]}))
    'solve_s'
    >>> lone_time(pl.DataFrame({"epoch time (min)": [1.6], "energy per epoch (J)": [519.65]}))
    'epoch time (min)'
    >>> lone_time(pl.DataFrame({"t_min_s": [1.5], "t_median_s": [1.6], "energy_J": [519.65]}))
    't_median_s'
    >>> lone_time(pl.DataFrame({"solve_s": [1.6], "setup_s": [0.2], "energy_J": [519.65]}))
    """
    named = {guess_name(c) for c in frame.columns}
    joules = any(split_unit(c)[1] == "_j" for c in frame.columns)
    if not (joules or named & {"power_w", "power_per_node_w"}) or {"start_s", "end_s"} <= named:
        return None
    fit = [
        c for c in frame.columns
        if split_unit(c)[1] == "_s" and guess_name(c) is None and frame[c].dtype.is_numeric()
        and not (TIMES_PARTS.fullmatch(c) or A_SECOND.search(c) or EXTREME.search(split_unit(c)[0]))
        and guess_known(c, frame[c]) is Moment.END
    ]  # fmt: skip
    return fit[0] if len(fit) == 1 and not NO_RUN.search(split_unit(fit[0])[0].lower()) else None


def guess_known(source: str, values: pl.Series) -> Moment:
    """SUBMIT for settings, END for what looks measured; in doubt END, which cannot leak.

    Text and whole numbers that repeat are settings, unless the name says measurement.
    """
    if RESULT.search(source.lower()):
        return Moment.END
    if values.dtype == pl.String:
        return Moment.SUBMIT
    whole = values.dtype.is_integer() or (
        values.dtype.is_float() and (values.drop_nulls() % 1 == 0).all()
    )
    repeats = values.n_unique() <= max(1, values.len() // 2)
    repeats = repeats or SETTING.search(re.sub(r"[\W_]+", "_", source.lower())) is not None
    if values.dtype.is_float() and values.len() > 1 and values.n_unique() == 1:
        return Moment.SUBMIT  # no meter reads the same twice
    return Moment.SUBMIT if whole and repeats else Moment.END
