"""Share a power budget: plan caps, compare, apply, put back."""
