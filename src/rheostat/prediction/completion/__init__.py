"""Fill in a table of applications by cap settings from a few measured cells of one row."""
