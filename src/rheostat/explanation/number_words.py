"""Numbers as people read them: a value with its interval, a change with its sign, a list of names.

Figures in a report are read by people who compare them at a glance, so a value and its interval
share one unit, durations keep two parts at most, and a change always says from which side.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rheostat.core.report import Chart
from rheostat.core.units import format_quantity, plain_name, unit_of

MINUS = "\N{MINUS SIGN}"
_TIMES = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))
LEAST_S = 0.1
"""Below it times are in milliseconds."""
_PREFIXES = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0))


def cost_name(name: str) -> str:
    """What is paid in a quantity: ``29 % less time``, not runtime.

    >>> cost_name("runtime_s"), cost_name("energy_j")
    ('time', 'energy')
    """
    return "time" if name == "runtime_s" else plain_name(name)


def head_words(head: str, unit: str = "") -> str:
    """The head of a column as drawn; ``unit`` is that of the drawn values, if they carry one.

    >>> head_words("makespan_s", "s"), head_words("cap_w"), head_words("batch_size")
    ('makespan', 'power cap (W)', 'batch size')
    """
    own = "" if unit else unit_of(head)
    return f"{plain_name(head)} ({own})" if own else plain_name(head)


def chart_unit(chart: Chart, axis: int) -> str:
    """The base unit of axis 0 or 1: the chart says it, or the name of the column does."""
    return chart.units[axis] or unit_of(chart.axes[axis])


def duration(seconds: float) -> str:
    """Two parts at most.

    >>> [duration(s) for s in (2460, 75, 5025, 7200, 93784, 0.25, 0.0498, -5025)]
    ['41m', '1m 15s', '1h 24m', '2h', '1d 2h', '0.25 s', '49.8 ms', '−1h 24m']
    """
    if not math.isfinite(seconds):
        return "-"
    return (MINUS if seconds < 0 else "") + _two_parts(abs(seconds))


def _two_parts(seconds: float) -> str:
    if 0 < seconds < LEAST_S:
        return f"{1e3 * seconds:.3g} ms"
    if seconds < 60:
        return f"{seconds:.3g} s"
    if seconds < 600:
        whole = round(seconds)
        return f"{whole // 60}m {whole % 60}s" if whole % 60 else f"{whole // 60}m"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes}m"
    if minutes < 24 * 60:
        return f"{minutes // 60}h {minutes % 60}m".removesuffix(" 0m")
    hours = round(seconds / 3600)
    return f"{hours // 24}d {hours % 24}h".removesuffix(" 0h")


def quantity(value: float, unit: str) -> str:
    """A value in its unit; durations are short.

    >>> quantity(9.13e6, "J"), quantity(2460, "s"), quantity(float("nan"), "W")
    ('9.13 MJ', '41m', '-')
    """
    return duration(value) if unit == "s" else format_quantity(value, unit)


def number_words(value: Any, unit: str) -> str:
    """A value as people read it.

    >>> number_words(0.071, "share"), number_words(5400.0, "s"), number_words(3, "")
    ('7.1 %', '1h 30m', '3')
    """
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        return "-"
    if unit == "share":
        return f"{100 * value:.3g} %"
    return quantity(float(value), unit) if unit else f"{value:.4g}"


def spanned(value: float, low: float, high: float, unit: str) -> str:
    """A value with its interval in the value's own unit.

    >>> spanned(9.13e6, 8.7e6, 9.5e6, "J"), spanned(1680, 1620, 1800, "s")
    ('9.13 MJ [8.7 9.5]', '28 min [27 30]')
    >>> spanned(68640, 32520, 118800, "s"), spanned(412.8, 412.4, 413.3, "s")
    ('19.1 h [9 33]', '6.88 min [6.87 6.89]')
    >>> spanned(733.4, 732.4, 734.4, "s")
    '12.22 min [12.21 12.24]'
    >>> spanned(12.0, float("nan"), float("nan"), "W"), spanned(7.02e-4, 5e-4, 9e-4, "s")
    ('12 W', '0.702 ms [0.50 0.90]')
    >>> spanned(8.42e-5, 4e-5, 1.79e-4, "s")
    '0.0842 ms [0.04 0.18]'
    >>> spanned(0.31, 0.124, 0.689, "s")
    '0.31 s [0.12 0.69]'
    >>> spanned(2083.0, 1704.0, 3946.0, "node_h")
    '2,083 node_h [1,704 3,946]'
    """
    if not (math.isfinite(low) and math.isfinite(high)) or low == high:
        return quantity(value, unit)
    size, label = _scale(abs(value), unit)
    two = 1 - math.floor(math.log10(abs(high / size))) if high else 0  # digits of the high end
    digits = max(_digits(value / size, (high - low) / size), two)
    if low > 0 and not round(low / size, digits):  # nothing takes no time
        digits = min(digits + 3, math.ceil(-math.log10(low / size)))
    shown = f"{value / size:,.{digits}f}"
    if abs(value / size) < 1000:
        shown = max(f"{value / size:.3g}", shown, key=len)
    bounds = f"[{low / size:,.{digits}f} {high / size:,.{digits}f}]"
    return f"{shown} {label} {bounds}" if label else f"{shown} {bounds}"


def _scale(value: float, unit: str) -> tuple[float, str]:
    """(divisor, what to write after the number) so that a value reads well."""
    if unit == "s":
        if 0 < value < LEAST_S:
            return 1e-3, "ms"
        return next((s, u) for s, u in _TIMES if value >= 1.5 * s or s == 1.0)
    if unit in ("W", "J", "J s", "B"):
        prefix, size = next(((p, s) for p, s in _PREFIXES if value >= 0.9995 * s), ("", 1.0))
        return size, f"{prefix}{unit}"
    return 1.0, "" if unit == "1" else unit


def _digits(value: float, width: float) -> int:
    """Decimals that show the first digit of an interval's width, and at most the value's fourth."""
    shown, most = (math.floor(math.log10(abs(x))) if x else 0 for x in (width, value))
    return max(0, min(-shown, 3 - most))


def signed(ratio: float) -> str:
    """A relative change with its sign; a tiny one is ``0 %``.

    >>> signed(-0.29), signed(0.271), signed(0.001), signed(float("nan")), signed(86.4)
    ('−29 %', '+27 %', '0 %', '-', 'x87')

    From three times the value on, a factor says it better.
    """
    if not math.isfinite(ratio):
        return "-"
    if ratio >= 2:
        return f"x{1 + ratio:.2g}" if ratio < 99 else f"x{1 + ratio:.0f}"
    percent = 100 * ratio
    if abs(percent) < 0.5:
        return "0 %"
    return f"{'+' if percent > 0 else MINUS}{abs(percent):.0f} %"


def share(ratio: float, digits: int = 0) -> str:
    """A share of one as percent.

    >>> share(0.892, 1), share(-0.012, 1), share(float("nan"))
    ('89.2 %', '−1.2 %', '-')
    """
    return f"{100 * ratio:.{digits}f} %".replace("-", MINUS) if math.isfinite(ratio) else "-"


def setting_words(setting: Mapping[str, Any]) -> str:
    """A setting as people say it.

    >>> setting_words({"nodes": 16}), setting_words({"nodes": 1, "cap_w": 250, "batch_size": 32})
    ('16 nodes', '1 node, power cap 250 W, batch size 32')
    """
    counts = {"nodes": "node", "gpus": "GPU", "cores": "core", "threads": "thread", "tasks": "task"}
    said = []
    for name, value in setting.items():
        shown = f"{value:g}" if isinstance(value, float) else f"{value}"
        if name in counts:
            said.append(f"{shown} {counts[name]}{'' if value == 1 else 's'}")
        elif unit_of(name) and isinstance(value, (int, float)):
            said.append(f"{plain_name(name)} {quantity(value, unit_of(name))}")
        else:
            said.append(f"{plain_name(name)} {shown}")
    return ", ".join(said)


def listed(names: Sequence[str]) -> str:
    """A list in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed([])
    ('a', 'a, b and c', 'nothing')
    """
    if not names:
        return "nothing"
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"
