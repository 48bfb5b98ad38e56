"""Tables of measured runs, in CSV or parquet, through a mapping, a preset or a guess."""

from rheostat.measurement.runs.reader import read_runs as read_runs
