"""Deep learning: time, memory and energy of a training step, from its graph of operations."""
