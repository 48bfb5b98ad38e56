"""Trade off: which settings deserve attention."""
