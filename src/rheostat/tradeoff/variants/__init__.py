"""Variants of a C program: what its loops allow, pragmas, refactorings, and their search.

The analysis here proposes; what is right is decided by running (`rheostat.measurement.code`).
"""
