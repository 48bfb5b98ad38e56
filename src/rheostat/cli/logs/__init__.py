"""Commands for logs and tables: fetched, read, summed up."""
