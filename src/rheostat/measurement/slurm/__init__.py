"""Slurm's accounting as sacct prints it: lines with delimiters, or JSON."""

from rheostat.measurement.slurm.sacct import read_sacct as read_sacct
from rheostat.measurement.slurm.sacct_json import read_sacct_json as read_sacct_json
