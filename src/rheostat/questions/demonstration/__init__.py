"""The demonstration: the whole job on generated data, its report, and a generated site."""
