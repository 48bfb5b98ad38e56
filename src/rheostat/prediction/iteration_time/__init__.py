"""How long the next iterations of an application will take on a network that it shares.

`adaptive.AdaptiveForecaster` is the method of this project, `simple_forecasters` has the baselines.
"""
