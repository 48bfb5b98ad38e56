"""What CUDA has and C++ lacks, as short definitions: vectors, atomics, quick mathematics."""

from __future__ import annotations

import re

DIM3 = """struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
"""
ATOMICS = {
    "atomicAdd": "+=",
    "atomicSub": "-=",
    "atomicAnd": "&=",
    "atomicOr": "|=",
    "atomicXor": "^=",
}
CAPTURED = """template <class T, class V>
static inline T {name}(T *p, V value) {{
  T before;
  #pragma omp atomic capture
  {{
    before = *p;
    *p {operator} value;
  }}
  return before;
}}
"""
COMPARED = """template <class T, class V>
static inline T {name}(T *p, V value) {{
  T before;
  #pragma omp critical({name})
  {{
    before = *p;
    if ((T)value {operator} before) *p = value;
  }}
  return before;
}}
"""
EXCHANGED = """template <class T, class V>
static inline T atomicExch(T *p, V value) {
  T before;
  #pragma omp atomic capture
  {
    before = *p;
    *p = value;
  }
  return before;
}
"""
HELPERS = {
    **{n: CAPTURED.format(name=n, operator=o) for n, o in ATOMICS.items()},
    "atomicExch": EXCHANGED,
    "atomicMax": COMPARED.format(name="atomicMax", operator=">"),
    "atomicMin": COMPARED.format(name="atomicMin", operator="<"),
    "rsqrt": "static inline double rsqrt(double x) { return 1 / sqrt(x); }\n",
    "rsqrtf": "static inline float rsqrtf(float x) { return 1 / sqrtf(x); }\n",
    "__ldg": "template <class T>\nstatic inline T __ldg(const T *p) {\n  return *p;\n}\n",
    **{f"__{n}f": f"static inline float __{n}f(float x) {{ return {n}f(x); }}\n"
       for n in ("sin", "cos", "exp", "log", "tan", "log2", "log10")},
    "__powf": "static inline float __powf(float x, float y) { return powf(x, y); }\n",
    "__fdividef": "static inline float __fdividef(float x, float y) { return x / y; }\n",
    **{n: f"template <class A, class B>\nstatic inline auto {n}(A a, B b) {{\n"
          f"  return a {o} b ? a : b;\n}}\n" for n, o in (("min", "<"), ("max", ">"))},
}  # fmt: skip


VECTORS = {"float": "float", "double": "double", "int": "int", "uint": "unsigned",
           "short": "short", "char": "signed char", "uchar": "unsigned char",
           "longlong": "long long"}  # fmt: skip
HEADERS = {"stdlib.h": r"\b(?:malloc|free)\(", "string.h": r"\bmem(?:cpy|set)\(",
           "vector": r"\bstd::vector<", "math.h": r"\brsqrtf?\(|\b__[a-z0-9]+f\(",
           "omp.h": r"\bomp_get_wtime\b"}  # fmt: skip


def with_helpers(text: str, device: str) -> str:
    """A translated program with the definitions that it needs, after its includes.

    Parameters
    ----------
    text : str
        The program.
    device : str
        What was its device's code, where these functions are looked for.

    Returns
    -------
    str
        The program.
    """
    used = {n: h for n, h in HELPERS.items() if re.search(rf"(?<![\w:.]){n}\s*\(", code_of(device))
            and not re.search(rf"#define\s+{n}\b", text)}  # fmt: skip
    if "using namespace std" in text:
        used = {n: h for n, h in used.items() if n not in ("min", "max")}
    includes = "".join(
        f"#include <{header}>\n" for header, uses in HEADERS.items()
        if re.search(uses, text) and not re.search(rf"#\s*include\s*<{_either(header)}>", text)
    )  # fmt: skip
    last = list(re.finditer(r"^[ \t]*#\s*include[^\n]*\n", text, re.MULTILINE))
    place = last[-1].end() if last else 0
    made = [includes, "\n" * bool(last), DIM3, *_vectors(text), *used.values()]
    return text[:place] + "".join(made) + text[place:]


def _vectors(text: str) -> list[str]:
    """CUDA's vectors that a program names, as structures."""
    made = []
    for name, kind, n in sorted(set(re.findall(r"\b(?:make_)?((\w+?)([234]))\b", code_of(text)))):
        if kind in VECTORS:
            of, letters = VECTORS[kind], "xyzw"[: int(n)]
            given = ", ".join(f"{of} {x}" for x in letters)
            made.append(
                f"struct {name} {{\n  {of} {', '.join(letters)};\n}};\n"
                f"static inline {name} make_{name}({given}) {{\n"
                f"  return {{{', '.join(letters)}}};\n}}\n"
            )
    return made


def _either(header: str) -> str:
    """A header of C by its name there or in C++, as a pattern."""
    name = header.removesuffix(".h")
    return rf"(?:{name}\.h|c?{name})"


def code_of(text: str) -> str:
    """A program without comments and strings.

    Parameters
    ----------
    text : str
        C++ or CUDA.

    Returns
    -------
    str
        What is left.
    """
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', "", text, flags=re.DOTALL)
