"""Faster variants of a program: the search, its folder, and its baseline."""
