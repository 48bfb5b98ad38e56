"""The settings of one job: the front, the choice, what to measure next."""
