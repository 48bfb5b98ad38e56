"""The compiled core: event loops over arrays, nothing of tables or names."""
