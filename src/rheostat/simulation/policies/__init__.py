"""Policies: what they are asked, what they believe of run times, and the engine that runs them."""
