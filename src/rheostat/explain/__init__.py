"""Explain: say why, as text, HTML or JSON.  ``rheostat.explain(thing)`` gives a `Report`."""

from rheostat._verbs import callable_module

callable_module(__name__, "rheostat.explain.narrate:explain")
