"""The law written out: text for people, LaTeX for papers, Python for programs."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from rheostat.prediction.serving_law.law import NAMES, PARAMETERS, in_units
from rheostat.prediction.serving_law.predictor import ServingLaw
from rheostat.prediction.serving_law.sensitivity import sensitivity

TEXT = """t = host + request b + sqrt(t_w^2 + t_c^2) + t_k
    + (log2 S + N - 1) (sync + exchange b / N a / L)
t = H busy / (C - H static), where that is longer
busy = moving (bandwidth t_w + t_k) + computing compute t_c
e = t / B + t_p + prepare 400 / o (0.3 + 0.7 / (1 + B / crowd))
E = G H (static e + busy / B + computing compute t_p)    power = E / e
t_w = W / (S M bandwidth)    t_c = 2 A B / (G F compute)
t_k = B cache a / (G M) (p + o / 2) / 540
W = bytes (A + (P - A) (1 - exp(-experts b S / T A / P)))         a = sqrt(A / 1e9)
t_p = 2 A prefill / (G F compute) p / (0.15 o) (1 + p sqrt(l A / 12) / A)    l = 32 (P / 8e9)^(1/3)
t step time, s; E energy per token, J; e time of the deployment per token, s; B requests at once, b
of each copy; G GPUs, D x T x N: D copies, T tensor parallel, N stages; S GPUs that weights are
split over, T or the GPUs of the experts; A, P active and all parameters; M, F, L, H a GPU's memory
bytes/s, flop/s, link bytes/s and rated watts, C its power cap; t_p prompts, per token of the
answers; p, o tokens of a prompt and of its answer: where not stated, each factor with them is 1"""

LATEX = r"""\begin{align}
t &= \max\Bigl(h + q b + \sqrt{t_w^2 + t_c^2} + t_k + (\log_2 S + N - 1)\,(s + x b a / (N L)),\;
     \frac{H u}{C - H p_0}\Bigr) \\
u &= p_m (\beta t_w + t_k) + p_c \gamma t_c \\
E &= G H \left(p_0 e + \frac{u}{B} + p_c \gamma\, t_p\right),\quad
     e = \frac{t}{B} + t_p + w\,\frac{400}{o}\Bigl(0.3 + \frac{0.7}{1 + B / n}\Bigr) \\
t_w &= \frac{W}{S M \beta},\quad t_c = \frac{2 A B}{G F \gamma},\quad
     t_k = \frac{B k a}{G M}\,\frac{p + o / 2}{540} \\
t_p &= \frac{2 A r}{G F \gamma}\,\frac{p}{0.15\,o}\Bigl(1 + \frac{p}{A}\sqrt{\frac{l A}{12}}\Bigr),
     \quad l = 32\,\sqrt[3]{P / 8 \cdot 10^9} \\
W &= g\,\bigl(A + (P - A)(1 - e^{-\eta b S A / (T P)})\bigr),\quad a = \sqrt{A / 10^9}
\end{align}"""
SYMBOLS = dict(zip(NAMES, ("h", "q", r"\beta", r"\gamma", "k", "s", "x", r"\eta", "p_0", "p_m",
                           "p_c", "r", "w", "n"), strict=True))  # fmt: skip

PYTHON = '''def step(batch, gpus, active, params, weight_bytes, memory, flops, link, watts,
         stages=1, cap=None, copies=1, expert_gpus=1, prompt=None, answer=None,
         parameters=PARAMETERS):
    """Step time (s), energy per token (J) and mean power (W); parameters as fitted."""
    (host, request, bandwidth, compute, cache, sync, exchange, experts, static, moving, computing,
     prefill, prepare, crowd) = parameters.values()
    own, each_copy = gpus / stages / copies, batch / copies
    split = min(max(expert_gpus, own), gpus / stages) if active < params else own
    context, prompts, answers = 1, 1, 1
    if prompt and answer:
        layers = 32 * (params / 8e9) ** (1 / 3)
        attention = prompt * math.sqrt(layers * active / 12) / active
        context, answers = (prompt + answer / 2) / 540, 400 / answer
        prompts = prompt / answer / 0.15 * (1 + attention)
    touched = 1 - math.exp(-experts * each_copy * split / own * active / params)
    root = math.sqrt(active / 1e9)
    t_w = weight_bytes * (active + (params - active) * touched) / (split * memory * bandwidth)
    t_c = 2 * active * batch / (gpus * flops * compute)
    t_k = batch * cache * context * root / (gpus * memory)
    hops = math.log2(split) + stages - 1
    joined = hops * (sync + exchange * each_copy / stages * root / link)
    t = host + request * each_copy + math.hypot(t_w, t_c) + t_k + joined
    busy = moving * (t_w * bandwidth + t_k) + computing * t_c * compute
    t = max(t, busy / max((cap or watts) / watts - static, 0.05))
    t_p = 2 * active * prefill * prompts / (gpus * flops * compute)
    each = t / batch + t_p + prepare * answers * (0.3 + 0.7 / (1 + batch / crowd))
    energy = gpus * watts * (static * each + busy / batch + computing * compute * t_p)
    return t, energy, energy / each
'''


def intervals(law: ServingLaw, level: float = 0.9) -> dict[str, tuple[float, float, float]]:
    """Value, low and high of each parameter: the prior of all machines, narrowed by the runs."""
    deviation = np.sqrt(np.diag(law.common_covariance()))
    z = float(ndtri((1 + level) / 2))
    moves = np.array([0.0, -z, z])[:, None] * deviation
    values = in_units(law.log_parameters_ + moves).T
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
    values = [f"    {name!r}: {value!r}," for name, value in law.parameters_.items()]
    return "\n".join(["import math", "", "PARAMETERS = {", *values, "}", "", "", PYTHON])
