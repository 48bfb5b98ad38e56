"""Spend a power budget: who gives watts, who gets them, and what the last watt buys."""
