"""Foreign code is run here: no network, no files of the host, limits on everything."""
