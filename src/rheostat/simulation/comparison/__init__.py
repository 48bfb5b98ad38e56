"""Which policy is better, on how many traces, and how close a simulation is to the site."""
