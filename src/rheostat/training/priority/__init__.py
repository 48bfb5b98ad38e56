"""Priority."""
