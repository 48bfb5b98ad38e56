"""Models from hardware counters: what a run's rates say about its power and runtime."""
