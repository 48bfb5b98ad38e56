"""Programs under test: files, manifests, inputs, suites."""
