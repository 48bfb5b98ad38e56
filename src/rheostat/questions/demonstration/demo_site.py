"""A generated site as its accounting would record it: what `rheostat serve --demo` shows.

The jobs of a `World` wait for each other on one machine under EASY, so that power, queue and waits
belong together.  The log ends in the middle of a working day: some jobs run, some wait.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from rheostat.core.jobs import JobTable
from rheostat.core.machine import Machine
from rheostat.core.series import Series
from rheostat.core.vocabulary import VOCABULARY
from rheostat.measurement.synthetic.habits import ProjectHabits
from rheostat.measurement.synthetic.site_law import Apps
from rheostat.measurement.synthetic.world import CORES_PER_NODE, World
from rheostat.prediction.saved_models.persist import save
from rheostat.recipes import nodecount
from rheostat.simulation.simulate import simulate_run
from rheostat.simulation.timeline import steps

LOAD = 0.8
"""Share of the machine that the jobs of the generated log need."""
IDLE_NODE_W = 160.0
OVER_ASK = 0.5
"""Share of the projects that ask for `MORE_NODES` times as many nodes as the others."""
MORE_NODES = 4
SERIAL = (0.1, 0.5)
"""Share of the work on one node that every third application cannot divide among nodes."""
LEARNT = 0.7
"""Share of the jobs, the oldest, that the model learns from."""
NOW = (0.9, 0.99)
"""Shares of the submissions between which the log ends."""
END = ("start_s", "wait_s", "end_s", "runtime_s", "power_w", "energy_j")


class DemoWorld(World):
    """The site behind the log: half of its projects ask for more nodes than they have use for.

    A project asks for four times as many nodes as its like, whatever its application gains from
    them, and every third application gains little beyond a few nodes (Amdahl's law).  ``truth``
    tells what any other setting would have cost.
    """

    @classmethod
    def of(cls, seed: int, jobs: int) -> DemoWorld:
        """The site of a log of so many jobs in six weeks."""
        return cls(seed, max_nodes=64, jobs_per_day=jobs / 42)

    @cached_property
    def apps(self) -> Apps:
        """The hidden applications, every third of them with a part that nodes cannot divide."""
        drawn = Apps.draw(self.n_apps, np.random.default_rng([self.seed, 1]), self.work_scale)
        rng = np.random.default_rng([self.seed, 5])
        poor = rng.permutation(self.n_apps) % 3 == 0
        serial = rng.uniform(*SERIAL, self.n_apps)
        return replace(drawn, contention=np.where(poor, serial, drawn.contention))

    @cached_property
    def projects(self) -> ProjectHabits:
        """The hidden habits, some of them of asking for more than is of use."""
        usual = ProjectHabits.draw(self.apps, self.n_users, np.random.default_rng([self.seed, 2]))
        more = np.random.default_rng([self.seed, 6]).random(len(usual.level)) < OVER_ASK
        return replace(usual, level=usual.level + np.log2(MORE_NODES) * more)


@dataclass(frozen=True)
class DemoSite:
    """Files of a generated site.

    Parameters
    ----------
    log : Path
        What accounting would have recorded, parquet.
    model : Path
        Learned from the older jobs of the log.
    machine : Path
        Processors, idle watts and a power cap, TOML.
    """

    log: Path
    model: Path
    machine: Path


def demo_site(folder: Path, *, seed: int = 0, jobs: int = 6000) -> DemoSite:
    """Generate a site's log, learn a model from its older jobs, and write both and the machine.

    Parameters
    ----------
    folder : Path
        Where the three files go.
    seed : int
        Of the site.
    jobs : int
        Jobs of the log, at least 200.

    Returns
    -------
    DemoSite
        The files.
    """
    log, machine = generated(seed, jobs)
    names = DemoSite(folder / "log.parquet", folder / "model.rheo", folder / "site.toml")
    log.write_parquet(names.log)
    names.machine.write_text(_toml(machine))
    known = nodecount.prepared(log)
    ended = known.rows(known.frame["runtime_s"].is_not_null().to_numpy())
    past = ended.rows(np.arange(int(LEARNT * len(ended))))
    save(nodecount.model("within", past, seed=seed).fit(past), names.model)
    return names


def generated(seed: int, jobs: int) -> tuple[JobTable, Machine]:
    """The log and the machine; jobs that have not ended have no end, those that wait no start."""
    asked = DemoWorld.of(seed, jobs).jobs(jobs)
    submit, run, cores = (asked.numpy(c) for c in ("submit_s", "runtime_s", "cores"))
    span = float(submit.max() - submit.min())
    nodes = int(np.ceil((run * cores).sum() / CORES_PER_NODE / LOAD / span))
    machine = Machine(max(nodes, 64) * CORES_PER_NODE, "demo", IDLE_NODE_W / CORES_PER_NODE)
    ran = simulate_run(asked, "easy", machine).jobs.frame
    now = _busy(ran)
    ran = ran.filter(pl.col("submit_s") <= now)
    start, end = ran["start_s"], ran["end_s"]
    state = pl.when(start > now).then(pl.lit("PENDING")).when(end > now).then(pl.lit("RUNNING"))
    known = {c: pl.when((start if c in ("start_s", "wait_s") else end) <= now).then(ran[c])
             for c in END}  # fmt: skip
    frame = ran.select([*asked.columns, "wait_s"]).with_columns(
        **known, state=state.otherwise(ran["state"])
    )
    log = JobTable(frame, asked.schema.with_columns([VOCABULARY["wait_s"]]).only(frame.columns))
    return log, _capped(machine, log, now)


def _busy(ran: pl.DataFrame) -> float:
    """A moment late in the log at which many jobs wait."""
    submit, start = ran["submit_s"].to_numpy(), ran["start_s"].to_numpy()
    moments, waiting = steps(submit, start, np.ones(len(submit)))
    late = (moments >= np.quantile(submit, NOW[0])) & (moments <= np.quantile(submit, NOW[1]))
    return float(moments[late][np.argmax(waiting[late])])


def _capped(machine: Machine, log: JobTable, now: float) -> Machine:
    """With a cap that the busiest hundredth of the time exceeds, lower by day."""
    begin, end, watts = (log.numpy(c) for c in ("start_s", "end_s", "power_w"))
    here = np.isfinite(end) & np.isfinite(watts)
    _, drawn = steps(begin[here], end[here], watts[here])
    high = float(np.quantile(drawn, 0.97)) + machine.procs * machine.idle_w * 0.3
    level = round(high / 1e4) * 1e4 or high
    cap = Series((0.0, 61_200.0, 72_000.0), (level, round(0.85 * level), level), 86_400.0)
    return Machine(machine.procs, machine.name, machine.idle_w, cap_w=cap)


def _toml(machine: Machine) -> str:
    assert machine.cap_w is not None
    values = ", ".join(f"{v:g}" for v in machine.cap_w.values)
    moments = ", ".join(f"{v:g}" for v in machine.cap_w.from_s)
    return (
        f'name = "{machine.name}"\nprocs = {machine.procs}\nidle_w = {machine.idle_w:g}\n\n'
        f"[power]\ncap_w = {{ from_s = [{moments}], value = [{values}], "
        f"repeat_s = {machine.cap_w.repeat_s:g} }}\n"
    )
