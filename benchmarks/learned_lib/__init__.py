"""Judging learned orders, and the tables."""
