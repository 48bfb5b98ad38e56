"""How far are `llm calibrate` and `llm simulate` from a real vLLM?

    python benchmarks/vllm_recordings.py [--repeat 1] [--json]

30 runs of vLLM 0.32 (tests/simulation/recorded/PROVENANCE.md).  Step times are learned from the
first 100 requests of a first-come run, and judged on the rest of it, on the other repeats, and on
runs under another order or batch cap.  ``median`` is the median relative error of a whole answer,
``mean`` the error of the mean of all; ``repeat_...`` are the same of another repeat of the judged
run, taken as the prediction: nobody can be expected to be nearer than the server is to itself.
Changes by an order are of the mean latency, with the 90 % interval of three repeats; ``machine`` is
how much slower the machine itself was under that order, by the times between first and last tokens.
``pace`` is the one factor of all step times, from 0.86 to 1.14, that is nearest to the later
requests of a run, and ``at_pace`` their error then: what is left where a drift is known.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.stats import t

from rheostat.core.jobs import JobTable
from rheostat.measurement.serving.recorded_requests import raw_frame, read_recorded
from rheostat.simulation.serving.calibrate import calibrate
from rheostat.simulation.serving.deployment import Deployment
from rheostat.simulation.serving.replica import Replica
from rheostat.simulation.serving.serve import serve

FOLDER = Path(__file__).parents[1] / "tests" / "simulation" / "recorded"
LEARN, CACHE_TOKENS, CHUNK, LEVEL = 100, 12288, 512, 0.9
PACES = np.arange(0.86, 1.15, 0.02)
Array = NDArray[np.float64]
Rows = list[dict[str, Any]]


class Server(NamedTuple):
    """What vLLM was started with, and what it was asked."""

    workload: str
    cap: int
    cache: str

    def __str__(self) -> str:
        return f"{self.workload}, cap {self.cap}, {self.cache}"


def policy(order: str) -> str:
    """The simulator's name of an order by the recorded priorities."""
    return "fcfs" if order == "fcfs" else "shortest-answer"


class Run(NamedTuple):
    """Requests in order of submission, and the priority of each."""

    requests: JobTable
    priority: Array

    @property
    def latency(self) -> Array:
        """Of whole answers, (n,)."""
        return self.requests.numpy("end_s") - self.requests.numpy("submit_s")

    def served(self, replica: Replica, order: str) -> JobTable:
        """The same requests as the simulator answers them, under an order of the priorities."""
        return serve(self.requests, policy(order), replica, predicted=self.priority).requests

    def played(self, replica: Replica, order: str) -> Array:
        """Latency of whole answers as the simulator has them."""
        return self.served(replica, order).numpy("latency_s")


Runs = dict[Server, dict[str, list[Run]]]


def recordings() -> Runs:
    """Three repeats by server and order."""
    made: Runs = defaultdict(lambda: defaultdict(list))
    for path in sorted(FOLDER.glob("*.parquet")):
        workload, cap, cache, order, _ = path.stem.split("_")
        raw = raw_frame(path).sort("submit_s", maintain_order=True)
        run = Run(read_recorded(path), raw["priority"].to_numpy().astype(float))
        made[Server(workload, int(cap.removeprefix("cap")), cache)][order].append(run)
    return made


def main() -> None:
    """All four tables."""
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--repeat", type=int, choices=(1, 2, 3), help="learn from this one alone")
    args.add_argument("--json", action="store_true", help="one JSON document")
    given = args.parse_args()
    runs, repeats = recordings(), [given.repeat - 1] if given.repeat else range(3)
    fits = {(s, k): learned(runs[s]["fcfs"][k], s) for s in runs for k in repeats}
    tables = {
        "answers": [row for (s, k), r in fits.items() for row in answers(runs, s, k, r)],
        "machine": list(paces(runs, fits)),
        "orders": list(orders(runs, fits)), "prefix cache": list(hit_rates(runs)),
    }  # fmt: skip
    tables["answers"] = list(together(tables["answers"]))
    if given.json:
        print(json.dumps(tables))
        return
    for title, rows in tables.items():
        printed = Table(*rows[0], title=title)
        for row in rows:
            printed.add_row(*(f"{100 * v:.1f} %" if isinstance(v, float) else str(v)
                              for v in row.values()))  # fmt: skip
        Console(width=160).print(printed)


def learned(run: Run, server: Server) -> Replica:
    """As `llm calibrate RUN --batch-cap .. --cache-tokens 12288 --chunk 512` has it."""
    return calibrate(run.requests, LEARN, batch_cap=server.cap, cache_tokens=CACHE_TOKENS,
                     chunk=CHUNK).replica  # fmt: skip


def answers(runs: Runs, server: Server, repeat: int, replica: Replica) -> Iterator[dict[str, Any]]:
    """Errors on what was not learned from, by what differs."""
    for judged, own in runs.items():
        other = replace(replica, batch_cap=judged.cap)
        for order, made in own.items():
            if judged[::2] != server[::2] or (judged != server and order != "fcfs"):
                continue
            for k, run in enumerate(made):
                same = (judged, order) == (server, "fcfs")
                kind = ("later requests" if k == repeat else "other repeats") if same else order
                kind = kind if judged == server else f"cap {judged.cap}"
                rows = slice(LEARN if kind == "later requests" else 0, None)
                off = _off("", run.played(other, order)[rows], run.latency[rows])
                yield {"learned_from": str(server), "judged_on": kind, **off,
                       **_repeats(made, k, rows)}  # fmt: skip


def paces(runs: Runs, fits: dict[tuple[Server, int], Replica]) -> Iterator[dict[str, Any]]:
    """Errors of later requests as learned, and had the machine kept one other pace."""
    for (server, k), replica in fits.items():
        run = runs[server]["fcfs"][k]
        played = {f: run.played(_paced(replica, f), "fcfs")[LEARN:] for f in (1.0, *PACES)}
        off = {f: _off("", p, run.latency[LEARN:])["median"] for f, p in played.items()}
        pace = min(off, key=lambda f: off[f])
        yield {"server": str(server), "repeat": k + 1, "median": off[1.0],
               "pace": f"{pace:.2f}", "at_pace": off[pace]}  # fmt: skip


def _paced(replica: Replica, factor: float) -> Replica:
    names = ("base_s", "request_s", "context_s", "prefill_s")
    return replace(replica, **{n: factor * getattr(replica, n) for n in names})


def _off(name: str, guess: Array, measured: Array) -> dict[str, float]:
    return {f"{name}median": float(np.median(np.abs(guess / measured - 1))),
            f"{name}mean": float(guess.mean() / measured.mean() - 1)}  # fmt: skip


def _repeats(made: list[Run], k: int, rows: slice) -> dict[str, float]:
    """How far the other repeats are from this one."""
    by = [_off("repeat_", made[j].latency[rows], made[k].latency[rows])
          for j in range(len(made)) if j != k]  # fmt: skip
    return {n: float(np.mean([abs(b[n]) for b in by])) for n in by[0]}


def together(rows: Rows) -> Iterator[dict[str, Any]]:
    """Means over repeats, absolute ones of the error of the mean."""
    groups: dict[tuple[str, str], Rows] = defaultdict(list)
    for row in rows:
        groups[row["learned_from"], row["judged_on"]].append(row)
    for (server, kind), own in groups.items():
        numbers = {n: float(np.mean([abs(r[n]) for r in own]))
                   for n, v in own[0].items() if isinstance(v, float)}  # fmt: skip
        yield {"learned_from": server, "judged_on": kind, **numbers}


def orders(runs: Runs, fits: dict[tuple[Server, int], Replica]) -> Iterator[dict[str, Any]]:
    """Mean latency to that of first come, first served: measured with its interval, simulated."""
    for server, own in runs.items():
        plain = [run.latency.mean() for run in own["fcfs"]]
        for order in own.keys() - {"fcfs"}:
            low, high = _interval(plain, [run.latency.mean() for run in own[order]])
            made = [_simulated(own, k, order, r) for (s, k), r in fits.items() if s == server]
            pace = [_pace(own[order], order, r) / _pace(own["fcfs"], "fcfs", r) - 1
                    for (s, _), r in fits.items() if s == server]  # fmt: skip
            surely = int(low > 0) - int(high < 0)
            right = sum(np.sign(m) == surely for m in made)
            yield {"server": str(server), "order": order, "measured_low": low,
                   "measured_high": high, "machine": float(np.mean(pace)),
                   "simulated_low": min(made), "simulated_high": max(made),
                   "sign": f"{right} of {len(made)}" if surely else "within noise"}  # fmt: skip


def _pace(runs: list[Run], order: str, replica: Replica) -> float:
    """Seconds from first to last tokens, measured to simulated: how slow the machine was."""
    measured = sum((r.requests.numpy("end_s") - r.requests.numpy("start_s")).sum() for r in runs)
    played = [r.served(replica, order) for r in runs]
    return float(measured / sum((p.numpy("end_s") - p.numpy("start_s")).sum() for p in played))


def _simulated(own: dict[str, list[Run]], k: int, order: str, replica: Replica) -> float:
    """Of the requests of the first-come run, under the priorities that the order has."""
    run = own["fcfs"][k]
    other = run._replace(priority=_priority(order, run))
    return float(other.played(replica, order).mean() / run.played(replica, "fcfs").mean() - 1)


def _priority(order: str, run: Run) -> Array:
    prompt = run.requests.numpy("prompt_tokens").astype(float)
    return prompt if order == "shortest-prompt" else run.priority


def _interval(plain: Iterable[float], ordered: Iterable[float]) -> tuple[float, float]:
    """90 % interval of the difference of logarithms (Welch), as a relative change."""
    a, b = np.log(list(plain)), np.log(list(ordered))
    va, vb = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    free = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
    half = t.ppf((1 + LEVEL) / 2, free) * np.sqrt(va + vb)
    return float(np.expm1(b.mean() - a.mean() - half)), float(np.expm1(b.mean() - a.mean() + half))


def hit_rates(runs: Runs) -> Iterator[dict[str, Any]]:
    """Share of prompt tokens held: as vLLM said, and of the simulator's own prefix cache."""
    for server, own in runs.items():
        if server[::2] != ("shared", "cache"):
            continue
        replica = Replica(server.cap, CACHE_TOKENS, CHUNK)
        for order, made in own.items():
            said = [float(r.requests.numpy("cached_tokens").sum()
                          / r.requests.numpy("prompt_tokens").sum()) for r in made]  # fmt: skip
            requests = made[0].requests
            blind = requests.with_columns([], cached_tokens=np.zeros(len(requests)))
            place = Deployment(prefix_cache_tokens=CACHE_TOKENS)
            served = serve(
                blind, policy(order), replica, predicted=made[0].priority, deployment=place
            )
            yield {"server": str(server), "order": order, "measured": float(np.mean(said)),
                   "simulated": served.known_share}  # fmt: skip


if __name__ == "__main__":
    main()
