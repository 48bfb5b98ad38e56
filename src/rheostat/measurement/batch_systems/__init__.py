"""Job logs of batch systems beside Slurm: PBS, LSF, Grid Engine, Flux, HTCondor, OAR."""

from rheostat.measurement.batch_systems.flux import FLUX
from rheostat.measurement.batch_systems.grid_engine import GRID_ENGINE
from rheostat.measurement.batch_systems.htcondor import HTCONDOR
from rheostat.measurement.batch_systems.lsf import LSF
from rheostat.measurement.batch_systems.oar import OAR
from rheostat.measurement.batch_systems.pbs import PBS
from rheostat.measurement.batch_systems.pbs_json import PBS_JSON

BATCH_SYSTEMS = (PBS, PBS_JSON, LSF, GRID_ENGINE, FLUX, HTCONDOR, OAR)

__all__ = ["BATCH_SYSTEMS"]
