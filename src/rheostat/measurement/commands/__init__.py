"""A program of one's own as a measurement: its line, its values, whether its output is right."""
