"""The service behind `rheostat serve`: questions over HTTP, a page, advice, metrics.

Nothing is judged here.  A request is checked, a question is asked in another process, its document
is sent; advice comes from a table that was made before.
"""
