"""``rheostat train``: an agent learns to schedule from a trace, for an objective."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rheostat.cli import options as o
from rheostat.cli.options.batch import MachineSize, Trace
from rheostat.cli.options.declared import option


def train(
    trace: Trace,
    out: Annotated[
        Path, option("The agent, written after each round; the same call continues.", "--out", "-o")
    ],
    agent: Annotated[str, option("dras-pg, dras-dql, a2c, ppo or ours.")] = "dras-pg",
    objective: Annotated[
        str,
        option(
            "wait, slowdown, utilisation, energy, cost or carbon; or weights of several, as "
            "slowdown=1,energy=0.2, in units of what FCFS with EASY makes; or "
            "dras_capability, dras_capacity.  [default: dras_capability for DRAS, else "
            "slowdown]"
        ),
    ] = "",
    jobsets: Annotated[
        int | None,
        option("DRAS: learn from the first so many weeks.  [default: all]", min=1, max=10_000),
    ] = None,
    updates: Annotated[
        int | None,
        option(
            "A2C, PPO: learn so many times.  [default: 100; ours: 24 generations]",
            min=1,
            max=10_000,
        ),
    ] = None,
    phases: Annotated[
        str,
        option(
            "Weeks drawn from the trace, weeks of it, and synthetic ones like it, as 9,9,82 "
            "(DRAS), together at most 10,000; else those of the trace alone."
        ),
    ] = "",
    test_fraction: o.TestFraction = 0.2,
    faithful: Annotated[
        bool,
        option(
            "DRAS: as released, or a small network on scaled inputs without hindsight.",
            "--faithful/--scaled",
        ),
    ] = True,
    set_: Annotated[
        list[str] | None,
        option(
            "Any switch of the agent, as lr=0.001 or plans=requested.  Repeatable.",
            "--set",
            metavar="SWITCH=VALUE",
        ),
    ] = None,
    search: Annotated[
        int | None,
        option(
            "First try so many settings by short trainings; journal: OUT.search.", min=1, max=10_000
        ),
    ] = None,
    workers: Annotated[
        int,
        option(
            "A2C, PPO: processes that play, at most one a core; the agent is the same.",
            min=1,
            max=1024,
        ),
    ] = 1,
    machine: MachineSize = "",
    power_model: o.PowerModel = None,
    estimates: Annotated[
        str, option("What planning believes of run times: user, or perfect (clairvoyant).")
    ] = "user",
    html: o.Html = None,
    figure: o.Figure = None,
    seed: o.Seed = 0,
    form: o.Form = "",
    json: o.Json = False,
) -> None:
    """Train a scheduling agent on TRACE for an objective; `simulate --policy agent:OUT` runs it.

    What is interrupted, by whatever means, loses the round it was in: the same call goes on from
    --out, to the same bytes.  With more --jobsets or --updates it learns on.  The last part of the
    trace is held out: the agent is compared on it with FCFS and EASY.
    """
    from rheostat.cli.output import draw, printed
    from rheostat.questions.scheduling.train import TrainAnswer
    from rheostat.questions.scheduling.train import train as ask

    with printed(json=json, html=html, figure=figure) as put:
        made = ask(trace, out, agent=agent, objective=objective, jobsets=jobsets, updates=updates,
                   phases=phases, test_fraction=test_fraction, faithful=faithful,
                   switches=set_ or (), search=search, workers=workers, machine=machine or None,
                   power_model=power_model, estimates=estimates, judge=False, seed=seed,
                   format=form)  # fmt: skip
        if isinstance(made, TrainAnswer) and made.course.unseen is not None:
            draw(made, html=html, figure=figure)  # what follows may be cut off
            made = made.judged()
        put(made)
