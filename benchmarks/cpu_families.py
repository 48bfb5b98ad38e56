"""A family of networks that a CPU never ran: twelve families of JAX steps, made here.

    python benchmarks/cpu_families.py TABLE.jsonl.gz --make 5     about 100 CPU seconds
    python benchmarks/cpu_families.py TABLE.jsonl.gz              each family from the others

``--make N`` compiles and runs N steps of each family (sizes by chance, seeded; repeated ones once)
on one thread and keeps the compiled HLO and the least CPU time of nine runs.  The rooflines have
three rates (starts, arithmetic, traffic), the plain one counts arithmetic as it is, additive has a
rate for each term; ours is `rheostat dnn fit`.  MAPE in per cent, mean error of the logarithm,
coverage of 90 % intervals.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from rheostat.core.jobs import JobTable
from rheostat.core.vocabulary import table
from rheostat.measurement.graphs.hlo.hlo_graph import from_hlo
from rheostat.measurement.training_columns import COLUMNS
from rheostat.prediction.step_cost import StepCost
from rheostat.prediction.step_cost.rows import TrainingRows
from rheostat.prediction.step_cost.terms import cost_terms
from rheostat.prediction.step_cost.unlike import EXPERTS

Step = tuple[Callable[..., Any], Any, tuple[Any, ...]]
"""Loss of parameters and inputs, parameters, inputs."""
LAYOUTS = {3: ("NWC", "WIO", "NWC"), 4: ("NHWC", "HWIO", "NHWC"), 5: ("NDHWC", "DHWIO", "NDHWC")}
REPEATS, LEAST_S = 9, 0.02
r = np.random.default_rng(2030)


def w(*shape: int) -> jax.Array:
    """Small random numbers."""
    return jnp.asarray(r.normal(0, 0.05, shape), jnp.float32)


def labels(b: int) -> jax.Array:
    """One of ten classes each."""
    return jnp.asarray(r.integers(0, 10, b))


def norm(x: jax.Array) -> jax.Array:
    """Mean 0, spread 1 over the last axis."""
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def conv(x: jax.Array, k: jax.Array, stride: int = 1, groups: int = 1) -> jax.Array:
    """Convolution in one to three dimensions."""
    return lax.conv_general_dilated(x, k, (stride,) * (x.ndim - 2), "SAME",
                                    dimension_numbers=LAYOUTS[x.ndim],
                                    feature_group_count=groups)  # fmt: skip


def ce(said: jax.Array, y: jax.Array) -> jax.Array:
    """Cross entropy."""
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(said), y[:, None], 1))


def mlpbn(c: int, d: int, b: int) -> Step:
    """Perceptron with layer norms and GELU."""
    P = [w(c if i else 100, c) for i in range(d)] + [w(c, 10)]

    def f(P, x, y):
        for k in P[:-1]:
            x = jax.nn.gelu(norm(x @ k))
        return ce(x @ P[-1], y)

    return f, P, (w(b, 100), labels(b))


def autoenc(c: int, d: int, b: int) -> Step:
    """Dense autoencoder."""
    s = [256, c] + [max(c // 2**i, 4) for i in range(1, d)]
    s = s + s[::-1][1:]
    P = [w(a, q) for a, q in pairwise(s)]

    def f(P, x):
        z = x
        for k in P:
            z = jnp.tanh(z @ k)
        return jnp.mean((z - x) ** 2)

    return f, P, (w(b, 256),)


def resnet(c: int, d: int, b: int) -> Step:
    """Residual convolutions with norms."""
    P = [w(3, 3, 3, c)] + [(w(3, 3, c, c), w(3, 3, c, c)) for _ in range(d)] + [w(c, 10)]

    def f(P, x, y):
        x = conv(x, P[0])
        for a, q in P[1:-1]:
            x = jax.nn.relu(x + conv(jax.nn.relu(norm(conv(x, a))), q))
        return ce(x.mean((1, 2)) @ P[-1], y)

    return f, P, (w(b, 20, 20, 3), labels(b))


def mobile(c: int, d: int, b: int) -> Step:
    """Depthwise convolutions between two of 1 by 1."""
    P = (
        [w(3, 3, 3, c)]
        + [(w(1, 1, c, 2 * c), w(3, 3, 1, 2 * c), w(1, 1, 2 * c, c)) for _ in range(d)]
        + [w(c, 10)]
    )

    def f(P, x, y):
        x = conv(x, P[0], 2)
        for a, q, e in P[1:-1]:
            x = x + conv(jax.nn.relu6(conv(jax.nn.relu6(conv(x, a)), q, 1, 2 * c)), e)
        return ce(x.mean((1, 2)) @ P[-1], y)

    return f, P, (w(b, 24, 24, 3), labels(b))


def unet(c: int, d: int, b: int) -> Step:
    """Convolutions down and up, with skips."""
    P = (
        [w(3, 3, 1 if i == 0 else c * 2 ** (i - 1), c * 2**i) for i in range(d)],
        [w(3, 3, c * 2**i + c * 2 ** (i - 1), c * 2 ** (i - 1)) for i in range(1, d)],
        w(1, 1, c, 1),
    )

    def f(P, x, t):
        dn, up, o = P
        s = []
        for i, k in enumerate(dn):
            x = jax.nn.silu(conv(x, k))
            s.append(x)
            if i < d - 1:
                x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")
        for i in range(d - 1, 0, -1):
            n, h, q, e = x.shape
            x = jnp.broadcast_to(x[:, :, None, :, None], (n, h, 2, q, 2, e)).reshape(
                n, 2 * h, 2 * q, e
            )
            x = jax.nn.silu(conv(jnp.concatenate([x, s[i - 1]], -1), up[i - 1]))
        return jnp.mean((conv(x, o) - t) ** 2)

    return f, P, (w(b, 16, 16, 1), w(b, 16, 16, 1))


def conv1d(c: int, d: int, b: int) -> Step:
    """Gated convolutions in one dimension."""
    P = [w(3, 1 if i == 0 else c, 2 * c) for i in range(d)] + [w(c, 10)]

    def f(P, x, y):
        for k in P[:-1]:
            h = conv(x, k)
            x = jnp.tanh(h[..., :c]) * jax.nn.sigmoid(h[..., c:])
        return ce(x.mean(1) @ P[-1], y)

    return f, P, (w(b, 64, 1), labels(b))


def mixer(c: int, d: int, b: int) -> Step:
    """MLP-mixer."""
    t = 32
    P = [(w(t, 2 * t), w(2 * t, t), w(c, 2 * c), w(2 * c, c)) for _ in range(d)] + [w(c, 10)]

    def f(P, x, y):
        for a, q, e, g in P[:-1]:
            h = norm(x).swapaxes(1, 2)
            x = x + (jax.nn.gelu(h @ a) @ q).swapaxes(1, 2)
            x = x + jax.nn.gelu(norm(x) @ e) @ g
        return ce(x.mean(1) @ P[-1], y)

    return f, P, (w(b, t, c), labels(b))


def lm(c: int, d: int, b: int) -> Step:
    """Causal language model of tied embeddings."""
    v, t, h = 512, 32, 4
    P = [w(v, c)] + [(w(c, 3 * c), w(c, c), w(c, 4 * c), w(4 * c, c)) for _ in range(d)]
    m = jnp.tril(jnp.ones((t, t), bool))

    def f(P, x, y):
        e = P[0]
        x = e[x]
        for a, o, u, q in P[1:]:
            k = (norm(x) @ a).reshape(b, t, 3, h, c // h)
            z = jnp.einsum("bqhd,bkhd->bhqk", k[:, :, 0], k[:, :, 1]) / np.sqrt(c // h)
            z = jax.nn.softmax(jnp.where(m, z, -1e9))
            x = x + jnp.einsum("bhqk,bkhd->bqhd", z, k[:, :, 2]).reshape(b, t, c) @ o
            x = x + jax.nn.gelu(norm(x) @ u) @ q
        return ce((x @ e.T).reshape(b * t, v), y.reshape(-1))

    return f, P, (jnp.asarray(r.integers(0, v, (b, t))), jnp.asarray(r.integers(0, v, (b, t))))


def lstm(c: int, d: int, b: int) -> Step:
    """Recurrent, by a scan."""
    t = 12 * d
    P = w(64, 4 * c), w(c, 4 * c), w(c, 10)

    def f(P, x, y):
        i, k, o = P

        def cell(s, x):
            h, q = s
            g = x @ i + h @ k
            a, e, u, z = jnp.split(g, 4, -1)
            q = jax.nn.sigmoid(a) * q + jax.nn.sigmoid(e) * jnp.tanh(u)
            h = jax.nn.sigmoid(z) * jnp.tanh(q)
            return (h, q), None

        (h, _), _ = lax.scan(cell, (jnp.zeros((b, c)),) * 2, x)
        return ce(h @ o, y)

    return f, P, (w(t, b, 64), labels(b))


def gnn(c: int, d: int, b: int) -> Step:
    """Messages along random edges."""
    n, e = 32 * b, 128 * b
    s, t = jnp.asarray(r.integers(0, n, e)), jnp.asarray(r.integers(0, n, e))
    P = [(w(c, c), w(c, c)) for _ in range(d)] + [w(c, 10)]

    def f(P, x, y):
        for a, q in P[:-1]:
            x = jax.nn.relu(norm(x @ a + jax.ops.segment_sum((x @ q)[s], t, n)))
        return ce(x @ P[-1], y)

    return f, P, (w(n, c), labels(n))


def linatt(c: int, d: int, b: int) -> Step:
    """Linear attention."""
    t = 64
    P = [(w(c, c), w(c, c), w(c, c), w(c, c)) for _ in range(d)] + [w(c, 10)]

    def f(P, x, y):
        for a, q, e, o in P[:-1]:
            k = jax.nn.softmax(x @ q, 1)
            v = jnp.einsum("btc,btd->bcd", k, x @ e)
            x = norm(x + jnp.einsum("btc,bcd->btd", jax.nn.softmax(x @ a), v) @ o)
        return ce(x.mean(1) @ P[-1], y)

    return f, P, (w(b, t, c), labels(b))


def conv3d(c: int, d: int, b: int) -> Step:
    """Convolutions in three dimensions."""
    P = [w(3, 3, 3, 1 if i == 0 else c, c) for i in range(d)] + [w(c, 10)]

    def f(P, x, y):
        for k in P[:-1]:
            x = jax.nn.relu(conv(x, k))
        return ce(x.mean((1, 2, 3)) @ P[-1], y)

    return f, P, (w(b, 10, 10, 10, 1), labels(b))


SIZES = {
    "mlpbn": ([64, 256, 1024], [1, 3, 5], [16, 64, 256]),
    "autoenc": ([128, 512, 1024], [2, 3, 4], [16, 64, 256]),
    "resnet": ([8, 16, 32, 64], [1, 2, 3], [4, 8, 16]),
    "mobile": ([8, 16, 32], [1, 2, 4], [4, 8, 16]),
    "unet": ([8, 16, 32], [2, 3], [4, 8, 16]),
    "conv1d": ([8, 16, 32, 64], [2, 3, 5], [4, 16, 32]),
    "mixer": ([32, 64, 128, 256], [1, 2, 4], [4, 8, 16]),
    "lm": ([32, 64, 128, 256], [1, 2, 3], [2, 4, 8]),
    "lstm": ([32, 64, 128, 256], [1, 2, 4], [8, 16, 64]),
    "gnn": ([16, 32, 64, 128], [1, 2, 3], [2, 8, 16]),
    "linatt": ([32, 64, 128], [1, 2, 3], [2, 4, 8]),
    "conv3d": ([8, 16, 32], [1, 2, 3], [2, 4, 8]),
}


def training(loss: Callable[..., Any], optimizer: str) -> Callable[..., Any]:
    """One step by plain gradient descent or Adam."""
    both, each = jax.value_and_grad(loss), jax.tree.map

    def sgd(p: Any, m: Any, v: Any, *x: Any) -> Any:
        value, g = both(p, *x)
        return value, each(lambda a, b: a - 0.01 * b, p, g), m, v

    def adam(p: Any, m: Any, v: Any, *x: Any) -> Any:
        value, g = both(p, *x)
        m = each(lambda a, b: 0.9 * a + 0.1 * b, m, g)
        v = each(lambda a, b: 0.999 * a + 0.001 * b * b, v, g)
        return value, each(lambda a, b, c: a - 0.001 * b / (jnp.sqrt(c) + 1e-8), p, m, v), m, v

    return sgd if optimizer == "sgd" else adam


def measured(step: Step, optimizer: str) -> tuple[str, float]:
    """Compiled HLO, and the least CPU seconds of a step."""
    loss, p, x = step
    zero = jax.tree.map(jnp.zeros_like, p)
    args = (p, zero, zero, *x)
    run = jax.jit(training(loss, optimizer)).lower(*args).compile()

    def cpu_s(times: int) -> float:
        start = time.process_time()
        for _ in range(times):
            done = run(*args)
        jax.block_until_ready(done)
        return (time.process_time() - start) / times

    cpu_s(1)
    times = max(1, int(LEAST_S / max(cpu_s(1), 1e-5)))
    return run.as_text(), min(cpu_s(times) for _ in range(REPEATS))


def make(
    path: Path, rounds: int, sizes: Mapping[str, Any], steps: Mapping[str, Any], seed: int = 0
) -> None:
    """Write the table."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for turn in range(rounds):
        for name, choices in sizes.items():
            draw = np.random.default_rng([turn, *[seed] * bool(seed), *name.encode()])
            c, d, b = (int(draw.choice(s)) for s in choices)
            optimizer = str(draw.choice(["sgd", "adam"]))
            if (key := (name, c, d, b, optimizer)) not in rows:
                hlo, runtime_s = measured(steps[name](c, d, b), optimizer)
                rows[key] = {"family": name, "app": f"{name}-{c}-{d}", "batch_size": b,
                             "runtime_s": runtime_s, "hlo": hlo}  # fmt: skip
                jax.clear_caches()
    with gzip.open(path, "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows.values())


def judged(paths: Sequence[Path], names: Sequence[str], *, others: bool = True) -> None:
    """Each of these families from the rest, with ``others`` of them in it, too."""
    lines = [x for path in paths for x in gzip.decompress(path.read_bytes()).splitlines()]
    rows = [json.loads(x) for x in lines]
    graphs = {str(k): cost_terms(from_hlo(row["hlo"])) for k, row in enumerate(rows)}
    jobs = table({"app": [x["app"] for x in rows], "device": ["cpu"] * len(rows),
                  "batch_size": [x["batch_size"] for x in rows], "graph": list(graphs),
                  "runtime_s": [x["runtime_s"] for x in rows]}, COLUMNS)  # fmt: skip
    family, made = np.array([x["family"] for x in rows]), {}
    for name in names:
        asked = np.flatnonzero(family == name)
        known = family != name if others else ~np.isin(family, names)
        made[name] = errors(jobs, np.flatnonzero(known), asked, graphs)
        show(name, made[name])
    show("mean of families", {k: np.mean([m[k] for m in made.values()], axis=0)
                              for k in made[name]})  # fmt: skip


def errors(
    jobs: JobTable, known: np.ndarray, asked: np.ndarray, graphs: dict[str, Any]
) -> dict[str, np.ndarray]:
    """MAPE, mean absolute log error and coverage by method."""
    model, log_y = StepCost(["runtime_s"]), np.log(jobs.numpy("runtime_s"))
    model.terms = graphs
    outcome = model.fit(jobs.rows(known)).predict(jobs.rows(asked))
    rows = model.coded(TrainingRows.of(jobs.rows(asked), graphs))
    low, high = np.log(outcome.interval("runtime_s"))
    each = zip(EXPERTS, model.unlike_["runtime_s"].each(rows), strict=True)
    said = dict(each) | {"ours": np.log(outcome.quantile("runtime_s", 0.5))}
    inside = 100 * np.mean((low <= log_y[asked]) & (log_y[asked] <= high))
    away = {k: v - log_y[asked] for k, v in said.items()}
    return {k: np.array([100 * np.abs(np.expm1(e)).mean(), np.abs(e).mean(),
                         inside if k == "ours" else np.nan]) for k, e in away.items()}  # fmt: skip


def show(name: str, made: dict[str, np.ndarray]) -> None:
    """One line."""
    print(f"{name:18s}", *(f"{k} {v[0]:6.1f} % ({v[1]:.2f})" for k, v in made.items()),
          f"covered {made['ours'][2]:.0f} %", flush=True)  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("table", type=Path)
    args.add_argument("--make", type=int, metavar="N", default=0)
    given = args.parse_args()
    if given.make:
        make(given.table, given.make, SIZES, globals())
    judged([given.table], list(SIZES))
