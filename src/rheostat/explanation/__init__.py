"""Explain: say why, as text, HTML or JSON."""
