"""What CUDA has and C++ lacks, as short definitions: vectors, atomics, quick mathematics."""

from __future__ import annotations

import re

from rheostat.tradeoff.variants.cuda_device import device_properties
from rheostat.tradeoff.variants.cuda_lane_helpers import lane_functions

DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(include|if|endif)[^\n]*\n", re.MULTILINE)
NO_CODE = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"'
DIM3 = """struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
"""
WARP = "constexpr int warpSize = 32;\n"
"""A number alone: threads of a warp exchange by memory."""
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
WRAPPED = """static inline unsigned {name}(unsigned *p, unsigned most) {{
  unsigned before;
  #pragma omp critical({name})
  {{
    before = *p;
    *p = {next};
  }}
  return before;
}}
"""
ROUNDS = {"rn": "rint", "rz": "trunc", "ru": "ceil", "rd": "floor"}
WHOLE = {"int": "int", "uint": "unsigned", "ll": "long long", "ull": "unsigned long long"}
CONVERTED = "static inline {to} {name}({of} x) {{ return {value}; }}\n"
CONVERSIONS = {
    f"__{of}2{i}_{m}": CONVERTED.format(
        name=f"__{of}2{i}_{m}", of=of, to=to, value=f"({to}){round_}{'f' * (of == 'float')}(x)")
    for of in ("float", "double") for i, to in WHOLE.items() for m, round_ in ROUNDS.items()
} | {
    f"__{i}2{to}_rn": CONVERTED.format(name=f"__{i}2{to}_rn", of=of, to=to, value=f"({to})x")
    for to in ("float", "double") for i, of in {**WHOLE, "double": "double"}.items() if i != to
}  # fmt: skip
"""By the names that they have, so that lines which convert stay as they are."""
HELPERS = {
    **CONVERSIONS,
    **dict(lane_functions()),
    **{n: CAPTURED.format(name=n, operator=o) for n, o in ATOMICS.items()},
    "atomicExch": EXCHANGED,
    "atomicMax": COMPARED.format(name="atomicMax", operator=">"),
    "atomicMin": COMPARED.format(name="atomicMin", operator="<"),
    "atomicCAS": """template <class T, class E, class V>
static inline T atomicCAS(T *p, E expected, V value) {
  return __sync_val_compare_and_swap(p, (T)expected, (T)value);
}
""",
    "atomic_write": """template <class T, class V>
static inline void atomic_write(T *p, V value) {
  T given = value;
  #pragma omp atomic write
  p[0] = given;
}
""",
    **{n: "template <class T>\n"
       f"static inline void {n}(T *p) {{\n  #pragma omp atomic write\n  p[0] = {v};\n}}\n"
       for n, v in (("atomic_set", "true"), ("atomic_clear", "false"))},
    # clang 16 takes *p in a template for no lvalue
    "atomic_read": """template <class T>
static inline T atomic_read(T *p) {
  T value;
  #pragma omp atomic read
  value = p[0];
  return value;
}
""",
    "atomicInc": WRAPPED.format(name="atomicInc", next="before >= most ? 0 : before + 1"),
    "atomicDec": WRAPPED.format(
        name="atomicDec", next="before - 1 < most ? before - 1 : most"
    ),
    "rsqrt": "static inline double rsqrt(double x) { return 1 / sqrt(x); }\n",
    "rsqrtf": "static inline float rsqrtf(float x) { return 1 / sqrtf(x); }\n",
    **{n: f"template <class T>\nstatic inline T {n}(const T *p) {{\n  return *p;\n}}\n"
       for n in ("__ldg", "__ldcs", "__ldca", "__ldcg", "__ldlu", "__ldcv")},
    **{n: f"template <class T, class V>\nstatic inline void {n}(T *p, V value) {{\n"
          "  *p = (T)value;\n}\n" for n in ("__stcs", "__stcg", "__stwb", "__stwt")},
    "__fdividef": "static inline float __fdividef(float x, float y) { return x / y; }\n",
    "__saturatef": "static inline float __saturatef(float x) {\n"
                   "  return x > 0 ? (x < 1 ? x : 1) : 0;\n}\n",
    **{f"__{t}_as_{u}": f"static inline {c} __{t}_as_{u}({d} x) {{\n"
                        f"  {c} bits;\n  memcpy(&bits, &x, sizeof bits);\n  return bits;\n}}\n"
       for t, d, u, c in (("float", "float", "int", "int"), ("int", "int", "float", "float"),
                          ("float", "float", "uint", "unsigned"),
                          ("uint", "unsigned", "float", "float"),
                          ("double", "double", "longlong", "long long"),
                          ("longlong", "long long", "double", "double"))},
    "__double2hiint": "static inline int __double2hiint(double x) {\n  long long bits;\n"
                      "  memcpy(&bits, &x, sizeof bits);\n  return bits >> 32;\n}\n",
    "__double2loint": "static inline int __double2loint(double x) {\n  long long bits;\n"
                      "  memcpy(&bits, &x, sizeof bits);\n  return (int)bits;\n}\n",
    "__hiloint2double": "static inline double __hiloint2double(int high, int low) {\n"
                        "  unsigned long long bits = (unsigned long long)(unsigned)high << 32 "
                        "| (unsigned)low;\n  double x;\n  memcpy(&x, &bits, sizeof x);\n"
                        "  return x;\n}\n",
    "__clz": "static inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }\n",
    "__clzll": "static inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }\n",
    "__brev": "static inline unsigned __brev(unsigned x) {\n  unsigned turned = 0;\n"
              "  for (int i = 0; i < 32; i++) turned |= (x >> i & 1) << (31 - i);\n"
              "  return turned;\n}\n",
    "__mulhi": "static inline int __mulhi(int a, int b) { return (long long)a * b >> 32; }\n",
    "__umulhi": "static inline unsigned __umulhi(unsigned a, unsigned b) {\n"
                "  return (unsigned long long)a * b >> 32;\n}\n",
    "__umul64hi": "static inline unsigned long long __umul64hi(unsigned long long a, "
                  "unsigned long long b) {\n  return (unsigned __int128)a * b >> 64;\n}\n",
    **{f"__{n}24": f"static inline {t} __{n}24({t} a, {t} b) {{ return a * b; }}\n"
       for n, t in (("mul", "int"), ("umul", "unsigned"))},
    **{f"__{p}{n}_rn": f"static inline {t} __{p}{n}_rn({t} a, {t} b) {{ return a {o} b; }}\n"
       for n, o in (("add", "+"), ("sub", "-"), ("mul", "*"), ("div", "/"))
       for p, t in (("f", "float"), ("d", "double"))},
    "__frcp_rn": "static inline float __frcp_rn(float x) { return 1 / x; }\n",
    "same_for_all": """static inline int same_for_all(
    int all, bool own, int line = __builtin_LINE()) {
  if (all == !own) {
    fprintf(stderr, "line %d: threads of a block part before a barrier\\n", line);
    exit(EXIT_FAILURE);
  }
  return own;
}
""",
    "threads_along": """static inline unsigned threads_along(unsigned blocks, unsigned threads) {
  return blocks * threads;
}
""",
    "copy_bytes": """static inline void copy_bytes(void *to, const void *from, size_t size) {
  std::copy((const char *)from, (const char *)from + size, (char *)to);
}
""",
    "memcpy_rows": """static inline void memcpy_rows(
    void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows) {
  for (size_t r = 0; r < rows; r++)
    memcpy((char *)to + r * to_pitch, (const char *)from + r * from_pitch, width);
}
""",
    "memset_rows": """static inline void memset_rows(
    void *p, size_t pitch, int value, size_t width, size_t rows) {
  for (size_t r = 0; r < rows; r++) memset((char *)p + r * pitch, value, width);
}
""",
    **{n: f"using std::{n};\ntemplate <class A, class B, class = "
          "typename std::enable_if<!std::is_same<A, B>::value>::type>\n"
          f"static inline typename std::common_type<A, B>::type {n}(A a, B b) {{\n"
          f"  return a {o} b ? a : b;\n}}\n" for n, o in (("min", "<"), ("max", ">"))},
}  # fmt: skip
ALSO_HOSTS = ("min", "max")
"""Helpers that NVIDIA's compiler has for the host's code, too."""
OF_RULES = ("copy_bytes", "memcpy_rows", "memset_rows", "same_for_all", "threads_along")
"""Helpers that rules write for what the program has in other words."""
INTRINSICS = {
    **{f"__{n}f": f"{n}f" for n in ("sin", "cos", "exp", "log", "tan", "log2", "log10", "pow")},
    "__exp10f": "exp10f", "__sincosf": "sincosf", "__fsqrt_rn": "sqrtf", "__dsqrt_rn": "sqrt",
    "__fmaf_rn": "fmaf", "__fma_rn": "fma", "__popc": "__builtin_popcount",
    "__popcll": "__builtin_popcountll", "__ffs": "__builtin_ffs", "__ffsll": "__builtin_ffsll",
    "__threadfence": "__sync_synchronize", "__threadfence_block": "__sync_synchronize",
    "__threadfence_system": "__sync_synchronize", "__trap": "abort",
}  # fmt: skip
"""What a function of the host, or a cast, does as well."""


VECTORS = {"float": "float", "double": "double", "int": "int", "uint": "unsigned",
           "short": "short", "ushort": "unsigned short", "char": "signed char",
           "uchar": "unsigned char", "long": "long", "ulong": "unsigned long",
           "longlong": "long long", "ulonglong": "unsigned long long"}  # fmt: skip
MATHEMATICS = (
    r"(?:a?(?:sin|cos|tan)h?|atan2|exp2?|expm1|log(?:2|10|1p)?|pow|sqrt|cbrt|hypot|erfc?|[lt]gamma|"
    r"f(?:abs|ma|max|min|mod|loor)|ceil|round|trunc|rint|nearbyint|ldexp|frexp|copysign)f?|sincosf?|"
    r"is(?:nan|inf|finite)|exp10f?|signbit|(?:fdim|remainder|l?lround|l?lrint|logb|scalbn|j[01]|y[01])f?"
)
CALL = r"(?<![\w.:>])(?:{})\s*\("
HEADERS = {
    "stdlib.h": CALL.format("malloc|calloc|free|exit|abort|ato[ifl]|s?rand|abs|qsort"),
    "string.h": CALL.format("mem(?:cpy|set|cmp|move)|str(?:n?cmp|len|n?cpy|cat)"),
    "stdio.h": CALL.format("[fs]?n?printf|fopen|fflush|fread|fwrite|f?scanf|puts"),
    "math.h": CALL.format(MATHEMATICS), "assert.h": CALL.format("assert"),
    "stdint.h": r"\bu?int(?:8|16|32|64)_t\b", "float.h": r"\b(?:FLT|DBL)_[A-Z]\w+\b",
    "limits.h": r"\bU?(?:INT|LONG|CHAR|SHRT|LLONG)_M(?:AX|IN)\b", "vector": r"\bstd::vector<",
    "deque": r"\bstd::deque<",
    "algorithm": r"\bstd::(?:min|max|sort|swap|fill|copy)\b", "type_traits": r"\bstd::enable_if\b",
    "omp.h": r"\bomp_get_wtime\b",
}  # fmt: skip
"""Headers by what asks for them; NVIDIA's compiler includes most of them itself."""


def with_helpers(text: str, device: str) -> str:
    """A translated program with the definitions that it needs, after its first includes.

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
    code = code_of(device)
    whole = code_of(text)
    every = "" if re.search(r"\busing\s+namespace\s+std\b", text) else whole
    hosts = dict.fromkeys(ALSO_HOSTS, every) | dict.fromkeys(OF_RULES, whole)
    used = {n: h for n, h in HELPERS.items()
            if re.search(rf"(?<![\w:.])(?<!->){n}\s*\(", code + hosts.get(n, ""))
            and not re.search(rf"#define\s+{n}\b|\w\s+{n}\s*\([^;()]*\)\s*\{{", text)}  # fmt: skip
    place = _after_includes(text)
    made = [DIM3, WARP * bool(re.search(r"(?<![\w.>])warpSize\b", code)), device_properties(text),
            *_vectors(text), *used.values()]  # fmt: skip
    includes = _includes(text, text) if place else ""
    needed = _includes("".join(made), text[:place] + includes)
    if not place:
        needed = _includes(text + "".join(made), text)
    if re.search(HEADERS["math.h"] + "|" + CALL.format("abs"), code) and not re.search(
        r"#\s*include\s*<math\.h>", text + includes + needed
    ):
        needed += "#include <math.h>\n"  # cmath alone has no abs and no exp of floats outside std
    return text[:place] + includes + needed + "\n" * bool(place) + "".join(made) + text[place:]


def _after_includes(text: str) -> int:
    """Where a program's first includes end, and its code has not begun."""
    plain = re.sub(NO_CODE, lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.DOTALL)
    code = re.search(r"^[ \t]*(?!#)[^\n]*[{;]", plain, re.MULTILINE)
    end = len(text) if code is None else code.start()
    place, opened, within = 0, 0, False
    for m in DIRECTIVE.finditer(plain, 0, end):
        if m[1] == "include":
            place, within = m.end(), opened > 0
            continue
        opened += 1 if m[1] == "if" else -1
        if within and not opened:  # behind the condition that the last one stands in
            place, within = m.end(), False
    return place


def _includes(asking: str, there: str) -> str:
    code = code_of(asking)
    return "".join(
        f"#include <{header}>\n" for header, uses in HEADERS.items()
        if re.search(uses, code) and not re.search(rf"#\s*include\s*<{_either(header)}>", there)
    )  # fmt: skip


def _vectors(text: str) -> list[str]:
    """CUDA's vectors that a program names, as structures."""
    made = []
    for name, kind, n in sorted(set(re.findall(r"\b(?:make_)?((\w+?)([1234]))\b", code_of(text)))):
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
    """A header of C by its name there or in C++, as a pattern; C++'s own have one name."""
    name = header.removesuffix(".h")
    return header if name == header else rf"(?:{name}\.h|c{name})"


def code_of(text: str) -> str:
    """A program without comments and what strings say.

    Parameters
    ----------
    text : str
        C++ or CUDA.

    Returns
    -------
    str
        What is left.
    """
    quotes = {'"': '""'}
    return re.sub(NO_CODE, lambda m: quotes.get(m[0][0], ""), text, flags=re.DOTALL)
