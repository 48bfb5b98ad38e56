"""The law of some configurations as it answers for them: parameters, what is left over, answers.

Each configuration has parameters of its own (`sharing`).  What the parameters leave over, what the
learned part adds and the mean of the draws are one factor for each quantity, a table of its own:

    answer = factor x the law at these parameters
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rheostat.core.jobs import JobTable
from rheostat.prediction.serving_law.configurations import Array, Configurations
from rheostat.prediction.serving_law.equation import LATEX, PYTHON, SYMBOLS, TEXT
from rheostat.prediction.serving_law.law import NAMES, PARAMETERS, in_units, step
from rheostat.prediction.serving_law.measured_rows import QUANTITIES
from rheostat.prediction.serving_law.predictor import ServingLaw

AT_ONCE = 6
"""Configurations side by side in the printed table."""
LEFT = ("time x", "energy x", "power x")
ANSWERS = ("time s", "energy J", "power W")
ARGUMENTS = {
    "batch": "batch", "gpus": "gpus", "active": "active", "params": "params",
    "weight_bytes": "weight_b", "memory": "memory_b_per_s", "flops": "flop_per_s",
    "link": "link_b_per_s", "watts": "power_w", "stages": "pp", "cap": "cap_w", "copies": "dp",
    "expert_gpus": "ep", "prompt": "prompt", "answer": "output",
}  # fmt: skip
"""Arguments of the Python function, as `Configurations` has them."""


@dataclass(frozen=True)
class PrintedPlacement:
    """Configurations n, ``parameters`` (n, k), ``factors`` and ``answers`` (n, 3), and labels."""

    at: Configurations
    labels: list[str]
    parameters: Array
    factors: Array
    answers: Array

    @staticmethod
    def of(law: ServingLaw, asked: JobTable) -> PrintedPlacement:
        """What ``law`` answers for ``asked``."""
        at = Configurations.of(asked)
        logs = law.log_parameters_of(at)
        said = law.predict(asked)
        answers = np.column_stack([said.mean(q) for q in QUANTITIES])
        factors = answers / np.exp(np.column_stack(step(logs, at)))
        return PrintedPlacement(at, _labels(at), in_units(logs), factors, answers)

    def as_text(self) -> str:
        """The equation, and a column of numbers for each configuration."""
        units = {p.name: p.unit or "1" for p in PARAMETERS}
        rows = [(f"{n} {units[n]}", self.parameters[:, k]) for k, n in enumerate(NAMES)]
        rows += [(n, self.factors[:, k]) for k, n in enumerate(LEFT)]
        rows += [(n, self.answers[:, k]) for k, n in enumerate(ANSWERS)]
        blocks = []
        for first in range(0, len(self.labels), AT_ONCE):
            own = slice(first, first + AT_ONCE)
            head = [f"({first + i + 1}) {label}" for i, label in enumerate(self.labels[own])]
            numbers = "".join(f"{f'({first + i + 1})':>12}" for i in range(len(head)))
            cells = [f"{n:>14}" + "".join(f"{v:12.6g}" for v in values[own]) for n, values in rows]
            blocks.append("\n".join([*head, f"{'':>14}{numbers}", *cells]))
        said = "answer = factor (x) times the law at these parameters"
        return "\n\n".join([TEXT, *blocks, said])

    def as_latex(self) -> str:
        """The equation, and a table."""
        names = [f"${SYMBOLS[n]}$" for n in NAMES] + [r"$\times t$", r"$\times E$", r"$\times E/e$"]
        values = np.column_stack([self.parameters, self.factors])
        head = " & ".join(["", *(f"({i + 1})" for i in range(len(self.labels)))])
        rows = [" & ".join([n, *(f"{v:.6g}" for v in values[:, k])]) for k, n in enumerate(names)]
        body = " \\\\\n".join([head, *rows])
        places = "\n".join(f"% ({i + 1}) {label}" for i, label in enumerate(self.labels))
        columns = "l" + "r" * len(self.labels)
        return f"{LATEX}\n{places}\n\\begin{{tabular}}{{{columns}}}\n{body}\n\\end{{tabular}}"

    def as_python(self) -> str:
        """A function of no other file: ``predict(i)`` answers for configuration i."""
        rows = []
        for i, label in enumerate(self.labels):
            place = {a: float(getattr(self.at, f)[i]) for a, f in ARGUMENTS.items()}
            place = {a: v for a, v in place.items() if np.isfinite(v)}
            numbers = dict(zip(NAMES, self.parameters[i].tolist(), strict=True))
            rows.append(f"    # {label}\n    ({place},\n     {numbers},\n"
                        f"     {tuple(self.factors[i].tolist())}),")  # fmt: skip
        asked = ('def predict(i):\n    """Time (s), energy per token (J) and power (W) of '
                 'configuration i."""\n    place, parameters, factors = CONFIGURATIONS[i]\n'
                 "    law = step(**place, parameters=parameters)\n"
                 "    return tuple(f * v for f, v in zip(factors, law))\n")  # fmt: skip
        first = "PARAMETERS = CONFIGURATIONS[0][1]"
        return "\n".join(["import math", "", "CONFIGURATIONS = [", *rows, "]", first, "", "",
                          PYTHON, "", asked])  # fmt: skip


def _labels(at: Configurations) -> list[str]:
    """Model, GPUs, split, batch cap and lengths of each."""
    made = []
    for i in range(len(at)):
        parts = [f"{at.app[i]} on {at.gpus[i]:g} x {at.gpu[i]}"]
        parts += [f"{n} {getattr(at, n)[i]:g}" for n in ("pp", "dp", "ep") if getattr(at, n)[i] > 1]
        parts += [str(at.workload[i])] if at.workload[i] else []
        parts.append(f"batch cap {at.batch[i]:g}")
        if np.isfinite(at.prompt[i] + at.output[i]):
            parts.append(f"{at.prompt[i]:g} + {at.output[i]:g} tokens")
        made.append(", ".join(parts))
    return made
