"""`budget.demo`: generated runs under caps, for trying the other questions."""

from __future__ import annotations

from pathlib import Path

from rheostat.core.jobs import JobTable
from rheostat.core.storage.files import replacing
from rheostat.decision.actuate.actuators import write_tree
from rheostat.measurement.synthetic.capped_runs import capped_runs
from rheostat.questions import listener
from rheostat.recipes.ecoshift import dealt


def demo(
    out: Path | str = "capped_runs.csv",
    *,
    apps: int = 12,
    repeats: int = 1,
    noise: float = 0.01,
    tree: Path | str | None = None,
    seed: int = 0,
) -> JobTable:
    """Write a generated table of runs under CPU and GPU caps.

    Parameters
    ----------
    out : path
        CSV to write.
    apps, repeats : int
        Applications, and runs of each setting.
    noise : float
        Relative spread of a run.
    tree : path, optional
        Also a folder of caps as files, to rehearse `apply`.
    seed : int
        Of what is drawn.

    Returns
    -------
    JobTable
        The runs.
    """
    runs = capped_runs(apps, repeats=repeats, noise=noise, seed=seed)
    with replacing(Path(out)) as draft:
        runs.frame.write_csv(draft)
    listener.line(f"wrote {out}: {len(runs)} generated runs")
    if tree is not None:
        low = [float(runs.numpy(name).min()) for name in ("cpu_cap_w", "gpu_cap_w")]
        for name in dealt(dict.fromkeys(runs.frame["app"].unique().sort()))["node"]:  # type: ignore[arg-type]
            write_tree(Path(tree), name, cpu_w=low[0], gpu_w=low[1])
        listener.line(f"wrote {tree}: caps of {apps} nodes as files")
    return runs
