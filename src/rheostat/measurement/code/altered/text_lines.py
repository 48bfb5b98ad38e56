"""The lines of a program's own files that rows of LLVM's text were made of."""

from __future__ import annotations

from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.reached.source_places import Places
from rheostat.measurement.code.surroundings.same_text import without_blanks


class TextLines:
    """Lines by rows of one text.

    Parameters
    ----------
    code : str
        LLVM's text, with lines.
    program : Program
        Whose files it was made of.
    """

    def __init__(self, code: str, program: Program) -> None:
        self.places = Places(code, program.files)
        self._rows = {name: text.splitlines() for name, text in program.files.items()}

    def of(self, row: str) -> str:
        """Without blanks; empty where it is none of the program's own.

        Parameters
        ----------
        row : str
            Of LLVM's text.
        """
        file, line = (self.places.of(row) or ("", 0))[:2]
        rows = self._rows.get(file, [])
        return without_blanks(rows[line - 1]) if 0 < line <= len(rows) else ""
