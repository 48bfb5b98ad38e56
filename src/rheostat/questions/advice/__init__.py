"""A setting for every job of a log, and what that would have brought."""
