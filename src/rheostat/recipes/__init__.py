"""Recipes: one file per published system that wires mechanisms; names, defaults, reference."""
