"""Questions that people ask, one module each; command line, Python and service ask only these.

A question takes typed values, does all that stands before and after a calculation - is this a log
that can answer, was this setting measured, which limits hold unless others are named - and returns
an `Answer`, which knows its tables, sentences, pictures and its document for machines.
"""
