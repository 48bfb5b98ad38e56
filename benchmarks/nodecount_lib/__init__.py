"""Parts of the benchmark that decides; the command is ``benchmarks/nodecount.py``."""
