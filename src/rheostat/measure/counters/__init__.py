"""Readers of hardware counters: Intel PCM, perf stat, LIKWID and PAPI, in one vocabulary."""

from rheostat.measure.counters.likwid import read_likwid as read_likwid
from rheostat.measure.counters.papi import read_papi as read_papi
from rheostat.measure.counters.pcm import read_pcm as read_pcm
from rheostat.measure.counters.perf import read_perf as read_perf
