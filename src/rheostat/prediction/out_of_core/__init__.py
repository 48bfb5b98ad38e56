"""Fit and score traces larger than memory, on one machine or on a cluster.

`large.fit_large` is the one call; `outofcore.fit_out_of_core` and `dasked.fit_dask` are the two
ways it knows, `score.score` scores a model in one stream, `rh.save` and `rh.load` keep it.
"""
