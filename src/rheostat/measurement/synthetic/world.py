"""`World`: a generated site whose truth is known, so that a model can be marked right or wrong.

Logs of real sites ran each job once, so nobody knows what the other settings would have cost.
Here everybody does: `World.jobs` draws a log as a site would keep it, `World.truth` tells what any
row of it, or any alternative of a row, costs without noise.  All of it follows from the seed.

Notation
--------
n  jobs       x  problem size: memory asked for / the application's typical memory, times a
hidden factor exp(0.1 z) that no column shows
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.jobs import JobTable
from rheostat.core.outcome import Outcome
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement.synthetic.habits import ProjectHabits, repeated
from rheostat.measurement.synthetic.site_law import Apps, Array

EPOCH_S = 1_704_067_200.0  # 2024-01-01T00:00:00Z, a Monday
CORES_PER_NODE = 64
HIDDEN = 0.1
NAMES = ("lattice", "ocean", "plasma", "fold", "mesh", "quake", "stars", "alloy", "storm", "wing",
         "protein", "reactor")  # fmt: skip
STATES = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT")


@dataclass(frozen=True)
class World:
    """A site of ``n_apps`` applications and ``n_users`` users on ``max_nodes`` nodes.

    ``work_scale`` multiplies the work of every job (1: a median run of about two hours).

    >>> world = World(seed=1)
    >>> jobs = world.jobs(1000)
    >>> jobs.frame.equals(World(seed=1).jobs(1000).frame)
    True
    >>> from rheostat.core.space import Knob, Space
    >>> turned = Space.of(Knob("nodes", [1, 4, 16])).alternatives(jobs.rows([0]))
    >>> world.truth(turned).mean("power_w").round(0).shape
    (3,)

    ``truth`` looks at the columns account, nodes and memory_b (job_id for the hidden part of the
    problem size, cap_w for a cap of one node, where present).  ``cores``, ``gpus`` and ``tasks``
    are totals of the whole job as it was submitted: when the nodes of a row are turned, they
    are out of date (`rheostat.measurement.repairs.per_node_requests` replaces them by amounts per
    node).
    """

    seed: int = 0
    n_apps: int = 12
    n_users: int = 60
    max_nodes: int = 256
    jobs_per_day: float = 500.0
    work_scale: float = 1.0

    def __post_init__(self) -> None:
        bad = [f"{k} is {v}, expected at least 1" for k, v in vars(self).items()
               if k in ("n_apps", "n_users", "max_nodes") and v < 1]  # fmt: skip
        bad += [f"{k} is {v}, expected more than 0" for k, v in vars(self).items()
                if k in ("jobs_per_day", "work_scale") and v <= 0]  # fmt: skip
        if bad:
            raise DataError("World", bad)

    @cached_property
    def apps(self) -> Apps:
        """The hidden applications."""
        return Apps.draw(self.n_apps, np.random.default_rng([self.seed, 1]), self.work_scale)

    @cached_property
    def projects(self) -> ProjectHabits:
        """The hidden habits."""
        return ProjectHabits.draw(self.apps, self.n_users, np.random.default_rng([self.seed, 2]))

    def app_names(self) -> list[str]:
        """Names of the applications, by index."""
        return [NAMES[i % 12] + (str(i // 12 + 1) if i >= 12 else "") for i in range(self.n_apps)]

    def jobs(self, n: int, seed: int = 0) -> JobTable:
        """A log of ``n`` jobs in order of submission, as a site would keep it: one run each.

        TIMEOUT, FAILED and CANCELLED runs are censored: runtime_s is where they were cut.
        """
        if n < 1:
            raise DataError("World.jobs", [f"n is {n}, expected at least 1"])
        rng = np.random.default_rng([self.seed, 3, seed])
        submit = _submissions(n, n / self.jobs_per_day, rng)
        when = (submit - submit[0]) / max(submit[-1] - submit[0], 1.0)
        project = self.projects.active(when, rng)
        asked = repeated(project, rng)
        nodes = self.projects.nodes(project, self.max_nodes, rng)[asked]
        memory = self.projects.memory_b(project, self.apps, when, rng)[asked]
        ids = 1_000_000 * (1 + seed) + np.arange(n, dtype=np.int64)
        app = self.projects.app[project]
        size = memory / self.apps.memory_b[app] * _hidden(ids, self.seed)
        clean = self.apps.runtime_s(app, nodes, size), self.apps.power_w(app, nodes)
        limit = self.projects.limit_s(project, clean[0] * np.exp(rng.normal(0, 0.3, n)))[asked]
        asked_for = {
            "job_id": ids,
            **self._who(project),
            "qos": pl.Series(np.where(limit > 24 * 3600, "long", "normal")),
            "submit_s": submit,
            **self._amounts(app, nodes),
            "memory_b": memory,
            "time_limit_s": limit,
        }
        return table(asked_for | self._observed(app, clean, asked_for, rng))

    def _who(self, project: NDArray[np.int64]) -> dict[str, pl.Series]:
        """Most people name a job after the application; some call everything run.sh."""
        projects = self.projects
        honest = np.array(self.app_names())[projects.app]
        queue = np.where(self.apps.gpus_per_node[projects.app] > 0, "gpu", "cpu")
        return {
            "user": _named("u", projects.user[project], 3),
            "account": _named("p", project, 4),
            "app": pl.Series(np.where(projects.nameless, "run.sh", honest)[project]),
            "partition": pl.Series(queue[project]),
        }

    def _amounts(self, app: NDArray[np.int64], nodes: NDArray[np.int64]) -> dict[str, Any]:
        """What a job of whole nodes asks for besides nodes."""
        gpus = self.apps.gpus_per_node[app]
        return {
            "nodes": nodes,
            "cores": nodes * CORES_PER_NODE,
            "gpus": nodes * gpus,
            "tasks": nodes * np.where(gpus > 0, gpus, CORES_PER_NODE),
        }

    def _observed(
        self,
        app: NDArray[np.int64],
        clean: tuple[Array, Array],
        asked: Mapping[str, Any],
        rng: np.random.Generator,
    ) -> dict[str, Any]:
        """Start, end, state and measured values: the truth with noise, cut where a run ended."""
        n, nodes, submit = len(app), asked["nodes"], asked["submit_s"]
        noisy = clean[0] * np.exp(rng.normal(0, self.apps.noise[app]))
        runtime, state = _run(noisy, asked["time_limit_s"], rng)
        power = clean[1] * np.exp(rng.normal(0, 0.02, n))
        start = submit + np.floor(rng.exponential(300 + 20 * nodes) * (rng.random(n) < 0.8))
        return {
            "start_s": start,
            "end_s": start + runtime,
            "runtime_s": runtime,
            "power_w": power,
            "energy_j": power * runtime,
            "state": pl.Series(np.array(STATES)[state]),
            "censored": state > 0,
        }

    def truth(self, jobs: JobTable) -> Outcome:
        """Noise-free runtime_s and power_w of each row at its setting: one draw, (1, n).

        Runs are taken to the end: a limit does not cut the truth.
        """
        jobs.require("account", "nodes", "memory_b")
        app = self._apps_of(jobs)
        nodes, ids = jobs.numpy("nodes"), np.zeros(0, dtype=np.int64)
        hidden: Array | float = 1.0
        if "job_id" in jobs.schema:
            ids = jobs.frame["job_id"].cast(pl.Int64).to_numpy()
            hidden = _hidden(ids, self.seed)
        runtime = self.apps.runtime_s(
            app, nodes, jobs.numpy("memory_b") / self.apps.memory_b[app] * hidden
        )
        power = self.apps.power_w(app, nodes)
        if "cap_w" in jobs.schema:
            slower, node_w = self.apps.under_cap(app, jobs.numpy("cap_w"))
            runtime, power = runtime * slower, self.apps.shared_w[app] + node_w * nodes
        return Outcome({"runtime_s": runtime[None, :], "power_w": power[None, :]})

    def _apps_of(self, jobs: JobTable) -> NDArray[np.int64]:
        project = jobs.frame["account"].str.strip_prefix("p").cast(pl.Int64, strict=False)
        known = project.is_between(0, len(self.projects.app) - 1).fill_null(value=False)
        if not known.all():
            strange = jobs.frame["account"].filter(~known).unique().sort().head(5).to_list()
            raise DataError("World.truth", [f"accounts not of this world: {strange}"])
        return np.asarray(self.projects.app[project.to_numpy()])


def _submissions(n: int, days: float, rng: np.random.Generator) -> Array:
    """Whole seconds, sorted: busy by day, quiet at night and at weekends."""
    hour = np.arange(max(1, int(np.ceil(days * 24))))
    day = 1 + 0.8 * np.sin(2 * np.pi * (hour % 24 - 9) / 24)
    rate = day * np.where(hour // 24 % 7 >= 5, 0.4, 1.0)
    edges = np.concatenate([[0.0], np.cumsum(rate)])
    u = np.sort(rng.random(n)) * edges[-1]
    return np.asarray(EPOCH_S + np.floor(3600 * np.interp(u, edges, np.arange(len(edges)))))


def _hidden(job_id: NDArray[np.int64], seed: int) -> Array:
    """A factor of the problem size that only the job knows: a hash of its id, near log-normal."""
    salt = (seed + 1) * 0x9E3779B97F4A7C15 % 2**64
    z = job_id.astype(np.uint64) + np.uint64(salt)  # splitmix64: arrays wrap around silently
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    quarters = [(z >> np.uint64(16 * i)) & np.uint64(0xFFFF) for i in range(4)]
    centred = sum(q.astype(float) for q in quarters) / 65535.0 - 2.0
    return np.asarray(np.exp(HIDDEN * centred * np.sqrt(3.0)))


def _run(
    full_s: Array, limit_s: Array, rng: np.random.Generator
) -> tuple[Array, NDArray[np.int64]]:
    """(runtime, index into STATES): 5 % fail, 3 % are cancelled, and the limit cuts the rest."""
    u = rng.random(len(full_s))
    state = np.select([u < 0.05, u < 0.08], [1, 2], 0)
    runtime = np.where(state > 0, full_s * rng.uniform(0.02, 0.98, len(full_s)), full_s)
    state = np.where(runtime > limit_s, 3, state)
    return np.maximum(1.0, np.rint(np.minimum(runtime, limit_s))), state


def _named(prefix: str, number: NDArray[np.int64], digits: int) -> pl.Series:
    """``u007``: a letter and a number, made once for each distinct number."""
    names = np.array([f"{prefix}{i:0{digits}d}" for i in range(int(number.max()) + 1)])
    return pl.Series(names[number])
