"""Texts of others: names that a terminal only shows, conversations as one text."""
