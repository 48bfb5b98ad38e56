"""Which proposer for which space: the defaults of ``rheostat search``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from typing import Any

from rheostat.core.space import Space
from rheostat.errors import DataError
from rheostat.tradeoff.propose import PROPOSERS


def proposer(
    method: str,
    space: Space,
    objectives: Sequence[str],
    *,
    limits: Iterable[Any] = (),
    seed: int = 0,
) -> Any:
    """The proposer of this name; "auto" is the best one for the space and what is installed."""
    name = automatic(space, objectives) if method == "auto" else method
    if name not in PROPOSERS:
        raise DataError(
            "--method", [f"expected auto or one of {', '.join(PROPOSERS)}; got {method!r}"]
        )
    return PROPOSERS[name](space, objectives, limits=limits, seed=seed)


def automatic(space: Space, objectives: Sequence[str]) -> str:
    """Expected hypervolume for two objectives, BoTorch's for more, Sobol points without torch.

    >>> from rheostat.core.space import Knob
    >>> one = Space.of(Knob("nodes", [1, 2]))
    >>> automatic(one, ("runtime_s", "energy_j")) in ("law", "hypervolume", "sobol")
    True
    """
    if find_spec("botorch") is None:
        return "sobol"
    if len(objectives) == 1:
        return "improvement"
    if len(objectives) > 2:
        return "nehvi"
    law = "law" in PROPOSERS and space.finite and all(k.numeric for k in space.knobs)
    return "law" if law else "hypervolume"
