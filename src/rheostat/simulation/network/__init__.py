"""A simulation of a network beside its surrogate: replayed, answered, taken in turns."""
