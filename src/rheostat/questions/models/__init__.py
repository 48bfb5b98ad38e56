"""Models of runs: fitted, asked, compared."""
