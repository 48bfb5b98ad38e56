"""What a proxy counts, as Prometheus reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

OUTCOMES = ("answered", "refused", "failed", "cut", "left")
"""A status of the server; refused before it was asked; no answer of it; broken off within one; the
client left."""
EDGES_S = (0.01, 0.1, 1.0, 10.0, 100.0)
HELP = {
    "requests_total": "Requests by what became of them.",
    "prompt_tokens_total": "Tokens of prompts, as servers state them.",
    "output_tokens_total": "Tokens of answers.",
    "wait_seconds": "Seconds that requests waited for a place at a server.",
    "answers_learned_total": "Answers whose lengths were learned from.",
    "drifts_total": "Times that requests have changed.",
    "waiting": "Requests that wait for a place at a server.",
    "running": "Requests at servers.",
    "held_bytes": "Bytes of the bodies of requests that are here.",
    "length_error_ratio": "Squared errors of lengths over those expected; above 1.5 is a change.",
}


@dataclass
class ProxyCounters:
    """Requests by what became of them: each is counted once.

    >>> counters = ProxyCounters()
    >>> counters.received += 1
    >>> counters.outcomes["answered"] += 1
    >>> counters.waited(0.05)
    >>> print(counters.text({}, {"waiting": 0.0}), end="")  # doctest: +ELLIPSIS
    # HELP rheostat_proxy_requests_total Requests by what became of them.
    ...
    # HELP rheostat_proxy_waiting Requests that wait for a place at a server.
    # TYPE rheostat_proxy_waiting gauge
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

    def text(self, counts: Mapping[str, float], gauges: Mapping[str, float]) -> str:
        """Prometheus' text format, version 0.0.4.

        Parameters
        ----------
        counts, gauges
            What only grows, and what goes up and down, by the names of `HELP`.
        """
        by = [(f'{{outcome="{o}"}}', self.outcomes[o]) for o in OUTCOMES]
        lines = _metric("requests_total", "counter", by)
        for kind in ("prompt", "output"):
            tokens = getattr(self, f"{kind}_tokens")
            lines += _metric(f"{kind}_tokens_total", "counter", [("", tokens)])
        buckets = [(f'_bucket{{le="{e:g}"}}', self.waits[e]) for e in EDGES_S]
        every = self.waits[float("inf")]
        ends = [('_bucket{le="+Inf"}', every), ("_sum", self.waited_s), ("_count", every)]
        lines += _metric("wait_seconds", "histogram", [*buckets, *ends])
        for name, value in counts.items():
            lines += _metric(f"{name}_total", "counter", [("", value)])
        for name, value in gauges.items():
            lines += _metric(name, "gauge", [("", value)])
        return "\n".join(lines) + "\n"


def _metric(name: str, kind: str, values: Sequence[tuple[str, float]]) -> list[str]:
    """Lines of one metric; what stands behind its name, and a number, of each of its values."""
    full = f"rheostat_proxy_{name}"
    head = [f"# HELP {full} {HELP[name]}", f"# TYPE {full} {kind}"]
    return head + [f"{full}{more} {value:.15g}" for more, value in values]
