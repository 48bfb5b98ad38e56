"""Decide: what to do now, for one job or a whole table of them."""
