"""What a log of jobs can answer, what is in it, and its month with and without advice."""
