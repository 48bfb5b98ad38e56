"""Fitted models as files: kinds, plain contents, and checks of what a file brings."""
