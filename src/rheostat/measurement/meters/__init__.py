"""Meters of power and energy: each says what it measured, how, and what it could not."""

from rheostat.measurement.meters.registry import METERS as METERS
from rheostat.measurement.meters.registry import meters as meters
from rheostat.measurement.meters.session import Measured as Measured
from rheostat.measurement.meters.session import Session as Session
