"""Serving language models: energy law, configuration, order of requests, a proxy."""
