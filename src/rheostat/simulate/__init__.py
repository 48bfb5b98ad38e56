"""Simulate: time passes over a trace, under a policy, on a machine."""

from rheostat._verbs import callable_module

callable_module(__name__, "rheostat.simulate.run:simulate")
