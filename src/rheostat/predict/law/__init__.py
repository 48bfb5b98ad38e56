"""The law-informed Gaussian process: past jobs, physics and a few own runs, weighed by evidence."""

from rheostat.predict.law.ensemble import LawEnsemble
from rheostat.predict.law.predictor import LawGP
from rheostat.predict.law.structures import Job, Structure, structures

__all__ = ["Job", "LawEnsemble", "LawGP", "Structure", "structures"]
