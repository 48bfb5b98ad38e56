"""Slurm's accounting as sacct prints it: lines with delimiters, or JSON."""
