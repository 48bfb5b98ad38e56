"""Second opinions on races, which do not hang on the timing of a run."""
