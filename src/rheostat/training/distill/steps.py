"""The steps of a long distillation: how far they are, and what is kept of those that are done.

A step that is done is a file of the checkpoint's folder.  The same call with the same folder reads
it instead of doing the step again, and comes to the same result.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rheostat.core.storage.files import replacing
from rheostat.decision.policies.priority_tree import PriorityTree
from rheostat.errors import DataError
from rheostat.prediction.out_of_core.partitions import Progress, silent

Arrays = dict[str, np.ndarray]


class Steps:
    """Progress and checkpoint of one distillation; without a folder nothing is kept.

    Parameters
    ----------
    progress
        Called within every stage with (stage, done, of).
    folder
        Of the checkpoint.  Whoever names it answers for its being of the same call.
    """

    def __init__(self, progress: Progress | None = None, folder: Path | None = None) -> None:
        self.say, self.folder = progress or silent, folder

    def tree(self, name: str, make: Callable[[], PriorityTree]) -> PriorityTree:
        """The tree of a step, read if the step is done, else made and kept."""
        if self.folder is None:
            return make()
        path = self.folder / f"{name}.json"
        try:
            return PriorityTree.load(path)
        except DataError:  # not there, or cut off
            made = make()
            made.save(path)
            return made

    def arrays(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """The arrays of a step, read if the step is done, else made and kept."""
        if self.folder is None:
            return make()
        path = self.folder / f"{name}.npz"
        try:
            with np.load(path, allow_pickle=False) as kept:
                return dict(kept)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile):  # not there, or cut off
            made = make()
            with replacing(path) as draft, draft.open("wb") as file:
                np.savez(file, **made)  # type: ignore[arg-type]
            return made

    def forget(self) -> None:
        """All is done: nothing is kept any more."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
