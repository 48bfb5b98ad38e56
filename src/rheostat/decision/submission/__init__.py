"""Advice where jobs are submitted: a file of constant look-up time, and Slurm's hooks."""
