"""`network.generate`: a simulated run of two applications and noise on a Dragonfly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from rheostat.core.report import Report
from rheostat.errors import DataError
from rheostat.measurement.network.dragonfly import Dragonfly
from rheostat.measurement.network.generate import generate_network_run
from rheostat.questions import listener
from rheostat.questions.answer import Answer
from rheostat.questions.listener import question


@dataclass(frozen=True, kw_only=True, repr=False)
class GeneratedRun(Answer):
    """Where a simulated run was written, and of what network.

    Parameters
    ----------
    folder : Path
        As `read` takes it.
    groups, routers_per_group, terminals_per_router, global_links_per_router : int
        Of the Dragonfly.
    iterations : int
        Of each application.
    load : float
        Share of its link that a source of noise sends.
    seed : int
        Of what is drawn.
    """

    schema: ClassVar[str] = "rheostat.network-generate/1"
    folder: Path
    groups: int
    routers_per_group: int
    terminals_per_router: int
    global_links_per_router: int
    iterations: int
    load: float
    seed: int

    def report(self) -> Report:
        """Nothing: the folder is the answer."""
        return Report("", [])

    def facts(self) -> dict[str, Any]:
        """The folder, the network and the applications."""
        return {k: v for k, v in asdict(self).items() if k != "notes"} | {
            "folder": str(self.folder)
        }


@question
def generate(
    folder: Path | str,
    *,
    sizes: str | Sequence[int] = (9, 4, 2, 2),
    iterations: int = 60,
    load: float = 0.1,
    seed: int = 0,
) -> GeneratedRun:
    """Simulate two applications and noise on a Dragonfly with SimGrid (Debian: python3-simgrid).

    A halo exchange, an all-reduce whose every tenth iteration is longer, and random messages whose
    rate changes.

    Parameters
    ----------
    folder : path
        Written here, as `read` takes it.
    sizes : sequence of four int
        Groups, routers of a group, terminals and global links of a router.
    iterations : int
        Of each application.
    load : float
        Share of its link that a source of noise sends.
    seed : int
        Of what is drawn.

    Returns
    -------
    GeneratedRun

    Raises
    ------
    DataError
        Four counts are expected, or SimGrid is not there.
    """
    given = sizes.split(",") if isinstance(sizes, str) else sizes
    try:
        groups, routers, terminals, wide = map(int, given)
    except ValueError as error:
        raise DataError("--sizes", [f"expected four counts, got {sizes!r}"]) from error
    place, where = Dragonfly(groups, routers, terminals, wide), Path(folder)
    with listener.working("simulating"):
        generate_network_run(where, place, iterations=iterations, load=load, seed=seed)
    listener.line(f"wrote {folder}")
    return GeneratedRun(folder=where, groups=groups, routers_per_group=routers,
                        terminals_per_router=terminals, global_links_per_router=wide,
                        iterations=iterations, load=load, seed=seed)  # fmt: skip
