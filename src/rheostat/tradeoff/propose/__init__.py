"""Who decides what is tried next; all ask and tell alike.  `PROPOSERS` lists them by name."""

from rheostat.tradeoff.propose.base import Proposer, Searcher
from rheostat.tradeoff.propose.evolution import NSGA2
from rheostat.tradeoff.propose.hypervolume import ExpectedHypervolume
from rheostat.tradeoff.propose.improvement import ExpectedImprovement, ParEGO
from rheostat.tradeoff.propose.model_draws import MostUncertain, Thompson
from rheostat.tradeoff.propose.modelled import Modelled
from rheostat.tradeoff.propose.nehvi import NoisyHypervolume
from rheostat.tradeoff.propose.spacefill import Exhaustive, Sobol

PROPOSERS: dict[str, type[Searcher]] = {
    "exhaustive": Exhaustive,
    "sobol": Sobol,
    "uncertain": MostUncertain,
    "thompson": Thompson,
    "hypervolume": ExpectedHypervolume,
    "nehvi": NoisyHypervolume,
    "improvement": ExpectedImprovement,
    "parego": ParEGO,
    "nsga2": NSGA2,
}

__all__ = [
    "NSGA2",
    "PROPOSERS",
    "Exhaustive",
    "ExpectedHypervolume",
    "ExpectedImprovement",
    "Modelled",
    "MostUncertain",
    "NoisyHypervolume",
    "ParEGO",
    "Proposer",
    "Searcher",
    "Sobol",
    "Thompson",
]
