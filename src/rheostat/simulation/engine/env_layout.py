"""Columns of the arrays that the environment's core works on: one row per job, one per episode.

An episode's state is a few rows of arrays stacked over episodes, so that 64 of them are stepped in
one compiled call.  Waiting jobs need no list of their own: jobs are numbered as they arrive, so the
window holds the first of them and everything behind it is the range from ``TAIL`` to ``NEXT``.

    Symbol   Shape          Meaning
    jobs     (n, 11)        what is known of each job, in order of submission
    whole    (e, 13)        whole numbers of an episode
    real     (e, 10)        times and sums of an episode
    window   (e, w)         waiting jobs that may be chosen, first come first
    ends     (e, m, c)      running jobs by their true end: the event clock, never planned with
    running  (e, m, c)      running jobs by their expected end (`blocks` has both layouts)
    gain     (8,)           terms of the reward since the last decision
"""

from __future__ import annotations

# jobs: submission s, run time s, processors, requested run time s, processors / machine, request on
# a log scale of 0 to 1, start under FCFS with EASY s, 1 / max(run time, 10 s), run time that a job
# which waits is planned with s, watts while it runs (NaN: not known), 1 if of high priority
SUBMIT, RUN, NEED, ASK, SIZE, LOG_ASK, PAST, INVERSE, PLAN, WATTS, URGENT = range(11)
JOB_COLUMNS = 11

# whole: processors free, jobs waiting, jobs in the window, next job to enter it, next to arrive,
# end of the arrivals, first job of the episode, job with a reservation or -1, what is asked for,
# processors left over at the promised start, is that promise up to date, decisions, jobs running
FREE, WAITING, INSIDE, TAIL, NEXT, LAST, FIRST, HELD, PHASE, EXTRA, KNOWN, DECISIONS, BUSY = range(
    13
)
WHOLE_COLUMNS = 13

# real: time s, start of the episode s, promised start s, requested processor-seconds that wait, sum
# of INVERSE that waits; and of the jobs started so far: how many, waits s, bounded slowdowns, the
# longest wait s, the last end s
NOW, SINCE, UNTIL, AREA, URGENCY, STARTED, WAITS, SLOWDOWNS, LONGEST, HORIZON = range(10)
REAL_COLUMNS = 10

# phases: the episode is over; choose a job; choose a backfill; look again; let time pass
DONE, SELECT, BACKFILL, LOOK, PASS = range(5)

# gain; the last three are paid by the kilowatt-hour, in the order of `env_bill`
WAIT, SLOWDOWN, IDLE, CAPABILITY, CAPACITY, ENERGY, COST, CARBON = range(8)
GAINS = 8

BOUND_S = 10.0
HOUR_S = 3600.0
DAY_S = 86_400.0

# observation: features per job of the window, points of the free profile, features of the rest
FEATURES, POINTS, TOTALS = 8, 16, 16

Rule = tuple[int, bool, int, bool, int, bool, bool, bool]
"""What holds in an environment, as in `env_core`: processors, may a selection wait, and so on."""
