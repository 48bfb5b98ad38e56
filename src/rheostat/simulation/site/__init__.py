"""A machine that is more than a number of processors, and jobs that run in several ways."""
