"""At a site: take in accounting and power, put advice where people submit, take it out."""
