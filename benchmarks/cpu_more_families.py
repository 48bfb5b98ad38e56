"""Eight further families of JAX steps on a CPU, each from the twelve of `cpu_families`.

    python benchmarks/cpu_more_families.py TWELVE.jsonl.gz EIGHT.jsonl.gz --make 5

``--make N`` compiles and runs N steps of each, about 150 CPU seconds; ``TWELVE`` is what
``cpu_families.py --make`` wrote.  They were made after the laws were chosen, to confirm them.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import cpu_families as twelve
import jax
import jax.numpy as jnp
import numpy as np
from cpu_families import Step, ce, conv, labels, norm, r, w
from jax import lax

NHWC = ("NHWC", "HWIO", "NHWC")


def video(c: int, d: int, b: int) -> Step:
    """Convolutions in space and in time by turns."""
    P = [w(1, 3, 3, c if i else 1, c) if i % 2 == 0 else w(3, 1, 1, c, c) for i in range(2 * d)]

    def f(P, x, y):
        for k in P[:-1]:
            x = jax.nn.relu(conv(x, k))
        return ce(x.mean((1, 2, 3)) @ P[-1], y)

    return f, [*P, w(c, 10)], (w(b, 6, 10, 10, 1), labels(b))


def vae(c: int, d: int, b: int) -> Step:
    """Variational autoencoder of strided and transposed convolutions."""
    P = [w(3, 3, 1, c), w(3, 3, c, 2 * c), w(98 * c, 32), w(16, 98 * c), w(3, 3, 2 * c, c),
         w(3, 3, c, 1)]  # fmt: skip

    def f(P, x):
        h = jax.nn.relu(conv(jax.nn.relu(conv(x, P[0], 2)), P[1], 2))
        m, v = jnp.split(h.reshape(b, -1) @ P[2], 2, -1)
        h = jax.nn.relu((m + jnp.exp(0.5 * v) * 0.1) @ P[3]).reshape(b, 7, 7, -1)
        h = lax.conv_transpose(h, P[4], (2, 2), "SAME", dimension_numbers=NHWC)
        h = lax.conv_transpose(jax.nn.relu(h), P[5], (2, 2), "SAME", dimension_numbers=NHWC)
        return jnp.mean((jax.nn.sigmoid(h) - x) ** 2) + jnp.mean(m**2 + jnp.exp(v) - v)

    return f, P, (w(b, 28, 28, 1),)


def vit(c: int, d: int, b: int) -> Step:
    """Transformer on patches of images."""
    P = [(w(c, 3 * c), w(c, c), w(c, 4 * c), w(4 * c, c)) for _ in range(d)]

    def f(P, x, y):
        x = conv(x, P[0], 4).reshape(b, 64, c)
        for a, o, u, q in P[1:-1]:
            k = (norm(x) @ a).reshape(b, 64, 3, 4, c // 4)
            z = jnp.einsum("bqhd,bkhd->bhqk", k[:, :, 0], k[:, :, 1]) / np.sqrt(c // 4)
            z = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(z), k[:, :, 2])
            x = x + z.reshape(b, 64, c) @ o
            x = x + jax.nn.gelu(norm(x) @ u) @ q
        return ce(norm(x).mean(1) @ P[-1], y)

    return f, [w(4, 4, 3, c), *P, w(c, 10)], (w(b, 32, 32, 3), labels(b))


def dlrm(c: int, d: int, b: int) -> Step:
    """Bags of embeddings and their products."""
    P = [w(2000, c) for _ in range(6)] + [w(13, 64), w(64, c), w(c + 21, 64), w(64, 1)]

    def f(P, x, i, y):
        h = jax.nn.relu(x @ P[6]) @ P[7]
        z = jnp.stack([h] + [P[k][i[k]].mean(1) for k in range(6)], 1)
        rows, columns = np.tril_indices(7, -1)
        g = jnp.einsum("bic,bjc->bij", z, z)[:, rows, columns]
        o = jax.nn.relu(jnp.concatenate([h, g], 1) @ P[8]) @ P[9]
        return jnp.mean((o[:, 0] - y) ** 2)

    return f, P, (w(b, 13), jnp.asarray(r.integers(0, 2000, (6, b, 2 * d))), w(b))


def moe(c: int, d: int, b: int) -> Step:
    """Eight experts, of whom the best two count."""
    P = [(w(c, 8), w(8, c, 2 * c), w(8, 2 * c, c)) for _ in range(d)] + [w(c, 10)]

    def f(P, x, y):
        for g, a, q in P[:-1]:
            v, i = lax.top_k(jax.nn.softmax(norm(x) @ g), 2)
            m = jnp.einsum("bk,bke->be", v, jax.nn.one_hot(i, 8))
            h = jax.nn.relu(jnp.einsum("bc,ecf->ebf", x, a))
            x = x + jnp.einsum("ebf,efc,be->bc", h, q, m)
        return ce(x @ P[-1], y)

    return f, P, (w(b, c), labels(b))


def rwkv(c: int, d: int, b: int) -> Step:
    """Weighted sums of the past, by a scan."""
    P = w(c, c), w(c, c), w(c, c), w(c), w(c, 10)

    def f(P, x, y):
        fade = jnp.exp(-jnp.exp(P[3]))

        def cell(s, kv):
            (n, m), (k, v) = s, kv
            e = jnp.exp(k)
            return (n * fade + e * v, m * fade + e), (n + e * v) / (m + e)

        _, o = lax.scan(cell, (jnp.zeros((b, c)), jnp.ones((b, c))), (x @ P[0], x @ P[1]))
        return ce((jax.nn.sigmoid(x @ P[2]) * o).mean(0) @ P[4], y)

    return f, P, (w(32 * d, b, c), labels(b))


def sres(c: int, d: int, b: int) -> Step:
    """Images twice as large."""
    P = [w(5, 5, 1, c), *(w(3, 3, c, c) for _ in range(d)), w(3, 3, c, 4)]

    def f(P, x, y):
        for k in P[:-1]:
            x = jnp.tanh(conv(x, k))
        x = conv(x, P[-1]).reshape(b, 16, 16, 2, 2).transpose(0, 1, 3, 2, 4)
        return jnp.mean((x.reshape(b, 32, 32, 1) - y) ** 2)

    return f, P, (w(b, 16, 16, 1), w(b, 32, 32, 1))


def gru(c: int, d: int, b: int) -> Step:
    """Recurrent with gates, by a scan."""
    P = w(32, 3 * c), w(c, 3 * c), w(c, 10)

    def f(P, x, y):
        def cell(h, x):
            (z, q, n), (p, s, m) = (jnp.split(v, 3, -1) for v in (x @ P[0], h @ P[1]))
            z = jax.nn.sigmoid(z + p)
            return z * h + (1 - z) * jnp.tanh(n + jax.nn.sigmoid(q + s) * m), None

        return ce(lax.scan(cell, jnp.zeros((b, c)), x)[0] @ P[2], y)

    return f, P, (w(16 * d, b, 32), labels(b))


SIZES = {
    "video": ([8, 16, 32], [1, 2], [2, 4]),
    "vae": ([8, 16, 32], [1], [4, 16, 32]),
    "vit": ([32, 64, 128], [1, 2, 3], [2, 4, 8]),
    "dlrm": ([16, 64], [1, 4], [64, 256, 512]),
    "moe": ([32, 64, 128], [1, 2], [16, 64, 128]),
    "rwkv": ([32, 64, 128], [1, 2], [8, 32]),
    "sres": ([8, 16, 32], [1, 2, 3], [4, 8]),
    "gru": ([32, 64, 128], [1, 2, 3], [8, 32]),
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("twelve", type=Path)
    args.add_argument("eight", type=Path)
    args.add_argument("--make", type=int, metavar="N", default=0)
    given = args.parse_args()
    if given.make:
        twelve.make(given.eight, given.make, SIZES, globals(), 99)
    twelve.judged([given.twelve, given.eight], list(SIZES), others=False)
