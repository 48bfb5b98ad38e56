"""Tables of measured training runs: PROFET, Justus et al., ICICLE's CNNs, records with graphs."""

from rheostat.measurement.training_runs.graph_records import read_graph_records
from rheostat.measurement.training_runs.hlogencnn import read_hlogencnn
from rheostat.measurement.training_runs.justus import read_justus
from rheostat.measurement.training_runs.profet import read_profet

__all__ = ["read_graph_records", "read_hlogencnn", "read_justus", "read_profet"]
