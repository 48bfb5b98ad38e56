"""The law-informed Gaussian process: past jobs, physics and a few own runs, weighed by evidence."""

from rheostat.prediction.scaling_law.defensive import DefensiveEnsemble
from rheostat.prediction.scaling_law.ensemble import LawEnsemble
from rheostat.prediction.scaling_law.scaling_law import LawGP
from rheostat.prediction.scaling_law.structures import Job, Structure, structures

__all__ = ["DefensiveEnsemble", "Job", "LawEnsemble", "LawGP", "Structure", "structures"]
