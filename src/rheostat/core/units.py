"""Units: base units inside, friendly ones at the border.

Inside the library every column carries its base unit in its name (``runtime_s``, ``power_w``).
People write "2h" and "15 kW" and read "1.2 MJ"; these two directions live here and nowhere else.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

from rheostat.errors import DataError

_DURATION_S = {"ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_PREFIX = {"": 1.0, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
_NUMBER = r"([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)"
_UNITS = {"edp_js": "J s", "node_hours": "node_h"}
_ENDS = {"_s": "s", "_w": "W", "_j": "J", "_js": "J s", "_hz": "Hz", "_b": "B"}
_NAMES = {
    "edp_js": "energy-delay product",
    "node_hours": "node-hours",
    "cap_w": "power cap",
    "cpu_cap_w": "CPU cap",
    "gpu_cap_w": "GPU cap",
    "itl_s": "time between tokens",
    "ttft_s": "time to the first token",
    "sample_s": "time per sample",
    "epoch_s": "time per epoch",
    "memory_peak_b": "peak memory",
    "memory_share": "share of the GPUs' memory",
}


def parse_duration(text: str | float) -> float:
    """Seconds in ``"2h"``, ``"1h30m"``, ``"[D-]HH:MM:SS"`` or a plain number of seconds.

    >>> parse_duration("2h"), parse_duration("1h30m"), parse_duration(90), parse_duration("50ms")
    (7200.0, 5400.0, 90.0, 0.05)
    >>> parse_duration("1-02:00:00"), parse_duration("00:00:01.5")
    (93600.0, 1.5)
    >>> parse_duration("4h38"), parse_duration("2m05")
    (16680.0, 125.0)
    >>> parse_duration("soon")
    Traceback (most recent call last):
    ...
    rheostat.errors.DataError: duration: expected like 2h, 1h30m, 90 or 1-02:00:00, got 'soon'
    """
    seconds = _duration(text)
    if not math.isfinite(seconds):
        problem = f"expected like 2h, 1h30m, 90 or 1-02:00:00, got {text!r}"
        raise DataError("duration", [problem[:200]])
    return seconds


def _duration(text: str | float) -> float:
    """Seconds; NaN for what is no duration."""
    if isinstance(text, (int, float)):
        return float(text)
    plain = str(text).strip()
    if clock := re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)", plain):
        d, h, m, s = (float(g or 0) for g in clock.groups())
        return d * 86400 + h * 3600 + m * 60 + s
    if re.fullmatch(_NUMBER, plain):
        return float(plain)
    if short := re.fullmatch(r"(\d+) ?(h|min|m) ?([0-5]\d)", plain):
        small = 60.0 if short[2] == "h" else 1.0
        return float(short[1]) * _DURATION_S[short[2]] + float(short[3]) * small
    if re.fullmatch(rf"(?:{_NUMBER}\s*(?:min|ms|[smhd])\s*)+", plain):
        parts = re.findall(rf"{_NUMBER}\s*(min|ms|[smhd])", plain)
        return sum(float(n) * _DURATION_S[u] for n, u in parts)
    return math.nan


def parse_quantity(text: str | float, unit: str) -> float:
    """A number in base ``unit`` (``"W"``, ``"J"``, ``"node_h"``) from text with an SI prefix.

    >>> parse_quantity("15 kW", "W"), parse_quantity("2.5MJ", "J"), parse_quantity(7, "W")
    (15000.0, 2500000.0, 7.0)
    >>> parse_quantity("1 kWh", "J"), parse_quantity("2 GiB", "B")
    (3600000.0, 2147483648.0)
    """
    if unit == "s":
        return parse_duration(text)
    value = _quantity(text, unit)
    if not math.isfinite(value):
        problem = f"expected a number in {unit} like 15k{unit}, got {text!r}"
        raise DataError("quantity", [problem[:200]])
    return value


def _quantity(text: str | float, unit: str) -> float:
    """In the base unit; NaN for what is no quantity."""
    if isinstance(text, (int, float)):
        return float(text)
    kinds = {**_PREFIX, **BINARY} if unit == "B" else _PREFIX
    match = re.fullmatch(
        rf"{_NUMBER}\s*({'|'.join(kinds)})(Wh|{re.escape(unit)})?", str(text).strip()
    )
    if not match or (match[3] == "Wh" and unit != "J"):
        return math.nan
    return float(match[1]) * kinds[match[2]] * (3600.0 if match[3] == "Wh" else 1.0)


def format_quantity(value: float, unit: str) -> str:
    """What a person reads: three significant figures and the nearest prefix.

    >>> format_quantity(5025.0, "s"), format_quantity(9.13e6, "J"), format_quantity(412.0, "W")
    ('1h 23m 45s', '9.13 MJ', '412 W')
    >>> format_quantity(float("nan"), "W"), format_quantity(0.25, "s"), format_quantity(64, "")
    ('-', '0.25 s', '64')
    >>> format_quantity(125_431.0, "node_h"), format_quantity(12.54, "node_h")
    ('125,000 node_h', '12.5 node_h')
    """
    if not math.isfinite(value):
        return "-"
    if unit == "s":
        return format_duration(value)
    if unit in ("", "1"):
        return f"{value:.4g}"
    for prefix in ("T", "G", "M", "k"):
        if unit in ("W", "J", "J s", "B", "Hz") and abs(value) >= _PREFIX[prefix] * 0.9995:
            return f"{value / _PREFIX[prefix]:.3g} {prefix}{unit}"
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f} {unit}" if abs(rounded) >= 1000 else f"{value:.3g} {unit}"


def format_duration(seconds: float) -> str:
    """Days, hours, minutes and seconds, leaving out what does not matter.

    >>> format_duration(93784), format_duration(61), format_duration(12.34), format_duration(-5)
    ('1d 2h 3m', '1m 1s', '12.3 s', '-5 s')
    """
    if seconds < 60:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    d, h, m, s = whole // 86400, whole // 3600 % 24, whole // 60 % 60, whole % 60
    if d:
        return f"{d}d {h}h {m}m"
    return f"{h}h {m}m {s}s" if h else f"{m}m {s}s"


def format_moment(seconds: float, pattern: str = "%Y-%m-%d") -> str:
    """A date in UTC of seconds since 1970; the number itself where no calendar has such a year.

    >>> format_moment(86400), format_moment(0, "%Y-%m-%d %H:%M UTC"), format_moment(5e14)
    ('1970-01-02', '1970-01-01 00:00 UTC', '5e+14 s')
    """
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime(pattern)
    except (ValueError, OverflowError, OSError):
        return f"{seconds:.6g} s"


def unit_of(name: str) -> str:
    """The base unit that a quantity's name carries.

    >>> unit_of("energy_j"), unit_of("memory_peak_b"), unit_of("nodes"), unit_of("images_per_s")
    ('J', 'B', '', '')
    """
    if re.search(r"_per_[a-z]+$", name):
        return ""
    return _UNITS.get(name) or next((u for e, u in _ENDS.items() if name.endswith(e)), "")


def plain_name(name: str) -> str:
    """What people call a quantity: the column's name without its unit.

    >>> plain_name("runtime_s"), plain_name("epoch_s"), plain_name("batch_size")
    ('runtime', 'time per epoch', 'batch size')
    """
    if name in _NAMES:
        return _NAMES[name]
    stem = name.rsplit("_", 1)[0] if unit_of(name) and "_" in name else name
    return stem.replace("_", " ")
