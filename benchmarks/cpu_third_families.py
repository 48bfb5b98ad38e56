"""Seven families of JAX steps on a CPU that no choice was made on, each from those of other files.

    python benchmarks/cpu_third_families.py TWELVE.jsonl.gz [EIGHT.jsonl.gz] --out SEVEN.jsonl.gz

``--make N`` first compiles and runs N steps of each, about 60 CPU seconds; ``TWELVE`` is what
``cpu_families.py --make`` wrote, ``EIGHT`` what ``cpu_more_families.py --make`` did.  They were
made when the kinds of convolutions and what is left to the plain roofline stood.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import cpu_families as twelve
import jax
import jax.numpy as jnp
from cpu_families import Step, ce, conv, labels, norm, w
from jax import lax


def wavenet(c: int, d: int, b: int) -> Step:
    """Dilated convolutions in one dimension."""
    P = [w(2, c, c) for _ in range(2 * d)] + [w(c, 10)]

    def f(P, x, y):
        for i, k in enumerate(P[:-1]):
            fill = ((2**i, 0),)
            z = lax.conv_general_dilated(x, k, (1,), fill, rhs_dilation=(2**i,),
                                         dimension_numbers=("NWC", "WIO", "NWC"))  # fmt: skip
            x = x + jnp.tanh(z)
        return ce(x.mean(1) @ P[-1], y)

    return f, P, (w(b, 128, c), labels(b))


def densely(c: int, d: int, b: int) -> Step:
    """Convolutions of all that came before."""
    P = [w(3, 3, 3 + i * c, c) for i in range(2 * d)] + [w(3 + 2 * d * c, 10)]

    def f(P, x, y):
        for k in P[:-1]:
            x = jnp.concatenate([x, jax.nn.relu(conv(x, k))], -1)
        return ce(x.mean((1, 2)) @ P[-1], y)

    return f, P, (w(b, 16, 16, 3), labels(b))


def strided(c: int, d: int, b: int) -> Step:
    """Convolutions of every other pixel, as a discriminator has them."""
    wide = [3] + [c * 2**i for i in range(d)]
    P = [w(4, 4, wide[i], wide[i + 1]) for i in range(d)] + [w(wide[-1], 1)]

    def f(P, x, y):
        for k in P[:-1]:
            x = jax.nn.leaky_relu(conv(x, k, 2), 0.2)
        return jnp.mean(jax.nn.softplus(-y * (x.mean((1, 2)) @ P[-1])[:, 0]))

    return f, P, (w(b, 32, 32, 3), w(b))


def points(c: int, d: int, b: int) -> Step:
    """Perceptrons on points, of which the largest values count."""
    P = [w(3 if i == 0 else c, c) for i in range(d + 1)] + [w(c, 10)]

    def f(P, x, y):
        for k in P[:-1]:
            x = jax.nn.relu(x @ k)
        return ce(x.max(1) @ P[-1], y)

    return f, P, (w(b, 256, 3), labels(b))


def operator(c: int, d: int, b: int) -> Step:
    """Products of the lowest Fourier coefficients, by matrices of cosines."""
    n, m = 64, 12
    waves = jnp.cos(jnp.pi * (jnp.arange(n)[:, None] + 0.5) * jnp.arange(m) / n)
    P = [(w(m, c, c), w(c, c)) for _ in range(d)] + [w(c, 1)]

    def f(P, x, y):
        for k, a in P[:-1]:
            z = jnp.einsum("bnc,nm->bmc", x, waves)
            z = jnp.einsum("bmc,mcd->bmd", z, k)
            x = jax.nn.gelu(jnp.einsum("bmc,nm->bnc", z, waves) / n + x @ a)
        return jnp.mean((x @ P[-1] - y) ** 2)

    return f, P, (w(b, n, c), w(b, n, 1))


def latents(c: int, d: int, b: int) -> Step:
    """A few latent vectors that look at many inputs."""
    P = [w(16, c)] + [(w(c, c), w(c, 2 * c), w(c, 4 * c), w(4 * c, c)) for _ in range(d)]
    P.append(w(c, 10))

    def f(P, x, y):
        z = jnp.broadcast_to(P[0], (b, 16, c))
        for q, kv, u, o in P[1:-1]:
            k, v = jnp.split(norm(x) @ kv, 2, -1)
            s = jax.nn.softmax(jnp.einsum("bqc,bkc->bqk", norm(z) @ q, k) / c**0.5)
            z = z + jnp.einsum("bqk,bkc->bqc", s, v)
            z = z + jax.nn.gelu(norm(z) @ u) @ o
        return ce(z.mean(1) @ P[-1], y)

    return f, P, (w(b, 128, c), labels(b))


def voxels(c: int, d: int, b: int) -> Step:
    """Convolutions in three dimensions, of every other voxel and then of all."""
    P = [w(3, 3, 3, 2, c)] + [w(3, 3, 3, c, c) for _ in range(d)] + [w(c, 10)]

    def f(P, x, y):
        x = jax.nn.relu(conv(x, P[0], 2))
        for k in P[1:-1]:
            x = x + jax.nn.relu(conv(x, k))
        return ce(x.mean((1, 2, 3)) @ P[-1], y)

    return f, P, (w(b, 12, 12, 12, 2), labels(b))


SIZES = {
    "wavenet": ([16, 32, 64], [1, 2, 3], [4, 16]),
    "densely": ([4, 8, 16], [1, 2, 3], [4, 8, 16]),
    "strided": ([8, 16, 32], [2, 3], [8, 16, 32]),
    "points": ([32, 64, 128], [1, 2, 4], [4, 16]),
    "operator": ([16, 32, 64], [1, 2, 4], [8, 32]),
    "latents": ([32, 64, 128], [1, 2, 3], [4, 16]),
    "voxels": ([8, 16], [1, 2], [2, 4]),
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("known", type=Path, nargs="+")
    args.add_argument("--out", type=Path, required=True)
    args.add_argument("--make", type=int, metavar="N", default=0)
    given = args.parse_args()
    if given.make:
        twelve.make(given.out, given.make, SIZES, globals(), 2)
    twelve.judged([*given.known, given.out], list(SIZES), others=False)
