"""Trade off: which settings deserve attention.  ``rheostat.tradeoff(job, model, knobs, ...)``."""

from rheostat._verbs import callable_module

callable_module(__name__, "rheostat.tradeoff.exhaustive:tradeoff")
