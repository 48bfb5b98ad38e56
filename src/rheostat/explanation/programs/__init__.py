"""Words for programs: a verdict, a difference, a search of variants."""
