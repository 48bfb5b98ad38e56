"""Prompts and context packs for programs as candidates; written for this project.

A pack says what a translator of a loop program has to know of a language, in a page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rheostat.prediction.language_model.conversation import Message

PACKS = {
    "openmp": """OpenMP shares the iterations of a loop among threads of one node.
- `#pragma omp parallel for` stands directly before a `for` whose bounds do not change inside it.
- Iterations must not depend on each other. A loop over time steps does; share a loop inside it.
- A variable that every iteration adds to needs `reduction(+ : s)`; max and min work the same way.
- Variables declared inside the loop are private. Others that are set in every iteration need
  `private(t)`. The counter of the shared loop is private by itself; counters of inner loops that
  are declared outside are not.
- Updates of `a[index[i]]` need `#pragma omp atomic`, or a reduction over the whole array.
- `collapse(2)` joins two nested loops with nothing between them. `schedule(static)` suits equal
  iterations, `schedule(dynamic, 8)` unequal ones.
- There is no break or return out of a shared loop. A pragma stands before a statement, never
  before a declaration.""",
    "target": """OpenMP target regions run loops on a device with memory of its own.
- `#pragma omp target teams distribute parallel for` before a loop runs it there.
- Arrays reached through pointers need `map(to: a[0:n])` for what is read, `map(from: b[0:n])` for
  what is written entirely, `map(tofrom: c[0:n])` for both. Scalars are copied in by themselves,
  results of a reduction need `map(tofrom: s)` and `reduction(+ : s)`.
- `#pragma omp target data map(...)` around several regions keeps arrays on the device; host code
  sees them after its end or after `#pragma omp target update from(a[0:n])`.
- `collapse(2)` joins nested loops; there is no break out of them.""",
    "serial": """Plain C on one thread: no pragmas, no kernels, no device memory.
- An atomic update becomes a plain one.""",
    "cuda": """CUDA runs a kernel once per thread of a grid of blocks.
- `__global__ void k(...)` computes its index as `blockIdx.x * blockDim.x + threadIdx.x` and returns
  where it is beyond the end. `k<<<blocks, threads>>>(...)` starts it.
- Memory of the device comes from cudaMalloc, is filled and read with cudaMemcpy, and is freed.
- Threads of a block share `__shared__` arrays; `__syncthreads()` lies between writing and reading.
- Sums over threads need atomicAdd or a reduction in shared memory.""",
}
FROM_CUDA = """Coming from CUDA:
- A kernel becomes a plain function with a loop over all its threads: the computed index is the
  loop's counter, and `if (i < n)` its bound. `__global__`, `<<<...>>>` and blockIdx go.
- Arrays of the device go: the loop works on the host's arrays, and cudaMalloc, cudaMemcpy, cudaFree
  and the header of CUDA go with them.
- Shared memory becomes a local array of a loop over blocks. What all threads of a block do before
  `__syncthreads()` is one loop, what they do after it the next."""
CUDA_EXAMPLE = """#include <cstdio>
#include <cuda_runtime.h>

__global__ void scale(const double *x, double *y, double f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = f * x[i];
}

int main() {
  const int n = 500;
  double x[n], y[n], *dx, *dy;
  for (int i = 0; i < n; i++) x[i] = i;
  cudaMalloc(&dx, sizeof x);
  cudaMalloc(&dy, sizeof y);
  cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice);
  scale<<<(n + 127) / 128, 128>>>(dx, dy, 2.0, n);
  cudaMemcpy(y, dy, sizeof y, cudaMemcpyDeviceToHost);
  printf("%g\\n", y[n - 1]);
  cudaFree(dx);
  cudaFree(dy);
  return 0;
}
"""
PLAIN_EXAMPLE = """#include <cstdio>

void scale(const double *x, double *y, double f, int n) {PRAGMA
  for (int i = 0; i < n; i++) y[i] = f * x[i];
}

int main() {
  const int n = 500;
  double x[n], y[n];
  for (int i = 0; i < n; i++) x[i] = i;
  scale(x, y, 2.0, n);
  printf("%g\\n", y[n - 1]);
  return 0;
}
"""
PRAGMAS = {
    "openmp": "\n#pragma omp parallel for",
    "target": "\n#pragma omp target teams distribute parallel for "
    "map(to: x[0:n]) map(from: y[0:n])",
}
ENERGY_PACK = """What a program does with memory and in its inner loops decides its energy.
- Walk arrays in the order in which they lie. Exchange loops so that the innermost moves by one.
- Compute what does not change before the loop: calls of exp, sqrt, pow, divisions by a constant.
- A product is cheaper than a power or a quotient. Compare squares in place of roots.
- Exchange pointers in place of copying arrays. Keep sums in local variables.
- Do not change what is computed, printed or read. Do not add files, sleeps or other programs."""

PERSONA = (
    "You are an engineer for high performance computing. You answer with one complete program in "
    "one fenced block, nothing left out, nothing after it."
)
PLAIN_PERSONA = "You are an engineer for high performance computing. You answer briefly."
LANGUAGES = {"openmp": "C with OpenMP", "target": "C with OpenMP target regions",
             "serial": "plain C", "cuda": "CUDA"}  # fmt: skip
CXX_LANGUAGES = LANGUAGES | {"openmp": "C++ with OpenMP", "target": "C++ with OpenMP target "
                             "regions", "serial": "plain C++"}  # fmt: skip


def fenced(text: str, language: str = "c") -> str:
    r"""A program between fences that are longer than any row of backquotes in it.

    Parameters
    ----------
    text : str
        Whoever wrote it: what it holds stays inside.
    language : str
        Stands after the opening fence.

    Returns
    -------
    str
        As CommonMark reads it.

    Examples
    --------
    >>> fenced("int a;"), fenced("/*\n```\n*/").splitlines()[0]
    ('```c\nint a;\n```', '````c')
    """
    fence = "`" * (max([2, *map(len, re.findall("`+", text))]) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def summary_question(pack: str) -> list[Message]:
    """Self-prompting, first: the context in the model's own words."""
    return [Message("system", PLAIN_PERSONA), Message("user", f"Sum up in a list:\n\n{pack}")]


def description_question(source: str) -> list[Message]:
    """Self-prompting, second: the program in the model's own words."""
    asked = f"Say what this program computes, loop by loop:\n\n{fenced(source)}"
    return [Message("system", PLAIN_PERSONA), Message("user", asked)]


def context_pack(language: str, to: str) -> str:
    """What a translator has to know of the languages.

    Parameters
    ----------
    language, to : str
        Of source and translation.

    Returns
    -------
    str
        A page.

    Examples
    --------
    >>> FROM_CUDA in context_pack("cuda", "openmp"), FROM_CUDA in context_pack("serial", "openmp")
    (True, False)
    """
    return f"{PACKS[to]}\n\n{FROM_CUDA}" if language == "cuda" != to else PACKS[to]


def example_turns(language: str, to: str) -> list[Message]:
    """A question and its answer before the real one, where a program leaves CUDA.

    A small model copies what CUDA it sees unless it has seen it go.

    Parameters
    ----------
    language, to : str
        Of source and translation.

    Returns
    -------
    list of Message
        Two, or none.
    """
    if language != "cuda" or to == "cuda":
        return []
    answer = PLAIN_EXAMPLE.replace("PRAGMA", PRAGMAS.get(to, ""))
    asked = f"Rewrite it in {CXX_LANGUAGES[to]}.\n\n```c\n{CUDA_EXAMPLE}```"
    return [Message("user", asked), Message("assistant", f"```c\n{answer}```")]


def translation_question(
    source: str, to: str, pack: str, summary: str, description: str, beside: str = "",
    note: str = "", *, cxx: bool = False,
) -> list[Message]:  # fmt: skip
    """The task: context, its summary, the description, other files, the source, a note.

    What was C++ or CUDA is asked for in C++.
    """
    parts = [
        f"Background:\n{pack}",
        *([f"In short:\n{summary}"] if summary else []),
        *([f"The program:\n{description}"] if description else []),
        f"Rewrite it in {(CXX_LANGUAGES if cxx else LANGUAGES)[to]}. It must print the same "
        "numbers and read the same arguments, and be right with any number of threads.",
        *([beside] if beside else []),
        fenced(source),
        *([note] if note else []),
    ]
    return [Message("system", PERSONA), Message("user", "\n\n".join(parts))]


def files_beside(files: Mapping[str, str], changed: str) -> str:
    """What a model has to know of the other files of a project; empty where there is none.

    Parameters
    ----------
    files : mapping of str to str
        Text of each by its name.
    changed : str
        The one that is rewritten.

    Returns
    -------
    str
        A part of a question.
    """
    others = [f"{name}:\n{fenced(text, '')}" for name, text in files.items() if name != changed]
    if not others:
        return ""
    said = f"The source below is {changed}: answer with this file. The others stay as they are."
    return "\n\n".join([said, *others])


def refactoring_question(source: str, plan: str = "", results: str = "") -> list[Message]:
    """The task of LASSI-EE: the same results with less energy."""
    parts = [
        "Rewrite this program so that it takes less energy. It must print the same numbers and "
        "read the same arguments.",
        *([f"Plan:\n{plan}"] if plan else []),
        *([f"So far:\n{results}"] if results else []),
        fenced(source),
    ]
    return [Message("system", PERSONA), Message("user", "\n\n".join(parts))]


def plan_question(source: str, background: str, description: str, energy: str) -> list[Message]:
    """What to change, and why it saves energy."""
    parts = [
        f"Background:\n{background}",
        *([f"The program:\n{description}"] if description else []),
        *([f"So far:\n{energy}"] if energy else []),
        "List at most five changes to this program, the one that saves most first:",
        fenced(source),
    ]
    return [Message("system", PLAIN_PERSONA), Message("user", "\n\n".join(parts))]


def judge_question(source: str, candidate: str) -> list[Message]:
    """A second opinion; advice only."""
    asked = (
        f"Original:\n{fenced(source)}\n\nCandidate:\n{fenced(candidate)}\n\nDoes the "
        'candidate compute the same? Answer with JSON: {"valid": true or false, "why": ""}'
    )
    return [Message("system", PLAIN_PERSONA), Message("user", asked)]


def correction_question(code: str, stage: str, errors: str, original: str = "") -> list[Message]:
    """The last program with what is wrong with it, and the one that it has to agree with."""
    parts = [
        *([f"The original:\n{fenced(original)}\n\nThe program made of it:"] if original else []),
        fenced(code),
        f"This program is wrong ({stage}):\n{errors}\n\nMend it.",
    ]
    return [Message("system", PERSONA), Message("user", "\n\n".join(parts))]


def rest_of_cuda_question(code: str, lines: Sequence[str], note: str = "") -> list[Message]:
    """A program whose kernels are translated, with the lines around them that are not."""
    said = "\n".join(lines)
    parts = [
        fenced(code),
        f"These lines of it are still CUDA:\n{said}",
        "Delete those that allocate, copy and free arrays of a device, and the declarations of "
        "these arrays. Call the function with the host's arrays instead: `f(x, n)` in place of "
        "`f<<<blocks, threads>>>(dx, n)`.",
        *([note] if note else []),
    ]
    return [Message("system", PERSONA), Message("user", "\n\n".join(parts))]
