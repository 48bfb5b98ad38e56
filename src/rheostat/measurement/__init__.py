"""Measure: where numbers come from - readers of job logs, generators with known truth."""
