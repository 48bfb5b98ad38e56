"""Commands for one code: its settings, measured, chosen, capped."""
