"""Rank: a learned order of the waiting jobs that goes with no machine and to every one.

A small network gives each waiting job a score from `features` that mean the same everywhere; the
jobs then go in that order under EASY backfilling, as those of any simple order do.  Its few weights
are found by trying: evolution strategies play thousands of generated and real weeks on the compiled
simulator and keep what lowers slowdowns.  A guard holds the longest wait near that of first come,
first served.
"""
