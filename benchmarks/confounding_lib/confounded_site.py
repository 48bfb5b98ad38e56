"""`ConfoundedSite`: a generated site whose users choose nodes for reasons that the log may hide.

A log shows which settings jobs ran at, not why.  Here the reasons have dials: applications that do
more work may be run on more nodes (``between``), users may give a larger problem more nodes
(``within``, weak scaling), and the size of the problem may be recorded well, badly or not at all
(``proxy``).  The law of runtime and power is that of `World`, so every job's cost at every setting
is known, and a month may be run again at other settings, as a randomised trial does.

Notation
--------
n  jobs      A  applications      P  projects (one user running one application)
log x = SIZE_SD z (problem) + PROJECT_SD z (project)         hidden problem size, 1 = typical
log2 nodes = level (application) + habit (project) + g log2 x + free choice,  g near ``within``
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rheostat.core.jobs import Column, JobTable, Moment
from rheostat.core.outcome import Outcome
from rheostat.core.vocabulary import table
from rheostat.errors import DataError
from rheostat.measurement.synthetic.habits import LIMITS_S, repeated
from rheostat.measurement.synthetic.site_law import Apps, Array

from .later_laws import LATER, LaterApps
from .laws import LawApps
from .recent_laws import RECENT, RecentApps
from .stranger_laws import LAWS as STRANGER
from .stranger_laws import StrangerApps

Ints = NDArray[np.int64]
KINDS: dict[str, Any] = {
    **dict.fromkeys(STRANGER, StrangerApps),
    **dict.fromkeys(LATER, LaterApps),
    **dict.fromkeys(RECENT, RecentApps),
}
LAWS = tuple(KINDS)

PROXIES = ("none", "limit", "rough-memory", "memory", "exact-memory", "script")
"""What the log records of the problem size: nothing; a time limit, which is a guess of the runtime
at the nodes asked for; memory asked for with a margin of a factor 1.6 up or down, of a tenth, or
of none; the job script, which is the same whenever the problem is."""
MISLEADING = ("reused-script", "varied-script")
"""Records that seem to tell it: a job script that a project uses for all of its inputs, or one
whose inputs differ by `VARIED_SD` from run to run."""
VARIED_SD = 0.2
MEMORY_SD = {"rough-memory": 0.5, "memory": 0.1, "exact-memory": 0.0}
SIZE_SD, PROJECT_SD = 0.8, 0.3
LEVEL, LEVEL_SD, HABIT_SD = 4.0, 1.5, 0.4
FREE_SD = (0.9, 0.4)
"""Octaves by which a user's nodes vary for no reason: without weak scaling, and with it."""
AGAIN, SAME_NODES = 0.6, 0.6
BEYOND_PEAK = 2.0
"""Nobody asks for more than twice the nodes at which the application is fastest: it shows."""
EPOCH_S, DAY_S, JOBS_PER_DAY = 1_704_067_200.0, 86_400.0, 100.0
GIB = 2.0**30


@dataclass(frozen=True)
class Projects:
    """P projects, arrays (P,): who runs what, and how the nodes are chosen."""

    app: Ints
    user: Ints
    weight: Array
    size: Array
    level: Array
    follow: Array
    margin: Array


@dataclass(frozen=True)
class Month:
    """The jobs of one month: what was asked for, and what any of it costs at any setting."""

    site: ConfoundedSite
    requests: JobTable
    app: Ints
    user: Ints
    size: Array
    seed: int

    def run(self, nodes: Any = None) -> JobTable:
        """The log after every job ran, at ``nodes`` (n,) where given, else as asked for.

        Where other nodes are given, ``nodes_requested`` keeps what was asked for.
        """
        jobs = self.requests
        if nodes is not None:
            asked = Column("nodes_requested", "", Moment.SUBMIT, "nodes as submitted")
            jobs = jobs.with_columns([asked], nodes_requested=jobs.frame["nodes"])
            jobs = jobs.with_columns((), nodes=np.asarray(nodes, dtype=np.int64))
        rng = np.random.default_rng([self.site.seed, 4, self.seed])
        true = self.truth(jobs)
        noise = self.site.noise(self.app, self.user)
        apps = self.site.apps
        plain, n = isinstance(apps, Apps), len(jobs)
        draws = rng.standard_normal(n) if plain else apps.noise_draws(rng, n)
        runtime = true["runtime_s"][0] * np.exp(noise * draws)
        power = true["power_w"][0] * np.exp(0.02 * rng.standard_normal(len(jobs)))
        runtime = np.maximum(1.0, np.rint(runtime))
        ran = {
            "start_s": jobs.numpy("submit_s"),
            "end_s": jobs.numpy("submit_s") + runtime,
            "runtime_s": runtime,
            "power_w": power,
            "energy_j": power * runtime,
        }
        return table({**jobs.frame.to_dict(), **ran}, jobs.schema.values())

    def truth(self, jobs: JobTable) -> Outcome:
        """Noise-free runtime_s and power_w of rows of this month at their nodes, (1, rows)."""
        row = jobs.frame["job_id"].to_numpy() - self.requests.frame["job_id"][0]
        if len(row) and not (row.min() >= 0 and row.max() < len(self.requests)):
            raise DataError("Month.truth", ["expected job_id of this month's requests"])
        nodes, app, apps = jobs.numpy("nodes"), self.app[row], self.site.apps
        size = self.size[row]
        power = (
            apps.power_w(app, nodes) if isinstance(apps, Apps) else apps.power_w(app, nodes, size)
        )
        runtime = apps.runtime_s(app, nodes, size)
        return Outcome({"runtime_s": runtime[None], "power_w": power[None]})


@dataclass(frozen=True)
class ConfoundedSite:
    """A site of ``n_apps`` applications with the dials ``between``, ``within`` (0 none, 1 strong).

    >>> month = ConfoundedSite(seed=1, within=1.0, proxy="memory").month(500)
    >>> log = month.run()
    >>> "memory_b" in log.columns, "size" in log.columns, len(log)
    (True, False, 500)
    >>> half = month.requests.with_columns((), nodes=month.requests.frame["nodes"] // 2 + 1)
    >>> month.truth(half)["runtime_s"].shape
    (1, 500)
    """

    seed: int = 0
    between: float = 0.0
    within: float = 0.0
    proxy: str = "none"
    n_apps: int = 60
    max_nodes: int = 256
    law: str = "usl"

    def __post_init__(self) -> None:
        bad = [f"{k}: expected 0 to 1, got {v}" for k, v in vars(self).items()
               if k in ("between", "within") and not 0 <= v <= 1]  # fmt: skip
        if self.proxy not in (*PROXIES, *MISLEADING):
            bad.append(
                f"proxy: expected one of {', '.join((*PROXIES, *MISLEADING))}, got {self.proxy}"
            )
        if self.law not in ("usl", *LAWS):
            bad.append(f"law: expected usl, {', '.join(LAWS)}, got {self.law}")
        if bad:
            raise DataError("ConfoundedSite", bad)

    @cached_property
    def apps(self) -> Apps | LawApps:
        """The hidden applications."""
        rng = np.random.default_rng([self.seed, 1])
        if self.law == "usl":
            return Apps.draw(self.n_apps, rng)
        drawn: LawApps = KINDS[self.law].draw(self.law, self.n_apps, rng)
        return drawn

    def noise(self, app: Ints, user: Ints) -> Array:
        """Standard deviation of log runtime of each row."""
        apps = self.apps
        return apps.noise[app] if isinstance(apps, Apps) else apps.noise(app, user)

    @cached_property
    def projects(self) -> Projects:
        """One to four users run each application."""
        rng = np.random.default_rng([self.seed, 2])
        app = np.repeat(np.arange(self.n_apps), rng.integers(1, 5, self.n_apps))
        p = len(app)
        work = np.log(self.apps.work_s)
        work = (work - work.mean()) / work.std()
        own = np.sqrt(1 - self.between**2) * rng.standard_normal(self.n_apps)
        level = LEVEL + LEVEL_SD * (self.between * work + own)
        return Projects(
            app=app,
            user=rng.integers(0, max(1, p // 2), p),
            weight=np.asarray((1.0 + rng.permutation(p)) ** -0.5, dtype=np.float64),
            size=PROJECT_SD * rng.standard_normal(p),
            level=level[app] + HABIT_SD * rng.standard_normal(p),
            follow=self.within * rng.uniform(0.7, 1.3, p),
            margin=rng.uniform(1.1, 3.0, p),
        )

    def month(self, n: int = 3000, seed: int = 0) -> Month:
        """``n`` requests in order of submission; another ``seed``, another month of the site."""
        rng = np.random.default_rng([self.seed, 3, seed])
        some = self.projects
        project = rng.choice(len(some.app), n, p=some.weight / some.weight.sum())
        problem = repeated(project, rng, AGAIN)
        size = np.exp(SIZE_SD * rng.standard_normal(n)[problem] + some.size[project])
        if self.proxy == "varied-script":
            own = np.random.default_rng([self.seed, 5, seed]).standard_normal(n)
            size = size * np.exp(VARIED_SD * own)
        nodes = self._nodes(project, problem, size, rng)
        app = some.app[project]
        asked = {
            "job_id": 1_000_000 * (1 + seed) + np.arange(n),
            "user": pl.Series([f"u{u:03d}" for u in some.user[project]]),
            "app": pl.Series([f"app{a:02d}" for a in app]),
            "submit_s": EPOCH_S + DAY_S / JOBS_PER_DAY * (seed * n + np.arange(n)),
            "nodes": nodes,
            **self._recorded(project, problem, size, nodes, rng),
        }
        return Month(self, table(asked), app, some.user[project], size, seed)

    def _nodes(self, project: Ints, problem: Ints, size: Array, rng: np.random.Generator) -> Ints:
        """Mostly powers of two; a problem that is run again mostly gets the nodes it had."""
        some, n = self.projects, len(project)
        free = FREE_SD[0] + self.within * (FREE_SD[1] - FREE_SD[0])
        kept = np.where(rng.random(n) < SAME_NODES, problem, np.arange(n))
        level = some.level[project] + some.follow[project] * np.log2(size)
        level = level + free * rng.standard_normal(n)[kept]
        odd = (rng.random(n) < 0.15)[kept]
        most = np.minimum(
            BEYOND_PEAK * self.apps.fastest_nodes()[some.app[project]], self.max_nodes
        )
        level = np.minimum(level, np.log2(most))
        wanted = np.rint(2.0 ** np.where(odd, level, np.floor(level + 0.5)))
        return np.asarray(np.clip(wanted, 1, self.max_nodes), dtype=np.int64)

    def _recorded(
        self, project: Ints, problem: Ints, size: Array, nodes: Ints, rng: np.random.Generator
    ) -> Mapping[str, Any]:
        """The columns that tell the problem size, as the proxy has it."""
        app, n = self.projects.app[project], len(project)
        noise = rng.standard_normal(n)[problem]
        if self.proxy in MEMORY_SD:
            b = self.apps.memory_b[app] * size * np.exp(MEMORY_SD[self.proxy] * noise)
            unit = GIB if MEMORY_SD[self.proxy] else GIB / 1024
            return {"memory_b": (np.maximum(1, np.rint(b / unit)) * unit).astype(np.int64)}
        if self.proxy == "limit":
            guess = self.apps.runtime_s(app, nodes, size) * np.exp(0.3 * noise)
            wanted = np.minimum(guess * self.projects.margin[project], LIMITS_S[-1])
            return {"time_limit_s": LIMITS_S[np.searchsorted(LIMITS_S, wanted)]}
        if self.proxy in ("script", "varied-script"):
            return {"script": pl.Series([f"s{p:06d}" for p in problem])}
        if self.proxy == "reused-script":
            return {"script": pl.Series([f"s{p:06d}" for p in project])}
        return {}
