"""Names of others on a terminal: shown, never obeyed."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""The text with every control character but the end of a line as its code.

    Parameters
    ----------
    text : str
        May hold names from files: of applications, users, or the files themselves.

    Returns
    -------
    str
        Moves no cursor, and changes no colour or title of a terminal.

    Examples
    --------
    >>> print(printable("app\x1b[31m"))
    app\x1b[31m
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)
