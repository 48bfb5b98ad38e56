"""Parts of the benchmark `scale.py`."""
