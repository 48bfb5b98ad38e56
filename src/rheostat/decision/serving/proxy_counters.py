"""What a proxy counts, as Prometheus reads it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

OUTCOMES = ("answered", "refused", "failed", "cut", "left")
"""A status of the server; refused before it was asked; no answer of it; broken off within one; the
client left."""
EDGES_S = (0.01, 0.1, 1.0, 10.0, 100.0)


@dataclass
class ProxyCounters:
    """Requests by what became of them: each is counted once.

    >>> counters = ProxyCounters()
    >>> counters.received += 1
    >>> counters.outcomes["answered"] += 1
    >>> counters.waited(0.05)
    >>> print(counters.text({"waiting": 0.0}).splitlines()[-1])
    rheostat_proxy_waiting 0
    """

    received: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    prompt_tokens: float = 0.0
    output_tokens: float = 0.0
    waited_s: float = 0.0
    waits: Counter[float] = field(default_factory=Counter)

    def waited(self, seconds: float) -> None:
        """A request was given a place after so many seconds."""
        self.waited_s += seconds
        self.waits.update(edge for edge in (*EDGES_S, float("inf")) if seconds <= edge)

    def text(self, gauges: dict[str, float]) -> str:
        """Prometheus' text format, version 0.0.4."""
        name = "rheostat_proxy"
        lines = [f"# TYPE {name}_requests_total counter"]
        lines += [f'{name}_requests_total{{outcome="{o}"}} {self.outcomes[o]}' for o in OUTCOMES]
        for kind in ("prompt", "output"):
            lines.append(f"# TYPE {name}_{kind}_tokens_total counter")
            lines.append(f"{name}_{kind}_tokens_total {getattr(self, f'{kind}_tokens'):.0f}")
        lines.append(f"# TYPE {name}_wait_seconds histogram")
        for edge in (*EDGES_S, float("inf")):
            at = "+Inf" if edge == float("inf") else f"{edge:g}"
            lines.append(f'{name}_wait_seconds_bucket{{le="{at}"}} {self.waits[edge]}')
        lines.append(f"{name}_wait_seconds_sum {self.waited_s:.6f}")
        lines.append(f"{name}_wait_seconds_count {self.waits[float('inf')]}")
        for gauge, value in gauges.items():
            lines += [f"# TYPE {name}_{gauge} gauge", f"{name}_{gauge} {value:g}"]
        return "\n".join(lines) + "\n"
