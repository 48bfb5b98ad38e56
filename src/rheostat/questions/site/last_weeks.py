"""Questions of a site's last weeks: a cap by the clock, and other batch policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rheostat.core.machine import Machine
from rheostat.core.series import Series
from rheostat.measurement.grid_conditions import daily_share
from rheostat.measurement.job_logs.log_usage import calendar_zero_s
from rheostat.questions import inputs
from rheostat.questions.listener import question
from rheostat.questions.scheduling.simulate import simulate
from rheostat.questions.scheduling.simulate_answer import SimulateAnswer
from rheostat.questions.site.newest_jobs import newest
from rheostat.questions.site.what_if import site_what_if
from rheostat.questions.site.what_if_answer import SiteWhatIfAnswer
from rheostat.simulation.grid_plans import believed_watts

MOST_JOBS = 50_000
COMPARED = ("easy", "sjf+easy", "saf+easy", "wfp3+easy")
LEARNED = "agent:ours"


@question
def site_daily_cap(
    jobs: inputs.Jobs,
    *,
    machine: Machine | str,
    cap_share: float = 0.8,
    from_hour: float = 17.0,
    to_hour: float = 20.0,
    days: float = 31.0,
    seed: int = 0,
) -> SiteWhatIfAnswer:
    """Replay a site's last weeks with less power between two hours of every day, plan by plan.

    Parameters
    ----------
    jobs : JobTable or path
        A log, as `site_what_if` takes it.
    machine : Machine or str
        With idle watts; a TOML file or a machine.
    cap_share : float
        Part of the site's cap, else of its highest power, that there is in those hours.
    from_hour, to_hour : float
        Hours of the day, UTC where the log has dates.
    days : float
        The newest days of the log, the newest 50,000 jobs at most.
    seed : int
        Of the replays.

    Returns
    -------
    SiteWhatIfAnswer
        With ``results`` and ``choice``.

    Raises
    ------
    DataError
        As `site_what_if`, or no job has ended.

    Examples
    --------
    >>> import rheostat as rh
    >>> log = rh.table({"job_id": [1, 2], "submit_s": [0.0, 10.0], "runtime_s": [100.0, 100.0],
    ...     "time_limit_s": [100.0, 100.0], "nodes": [1, 1], "power_w": [300.0, 300.0]})
    >>> site = rh.Machine(2, idle_w=100.0, busy_w=300.0)
    >>> answer = site_daily_cap(log, machine=site, cap_share=0.7, from_hour=0, to_hour=1)
    >>> [r.measures["over_s"] for r in answer.results[:1]], answer.results[answer.choice].name
    ([90.0], 'jobs wait')
    """
    recent = newest(inputs.as_logged(jobs), days, MOST_JOBS)
    grid = daily_share(cap_share, from_hour, to_hour).since(calendar_zero_s(recent) or 0.0)
    return site_what_if(recent, grid, machine=machine, replays=2, seed=seed)


@question
def site_policies(
    jobs: inputs.Jobs,
    *,
    machine: Machine | str,
    policies: Sequence[str] | None = None,
    cap_w: float | None = None,
    days: float = 31.0,
    seed: int = 0,
) -> SimulateAnswer:
    """Run a site's last weeks through batch policies, and under a power cap if one is stated.

    Parameters
    ----------
    jobs : JobTable or path
        A log, as `rheostat.simulate` takes it.
    machine : Machine or str
        Processors, or a TOML file.
    policies : sequence of str, optional
        Names; the others are compared with the first.  By default simple orders, and the learned
        one on machines without partitions.
    cap_w : float, optional
        A power cap, W, in place of the machine's; what a job draws is believed from jobs that had
        ended when it came.
    days : float
        The newest days of the log, the newest 50,000 jobs at most.
    seed : int
        Of policies and intervals that draw.

    Returns
    -------
    SimulateAnswer
        With ``runs``, and the waits as logged beside them.

    Raises
    ------
    DataError
        No job has ended, the watts under a cap are not known, or a policy cannot be had there.

    Examples
    --------
    >>> import rheostat as rh
    >>> log = rh.table({"job_id": [1, 2], "submit_s": [0.0, 10.0], "runtime_s": [100.0, 100.0],
    ...     "time_limit_s": [100.0, 100.0], "nodes": [1, 1], "power_w": [300.0, 300.0]})
    >>> site = rh.Machine(2, idle_w=100.0, busy_w=300.0)
    >>> answer = site_policies(log, machine=site, policies=["easy"], cap_w=450.0)
    >>> answer.schedule.frame["start_s"].to_list()
    [0.0, 100.0]
    """
    recent = newest(inputs.as_logged(jobs), days, MOST_JOBS)
    site = Machine.load(machine) if isinstance(machine, str) else machine
    if cap_w is not None:
        site = replace(site, cap_w=Series.of(cap_w))
    believed = None if site.cap_w is None else believed_watts(recent, site)
    if policies is None:
        policies = (*COMPARED, LEARNED) if site.plain or site.capped_alone else COMPARED
    return simulate(recent, list(policies), site, power_w=believed, seed=seed)
