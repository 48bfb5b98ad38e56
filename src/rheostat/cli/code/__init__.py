"""Programs: verify a changed one, search or translate to faster and thriftier variants."""
