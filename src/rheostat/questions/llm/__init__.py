"""Serving language models: what a plan is made of."""
