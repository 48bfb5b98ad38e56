"""Language models: one protocol, adapters, and transcripts that are record, replay and cost."""
