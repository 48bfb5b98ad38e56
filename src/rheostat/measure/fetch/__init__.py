"""Download public job logs once, checked, into the user's cache."""

from rheostat.measure.fetch.fetch import Fetched as Fetched
from rheostat.measure.fetch.fetch import fetch as fetch
from rheostat.measure.fetch.sources import SWF_LOGS as SWF_LOGS
