"""How long the next iterations of an application will take on a network that it shares.

`adaptive.AdaptiveForecaster` is the method of this project, `baselines` what it has to beat.
"""
