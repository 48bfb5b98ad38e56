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
    "first_part_seconds": "Seconds from a request to the first part of its answer.",
    "answer_seconds": "Seconds from a request to the end of its answer.",
    "server_up": "1, or 0 for a server that could not be reached and rests.",
    "server_running": "Requests at a server.",
    "server_failures_total": "Requests that a server did not answer.",
    "answers_learned_total": "Answers whose lengths were learned from.",
    "drifts_total": "Times that requests have changed.",
    "waiting": "Requests that wait for a place at a server.",
    "running": "Requests at servers.",
    "held_bytes": "Bytes of the bodies of requests that are here.",
    "length_error_ratio": "Squared errors of lengths over those expected; above 1.5 is a change.",
}


@dataclass
class Histogram:
    """Seconds, by `EDGES_S`."""

    total_s: float = 0.0
    counts: Counter[float] = field(default_factory=Counter)

    def add(self, seconds: float) -> None:
        """One more."""
        self.total_s += seconds
        self.counts.update(edge for edge in (*EDGES_S, float("inf")) if seconds <= edge)

    def __getitem__(self, edge_s: float) -> int:
        """How many took no longer."""
        return self.counts[edge_s]

    def lines(self, name: str) -> list[str]:
        """As Prometheus reads them."""
        buckets = [(f'_bucket{{le="{e:g}"}}', float(self.counts[e])) for e in EDGES_S]
        every = self.counts[float("inf")]
        ends = [('_bucket{le="+Inf"}', every), ("_sum", self.total_s), ("_count", every)]
        return _metric(name, "histogram", [*buckets, *ends])


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
    waits: Histogram = field(default_factory=Histogram)
    firsts: Histogram = field(default_factory=Histogram)
    wholes: Histogram = field(default_factory=Histogram)
    failures: Counter[int] = field(default_factory=Counter)

    def waited(self, seconds: float) -> None:
        """A request was given a place after so many seconds."""
        self.waits.add(seconds)

    def text(
        self,
        counts: Mapping[str, float],
        gauges: Mapping[str, float],
        servers: Sequence[tuple[bool, int]] = (),
    ) -> str:
        """Prometheus' text format, version 0.0.4.

        Parameters
        ----------
        counts, gauges
            What only grows, and what goes up and down, by the names of `HELP`.
        servers
            Whether each is up, and how many requests are there.
        """
        by = [(f'{{outcome="{o}"}}', self.outcomes[o]) for o in OUTCOMES]
        lines = _metric("requests_total", "counter", by)
        for kind in ("prompt", "output"):
            tokens = getattr(self, f"{kind}_tokens")
            lines += _metric(f"{kind}_tokens_total", "counter", [("", tokens)])
        lines += self.waits.lines("wait_seconds")
        lines += self.firsts.lines("first_part_seconds")
        lines += self.wholes.lines("answer_seconds")
        health: dict[str, tuple[str, list[float]]] = {
            "up": ("gauge", [float(up) for up, _ in servers]),
            "running": ("gauge", [float(running) for _, running in servers]),
            "failures_total": ("counter", [float(self.failures[s]) for s in range(len(servers))]),
        }
        for name, (kind, values) in health.items():
            of = [(f'{{server="{s + 1}"}}', v) for s, v in enumerate(values)]
            lines += _metric(f"server_{name}", kind, of) if of else []
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
