"""Commands for a log of jobs: a setting for each, and what that would have brought."""
