"""Methods of the published system for speed under caps, and simpler ones, for `caps.py`."""
