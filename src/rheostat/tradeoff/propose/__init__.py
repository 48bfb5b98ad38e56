"""Who decides what is tried next; all ask and tell alike.  `PROPOSERS` lists them by name."""

from rheostat.tradeoff.propose.base import Proposer, Searcher
from rheostat.tradeoff.propose.spacefill import Exhaustive, Sobol

PROPOSERS: dict[str, type[Searcher]] = {"exhaustive": Exhaustive, "sobol": Sobol}

__all__ = ["PROPOSERS", "Exhaustive", "Proposer", "Searcher", "Sobol"]
