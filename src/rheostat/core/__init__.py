"""The nouns: what every floor above talks about, on numpy and polars alone."""
