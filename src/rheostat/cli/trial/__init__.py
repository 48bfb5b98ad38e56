"""A small randomised trial, to learn what settings do: plan it, read its result."""
