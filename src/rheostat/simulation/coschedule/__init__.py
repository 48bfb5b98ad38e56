"""A node whose GPUs are shared by several jobs, in time and energy."""
