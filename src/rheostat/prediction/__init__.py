"""Predict: what a job would cost at a setting it was not run at."""
