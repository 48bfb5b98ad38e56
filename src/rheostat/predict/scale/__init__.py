"""Fit and score traces larger than memory, on one machine or on a cluster."""
