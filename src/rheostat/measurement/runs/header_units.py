"""The unit that the name of a column ends with: ``wall_s``, ``Power [kW]``, ``memory in GiB``.

Units are made of a base and a prefix, as people write them; the capital tells milli from mega, and
where it could be either (``power_mw``) there is no unit: whoever wrote it has to say which.
"""

from __future__ import annotations

import re

from rheostat.core.units import BINARY
from rheostat.measurement.runs.languages import UNITS_S

PREFIXES = {"u": 1e-6, "µ": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
PREFIX_WORDS = {
    "nano": 1e-9,
    "micro": 1e-6,
    "milli": 1e-3,
    "": 1.0,
    "kilo": 1e3,
    "mega": 1e6,
    "giga": 1e9,
}
SHORT = {"W": ("W", 1.0), "J": ("J", 1.0), "Wh": ("J", 3600.0), "Hz": ("Hz", 1.0)}
LONG = {"watt": ("W", 1.0), "joule": ("J", 1.0), "watthour": ("J", 3600.0), "hertz": ("Hz", 1.0),
        "byte": ("B", 1.0), "second": ("s", 1.0)}  # fmt: skip
TIMES_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "secs": 1.0,
           "min": 60.0, "mins": 60.0, "minutes": 60.0, "h": 3600.0, "hr": 3600.0, "hrs": 3600.0,
           "hours": 3600.0, "days": 86400.0}  # fmt: skip
IN_BRACKETS = {"B": ("B", 1.0), "d": ("s", 86400.0), "day": ("s", 86400.0), "hour": ("s", 3600.0),
               "minute": ("s", 60.0), "second": ("s", 1.0),
               **{word: ("s", factor) for word, factor in UNITS_S.items()}}  # fmt: skip
"""What says no unit as the last word of a name: ``params_b``, ``submit_hour``."""


def _cased() -> dict[str, tuple[str, float]]:
    """Unit and factor of each spelling, in the case that it is written in."""
    made = {p + u: (base, f * x) for u, (base, f) in SHORT.items() for p, x in PREFIXES.items()}
    made |= {f"{p}B": ("B", x) for p, x in BINARY.items()}
    made |= {f"{p}B": ("B", x) for p, x in PREFIXES.items() if x > 1}
    made |= {n: ("s", f) for n, f in TIMES_S.items()}
    words = {p + u: (base, f * x) for u, (base, f) in LONG.items() for p, x in PREFIX_WORDS.items()}
    made |= {w + end: unit for w, unit in words.items() for end in ("", "s")}
    made |= {f"{p}second": ("s", x) for p, x in (("n", 1e-9), ("u", 1e-6), ("m", 1e-3))}
    return {n: unit for n, unit in made.items() if n not in {"mHz", "uHz", *IN_BRACKETS}}


def _capitals() -> list[str]:
    """What may end a name without a separator, as in ``ReqMemMB`` and ``wallSeconds``."""
    words = [n.title() for n in CASED if n.islower() and len(n) > 2]
    return [*words, *(n for n in CASED if len(n) > 1 and not n.islower())]


CASED = _cased()
LOWER = {n.lower(): unit for n, unit in CASED.items()}
ALONE = {"h:m:s": "runtime_s", "hh:mm:ss": "runtime_s", "minutes": "runtime_min",
         "mins": "runtime_min", "hours": "runtime_h", "kwh": "energy_kWh", "wh": "energy_Wh",
         "kj": "energy_kJ", "kw": "power_kW"}  # fmt: skip
"""Headings that are a unit alone."""
EITHER = frozenset({"mw", "mj", "mwh"})
"""Small letters that may be milli or mega: ``mw``, ``mj``, ``mwh``."""
CLOCK = re.compile(r"[ _]*[(\[]\s*(h{1,2}:)?m{1,2}:s{1,2}(\s+or\s+[hms:]+)?\s*[)\]]$",
                   re.IGNORECASE)  # fmt: skip
BRACKETS = re.compile(r"(.+?)[ _]*[(\[]\s*(\w+)\s*[)\]]")
BEHIND = re.compile(r"((?:\w*[a-z_])?[Ee]nergy|(?:\w*[a-z_])?[Pp]ower)([JW])")
"""``EnergyJ``: one capital behind a word."""
AGGREGATED = re.compile(r"(.+)[ _.](mean|avg|average|std|min|max|count)", re.IGNORECASE)
"""Names that pandas gives to what it aggregates; the unit stands before."""
SAID = re.compile(r"(.+?)(?:[ _]in[ _]|\s*/\s*)(\w+)")
ENDED = re.compile(r"(.+)([ _.])([^\W_]+)")
JOINED = re.compile(rf"(.*?[a-z0-9])({'|'.join(_capitals())})")
TIMES = re.compile(
    r"wall|time|elapsed|duration|limit|wait|zeit|dur[eé]e|dura[cçt]|tempo|tiempo|czas|時間"
)
TIMED = (
    ("runtime_s", re.compile(
        r"total|real|((job|actual)_?)?(run|ran|exec(ut(ed|ion))?)(_?(for|length))?|actual|took"
        r"|running|service|wall_?used", re.IGNORECASE)),
    ("time_limit_s", re.compile(
        r"((job|queue|user|max)_?)?(limit|est(imated?)?)|req(uest(ed)?)?|asked|booked"
        r"|max_?(wall|run)|wall_?(req(uest(ed)?)?|asked|max)", re.IGNORECASE)),
    ("wait_s", re.compile(
        r"queued?|pending|waited|waiting|time_in_queue|queue(ing)?_?time", re.IGNORECASE)),
)  # fmt: skip
"""Names that need a unit of time behind them, and what they mean: ``total(s)``, ``run_min``."""
AMOUNTS = re.compile(rf"power|energy|consum|freq|clock|cap|mem|{TIMES.pattern}", re.IGNORECASE)


def split_unit(name: str, *, timed: bool = False) -> tuple[str, str, str, float]:
    """(stem, our suffix, unit, factor) of a column name; the factor is 1 without a known unit.

    ``min`` is a minimum where the name does not speak of time, unless the column is ``timed``.

    >>> split_unit("core_freq_GHz"), split_unit("wall_s"), split_unit("nodes")
    (('core_freq', '_hz', 'Hz', 1000000000.0), ('wall', '_s', 's', 1.0), ('nodes', '', '', 1.0))
    >>> split_unit("energy_MJ"), split_unit("Wall clock [hh:mm:ss]")
    (('energy', '_j', 'J', 1000000.0), ('Wall clock', '_s', 's', 1.0))
    >>> split_unit("memory in GiB")[2:], split_unit("ReqMemMB"), split_unit("power_mw")[1:]
    (('B', 1073741824.0), ('ReqMem', '_b', 'B', 1000000.0), ('', '', 1.0))
    >>> split_unit("runtime_ms_mean"), split_unit("runtime_s_count")[1]
    (('runtime_mean', '_s', 's', 0.001), '')
    >>> split_unit("branches_per_s"), split_unit("bw_gb_s")[1:]
    (('branches_per_s', '', '1/s', 1.0), ('', '', 1.0))
    """
    if aggregate := AGGREGATED.fullmatch(name):
        stem, suffix, base, factor = split_unit(aggregate[1])
        if suffix:
            of = aggregate[2].lower()
            return (name, "", "", 1.0) if of == "count" else (f"{stem}_{of}", suffix, base, factor)
    name = ALONE.get(name.strip().lower(), name)
    name = BEHIND.sub(r"\1_\2", name) if BEHIND.fullmatch(name) else name
    name = CLOCK.sub("_s", name)  # "Wall clock [hh:mm:ss]"
    if bracket := BRACKETS.fullmatch(name):
        stem, text = bracket[1].strip().replace(" ", "_"), bracket[2]
        name, unit = f"{stem}_{text}", _unit(text, wide=True)
    else:
        stem, text, unit = _ending(name)
    if name.lower().endswith("_per_s"):
        return name, "", "1/s", 1.0  # a rate, not a time
    if unit is None or (
        text.lower() == "min" and not timed and not _lasts(stem.lower())  # a minimum
    ):
        return name, "", "", 1.0
    return stem, f"_{unit[0].lower()}", *unit


def _lasts(stem: str) -> bool:
    return bool(TIMES.search(stem)) or any(words.fullmatch(stem) for _, words in TIMED)


def either_prefix(name: str) -> str:
    """The unit in small letters that may be of milli or of mega, "" where it is plain.

    >>> either_prefix("gpu_power_mw"), either_prefix("gpu_power_mW")
    ('mw', '')
    """
    last = re.split(r"[\W_]+", name.rstrip(")] "))[-1]
    return last if last in EITHER else ""


def _ending(name: str) -> tuple[str, str, tuple[str, float] | None]:
    """Stem, text and unit of a name without brackets; no unit where it is one of a rate."""
    if said := SAID.fullmatch(name):
        stem, text = said[1], said[2]
        unit = _unit(text, wide="/" not in name)
        if unit is not None and ("/" not in name or _divided(stem, unit[0])):
            return stem, text, unit
        if "/" in name:
            return name, "", None
    if ended := ENDED.fullmatch(name):
        stem, separator, text = ended.groups()
        short = len(text) == 1 and separator != "_" and not AMOUNTS.search(stem)
        unit = None if short else _unit(text)
    elif joined := JOINED.fullmatch(name):
        stem, text = joined.groups()
        unit = _unit(text)
    else:
        return name, "", None
    return stem, text, None if unit and _is_rate(stem, unit[0]) else unit


def _divided(stem: str, base: str) -> bool:
    """Whether a slash before a unit says in what a quantity is, and not per what it is."""
    return bool((TIMES if base == "s" else AMOUNTS).search(stem.lower()))


def _is_rate(stem: str, base: str) -> bool:
    """Whether the name says a unit for a unit, as ``bw_gb_s``, or something per one."""
    last = re.split(r"[\W_]+", stem)[-1]
    before = _unit(last) if len(last) > 1 or last in SHORT else None
    return last.lower() == "per" or (base == "s" and before is not None and before[0] != "s")


def _unit(text: str, *, wide: bool = False) -> tuple[str, float] | None:
    """Base unit and factor; ``wide`` also takes what only says a unit where one has to stand."""
    if wide and (unit := IN_BRACKETS.get(text) or IN_BRACKETS.get(text.lower())):
        return unit
    if text in CASED:
        return CASED[text]
    return None if text.lower() in EITHER else LOWER.get(text.lower())
