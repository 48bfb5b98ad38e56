"""Meters of power and energy: each says what it measured, how, and what it could not."""

from rheostat.measure.meters.registry import METERS as METERS
from rheostat.measure.meters.registry import meters as meters
from rheostat.measure.meters.session import Measured as Measured
from rheostat.measure.meters.session import Session as Session
