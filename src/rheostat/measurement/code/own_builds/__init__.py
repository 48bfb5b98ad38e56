"""Builds by a command of their own, which are recorded once and then done again in every way."""
