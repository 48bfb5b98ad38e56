"""Readers of hardware counters: Intel PCM, perf stat, LIKWID and PAPI, in one vocabulary."""

from rheostat.measurement.counters.likwid import read_likwid as read_likwid
from rheostat.measurement.counters.papi import read_papi as read_papi
from rheostat.measurement.counters.pcm import read_pcm as read_pcm
from rheostat.measurement.counters.perf_stat import read_perf as read_perf
