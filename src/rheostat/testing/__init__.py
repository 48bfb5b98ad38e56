"""Contract suites for readers, predictors and proposers: run them over your own."""
