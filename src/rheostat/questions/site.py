"""A site's loop: accounting and power in, hooks for advice out and away, what a grid asks."""

from rheostat.questions.site_ingest import ingest
from rheostat.questions.site_ingest_power import power
from rheostat.questions.site_install import install, uninstall
from rheostat.questions.site_what_if import site_what_if as what_if

__all__ = ["ingest", "install", "power", "uninstall", "what_if"]
