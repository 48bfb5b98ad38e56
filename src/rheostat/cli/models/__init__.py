"""Commands for models: fitted, asked, compared."""
