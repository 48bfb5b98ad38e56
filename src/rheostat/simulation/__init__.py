"""Simulate: time passes over a trace, under a policy, on a machine."""
