"""Requests to a served language model, batch by batch: who waits, who is answered when."""
