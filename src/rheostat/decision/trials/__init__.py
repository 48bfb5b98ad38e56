"""Randomised trials: how large, which jobs, found in a log, and read."""
