"""The law written out: text for people, LaTeX for papers, Python for programs."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from rheostat.prediction.serving_law.law import HIGHEST, NAMES, PARAMETERS
from rheostat.prediction.serving_law.predictor import ServingLaw
from rheostat.prediction.serving_law.sensitivity import sensitivity

TEXT = """t = host + request B + sqrt(t_w^2 + t_c^2) + t_k
    + (log2 T + N - 1) (sync + exchange B / N a / L)
t = D busy / (C - D static), where that is longer
busy = moving (bandwidth t_w + t_k) + computing compute t_c
e = t / B + t_p + prepare (0.3 + 0.7 / (1 + B / crowd))
E = G D (static e + busy / B + computing compute t_p)    power = E / e
t_w = W / (T M bandwidth)    t_c = 2 A B / (G F compute)    t_k = B cache a / (G M)
W = bytes (A + (P - A) (1 - exp(-experts B A / P)))         a = sqrt(A / 1e9)
t_p = 2 A prefill / (G F compute)
t step time, s; E energy per token, J; e time of the deployment per token, s; B requests at once;
G GPUs, T x N: T tensor or expert parallel, N stages; A, P active and all parameters; M, F, L, D a
GPU's memory bytes/s, flop/s, link bytes/s and rated watts, C its power cap; t_p prompts, per token
of the answers"""

LATEX = r"""\begin{align}
t &= \max\Bigl(h + q B + \sqrt{t_w^2 + t_c^2} + t_k + (\log_2 T + N - 1)\,(s + x B a / (N L)),\;
     \frac{D u}{C - D p_0}\Bigr) \\
u &= p_m (\beta t_w + t_k) + p_c \gamma t_c \\
E &= G D \left(p_0 e + \frac{u}{B} + p_c \gamma\, t_p\right),\quad
     e = \frac{t}{B} + t_p + w\Bigl(0.3 + \frac{0.7}{1 + B / n}\Bigr),\quad
     t_p = \frac{2 A r}{G F \gamma} \\
t_w &= \frac{W}{T M \beta},\quad t_c = \frac{2 A B}{G F \gamma},\quad t_k = \frac{B k a}{G M} \\
W &= b\,\bigl(A + (P - A)(1 - e^{-\eta B A / P})\bigr),\quad a = \sqrt{A / 10^9}
\end{align}"""
SYMBOLS = dict(zip(NAMES, ("h", "q", r"\beta", r"\gamma", "k", "s", "x", r"\eta", "p_0", "p_m",
                           "p_c", "r", "w", "n"), strict=True))  # fmt: skip

PYTHON = '''def step(batch, gpus, active, params, weight_bytes, memory, flops, link, watts,
         stages=1, cap=None):
    """Step time (s), energy per token (J) and mean power (W); parameters as fitted."""
    touched = 1 - math.exp(-experts * batch * active / params)
    root, split = math.sqrt(active / 1e9), gpus / stages
    t_w = weight_bytes * (active + (params - active) * touched) / (split * memory * bandwidth)
    t_c = 2 * active * batch / (gpus * flops * compute)
    t_k = batch * cache * root / (gpus * memory)
    joined = (math.log2(split) + stages - 1) * (sync + exchange * batch / stages * root / link)
    t = host + request * batch + math.hypot(t_w, t_c) + t_k + joined
    busy = moving * (t_w * bandwidth + t_k) + computing * t_c * compute
    t = max(t, busy / max((cap or watts) / watts - static, 0.05))
    t_p = 2 * active * prefill / (gpus * flops * compute)
    each = t / batch + t_p + prepare * (0.3 + 0.7 / (1 + batch / crowd))
    energy = gpus * watts * (static * each + busy / batch + computing * compute * t_p)
    return t, energy, energy / each
'''


def intervals(law: ServingLaw, level: float = 0.9) -> dict[str, tuple[float, float, float]]:
    """Value, low and high of each parameter: the prior of all machines, narrowed by the runs."""
    deviation = np.sqrt(np.diag(law.common_covariance()))
    z = float(norm.ppf((1 + level) / 2))
    moves = np.array([0.0, -z, z])[:, None] * deviation
    values = np.exp(np.minimum(law.log_parameters_ + moves, HIGHEST)).T
    return {n: (float(v), float(a), float(b)) for n, (v, a, b) in zip(NAMES, values, strict=True)}


def as_text(law: ServingLaw) -> str:
    """The equation, each parameter with its unit, 90 % interval and meaning, and what matters."""
    units = {p.name: p for p in PARAMETERS}
    lines = [f"{'':>10}   {'value':8} {'90 % interval':21} unit"]
    lines += [
        f"{name:>10} = {f'{value:.3g}':8} {f'[{low:.3g}, {high:.3g}]':21} "
        f"{units[name].unit or '1':4} {units[name].meaning}"
        for name, (value, low, high) in intervals(law).items()
    ]
    matters = sensitivity(law)
    return "\n".join([TEXT, "", *lines, *(["", matters.as_text()] if matters else [])])


def as_latex(law: ServingLaw) -> str:
    r"""The equation, and a line with the values: needs ``amsmath``."""
    values = ", ".join(rf"{SYMBOLS[n]} = {v:.3g}" for n, (v, _, _) in intervals(law).items())
    return f"{LATEX}\n${values}$"


def as_python(law: ServingLaw) -> str:
    """A function of plain numbers, with the parameters above it; runs by itself."""
    values = [f"{name} = {value!r}" for name, value in law.parameters_.items()]
    return "\n".join(["import math", "", *values, "", "", PYTHON])
