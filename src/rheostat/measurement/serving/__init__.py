"""Readers of what LLM serving leaves behind: tables of measured configurations, request logs."""
