"""Parts of `benchmarks/confounding.py`: one site, the methods, and the score of their advice."""
