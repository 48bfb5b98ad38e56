"""Download public job logs once, checked, into the user's cache."""

from rheostat.measurement.fetch.download import Fetched as Fetched
from rheostat.measurement.fetch.download import fetch as fetch
from rheostat.measurement.fetch.sources import SWF_LOGS as SWF_LOGS
