"""From a table of jobs to features: which columns, in which code, were alike rows run."""
