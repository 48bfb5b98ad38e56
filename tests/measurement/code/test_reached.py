"""What no input reached is not vouched for: branches, comparisons without one, lines."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import replace

import pytest

from rheostat.measurement.code import verifier
from rheostat.measurement.code.altered.weak_hashes import weak_hashes
from rheostat.measurement.code.case import Case, RungOptions
from rheostat.measurement.code.ladder import Verifier
from rheostat.measurement.code.programs.program import Program
from rheostat.measurement.code.programs.program_inputs import InputRange, ProgramInputs
from rheostat.measurement.code.reached import marked_runs
from rheostat.measurement.code.reached.marked_runs import LEFT_OUT, unreached
from rheostat.measurement.code.reached.marked_text import marked
from rheostat.measurement.code.sandboxed.sandbox import Bubblewrap
from rheostat.measurement.code.surroundings.another_library import elsewhere
from rheostat.measurement.code.surroundings.header_macros import header_macros
from rheostat.measurement.code.toolchain import absent

LACKING = Bubblewrap().why() or absent("gcc", "clang")
TEXT = """#include <math.h>
int omp_get_thread_num(void), omp_get_num_threads(void);
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 100;
  unsigned s = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
  if (n < 1) { fprintf(stderr, "n is too small\\n"); return 1; }
  unsigned *a = malloc(n * sizeof *a);
  unsigned long sum = 0;
  if (!a) return 1;
  for (int i = 0; i < n; i++) { s = s * 1664525u + 1013904223u; a[i] = s >> 4; }
  if (s == 31) sum = 5;
SUM
  printf("%lu\\n", sum);
  free(a);
  return 0;
}
"""
SERIAL = "  for (int i = 0; i < n; i++) sum += a[i] % 1000;"
PRAGMA = "#pragma omp parallel for reduction(+:sum)"
INPUTS = ProgramInputs({"n": InputRange(1, 300), "s": InputRange(1, 9**6, kind="seed")},
                       ("{n}", "{s}"))  # fmt: skip
FLAGS = ("-O2", "-lm")
NEVER = {
    "remainder by a rounded reciprocal": "{ unsigned long v = a[i] * 7ul; sum += v - "
    "(unsigned long)((unsigned __int128)v * (~0ul / 999999937) >> 64) * 999999937; }",
    "no branch": "sum += a[i] % 1000 + (a[i] == 12345678);",
    "left out": "if (a[i] != 12345678) sum += a[i] % 1000;",
    "both": "sum += (a[i] == 777u && i) ? 1 : a[i] % 1000;",
    "skipped": "{ if ((a[i] & 0xfffff) == 0xfffff) continue; sum += a[i] % 1000; }",
    "case": "switch (a[i]) { case 7:\n sum += 2; break; default: sum += a[i] % 1000; }",
    "refused for what data hold": "{ if (a[i] == 12345678) exit(3); sum += a[i] % 1000; }",
    "ends well": "{ if (a[i] == 12345678) exit(0); sum += a[i] % 1000; }",
    "never beyond": "sum += a[i] % 8 < 7 ? a[i] % 8 : 7;",
    "never beyond, by a name": "{ static unsigned most = 7; unsigned v = a[i] % 8; "
    "sum += v < most ? v : most; }",
    "never beyond, by a function": "sum += (unsigned long)fmin(a[i] % 8, 7);",
    "never the greater": "{ unsigned long h = a[i] / 3u; sum += a[i]; sum = h > sum ? h : sum; }",
    "never the greater, by a function": "{ sum += a[i]; "
    "sum = (unsigned long)fmax(sum, a[i] / 3); }",
    "set to the most elsewhere": "{ unsigned v = a[i] % 8, w = v; if (v >= 7) w = 7; sum += w; }",
    "element set to the most": "{ static unsigned t[4]; t[i % 4] = a[i] % 8; "
    "if (t[i % 4] >= 7) t[i % 4] = 7; sum += t[i % 4]; }",
    "set to the most": "{ unsigned v = a[i] % 8; if (v > 7) v = 7; sum += v; }",
    "near the end": "{ static short t; t = (short)(t + a[i] % 200); sum = t; }",
    "near the end of a mask": "{ static int t; t += a[i] % 200; sum = t & 0x7fff; }",
    "near the end of a remainder": "{ static int t; t += a[i] % 200; sum = t % 33000; }",
    "quotient": "sum += a[i] % 1000 + a[i] / 268435450;",
    "shift": "sum += a[i] % 1000 + ((unsigned long)(a[i] % 1000 * 3) >> 13);",
    "whole part": "sum += a[i] % 1000 + (unsigned long)(a[i] * 3.7e-9);",
    "bit": "sum += a[i] % 1000 + (a[i] % 1000 & 4096);",
    "rounded": "{ static double t; t = (float)(t + (a[i] % 200) / 7.0); sum = t; }",
    "sparse table": "{ static char t[1 << 24]; t[9] = 1; sum += a[i] % 1000 + t[a[i] >> 4]; }",
    "table of factors": "{ static char t[1 << 24]; t[9] = 1; "
    "sum += a[i] % 1000 * (t[a[i] >> 4] + 1u); }",
    "cleared bits": "{ static char t[1 << 24]; t[9] = 1; sum += a[i] % 1000 & ~t[a[i] >> 4]; }",
    "fused": "{ static char t[1 << 24]; static double d; t[9] = 1; "
    "d = d + t[a[i] >> 4] * 0.5; sum = (unsigned long)(sum + a[i] % 1000 + 2 * d); }",
    "table of truths": "{ static _Bool u[1 << 24]; u[9] = 1; sum += a[i] % 1000; "
    "if (u[a[i] >> 4]) sum++; }",
    "index": "{ static char t[1 << 24]; t[9] = 1; unsigned two[] = {a[i] % 1000, 0}; "
    "sum += two[t[a[i] >> 4]]; }",
    "all at once": "sum += a[i] % 1000 + ((a[i] % 997 == 3) & (a[i] % 991 == 5) & (i % 97 == 4));",
    "overflow": "{ int q; sum += a[i] % 1000 + __builtin_add_overflow(a[i], 1 << 30, &q); }",
    "search": '{ char w[16]; sprintf(w, "%u", a[i]); '
    'sum += a[i] % 1000 + !!__builtin_strstr(w, "777123"); }',
    "letter": '{ char w[16] = ""; sprintf(w, "%u", a[i] % 1000); sum += a[i] % 1000; '
    "if (w[5]) sum++; }",
    "memory": "{ char *p = malloc(1ul << 60); sum += a[i] % 1000; if (p) sum += 1 + *p; free(p); }",
    "memory that there always was": "{ void *p = malloc(8); sum += a[i] % 1000 + !p; free(p); }",
    "memory that failed, or another thing": "{ int *p = malloc(8), no = a[i] == 777777 || !p; "
    "sum += a[i] % 1000; if (!no) sum++; else sum--; sum--; free(p); }",
    "memory that failed, set elsewhere": "{ int *p = malloc(8), no = !p; if (a[i] % 4096 == 5) "
    "*(i % 8 == 77 ? &no : p) = 1; sum += a[i] % 1000; if (!no) sum++; sum--; free(p); }",
    "factor of a margin": "{ static double top; sum += a[i] % 1000; "
    "if (a[i] > top * 1.0000000001) top = a[i]; }",
    "tiny bound": "{ double d = a[i] % 64 - 7.0; sum += a[i] % 1000; if (fabs(d) < 1e-9) sum++; }",
    "within what is stated": "if (n > 250 && n - 297 > i && a[i] % 4096 == 77) sum++;\n"
    "  else sum += a[i] % 1000;",
    "changed elsewhere": "{ static int k, *p = &k; int top = 0; p = i & 1 ? p : &top; "
    "*p = a[i] == 777; sum += a[top + k]; }",
    "text that nearly fills its room": '{ char w[12]; snprintf(w, sizeof w, "%lu", '
    "sum += a[i]); sum = strtoul(w, 0, 10); }",
    "the same, without a size": '{ char w[12]; sprintf(w, "%lu", sum += a[i]); '
    "sum = strtoul(w, 0, 10); }",
    "array of a fixed size": "{ static unsigned t[1280]; static int k; "
    "t[k += 3 + a[i] % 3] = a[i] % 1000; sum += t[k]; }",
    "fractions": "{ static unsigned x = 1, y = 1; sum += a[i] % 1000; "
    "if ((float)a[i] / (i + 1) > (float)x / y) { x = a[i]; y = i + 1; } }",
    "products": "{ static float top; float v = (float)(a[i] % 9000) * (float)i; "
    "sum += a[i] % 1000; if (v > top) top = v; }",
    "one block more": "sum += (a[i] + 2000003) / 1000003 + 1;",
    "one block more, by a variable": "{ unsigned many = (a[i] % 1000) / 1009u; sum += many + 1; }",
    "a mask that cuts nothing": "{ unsigned v = a[i] % 1000; sum += v & 1023; }",
    "a remainder that cuts nothing": "{ unsigned v = a[i] % 1000; sum += v % 1024; }",
    "exponent of a float": "{ union { float f; unsigned u; } x; x.f = (float)(a[i] | 1); "
    "sum += x.u >> 23; }",
    "digits by a logarithm": "sum += a[i] % 1000 + (unsigned)log10(1 + a[i]);",
    "quotient of a product": "{ unsigned b = a[i] + 1; sum += (unsigned long)((double)a[i] * "
    "(double)b / 2147483647.0); }",
    "halves": "sum += a[i] % 1000 + lrint((a[i] | 1) / 1e7);",
    "halves by a sum": "sum += (unsigned long)((a[i] | 1) / 1e7 + 0.5);",
    "half a divisor": "{ unsigned d = 900001 + 2 * (a[i] & 65535); "
    "sum += (a[i] + (d - 1) / 2) / d; }",
    "half a power of two": "sum += ((unsigned long)a[i] * 1000 + (1 << 27)) >> 28;",
    "in the head of a loop": """{
#pragma omp parallel for reduction(+:sum)
  for (int k = 0; k < 1 + (a[i] > 268435450u); k++) sum += a[i] % 1000; }""",
    "chosen in the head of a loop": """{
#pragma omp parallel for reduction(+:sum)
  for (int k = 0; k < (i < 400 ? 1 : 0); k++) sum += a[i] % 1000; }""",
    "by a part of all": "{ double part = a[i] / (double)n; unsigned long at = part * i; "
    "sum += a[i] % 1000 + at - at; }",
    "by a reciprocal": "sum += (unsigned)((a[i] % 1000) * (1.0 / 7));",
    "sum of 32 bits": "{ static int t; t += (int)(a[i] % 12000000); sum = t; }",
    "digits": "{ unsigned v = a[i] % 1040000; "
    "for (int k = 0; k < 20; k += 10) sum += v >> k & 1023; }",
    "thread number, cut": """{
#pragma omp parallel reduction(+:sum)
  { int me = omp_get_thread_num(), part = me; if ((part & 31) == 0) sum += a[i] % 1000; } }""",
    "thread number as an index": """{ unsigned long part[300] = {0};
#pragma omp parallel
  { const int me = omp_get_thread_num(); if (me == 0) part[me] = a[i] % 1000; }
  sum += part[0]; }""",
    "entry of a table": "{ static const unsigned add[3] = {0, 0, 1}; "
    "sum += a[i] % 1000 + add[(a[i] % 999 == 3) + (a[i] % 997 == 5)]; }",
    "pointer of a table": "{ static unsigned *t[1 << 24], one = 1, *p; t[9] = &one; "
    "p = t[a[i] >> 4]; sum += a[i] % 1000 + (p ? *p : 0); }",
    "not a number": "{ double q = a[i] - 1e7 / 3; q = __builtin_isnan(q); "
    "sum += a[i] % 1000 + (unsigned)q; }",
    "no tie of indices": "{ int last = n - 1;\n if (i != last) { sum += a[i]; continue; }\n"
    " sum += last < i ? 1 : 2; }",
    "thread number beside a product": """{ long key = 0;
#pragma omp parallel reduction(max:key)
  { int me = omp_get_thread_num(); key = a[i] % 1000 * 300L + 299 - me; }
  sum += key / 300; }""",
    "no tie of two members": "{ struct { unsigned x, y, z; } o = {a[i] % 9, a[i] / 9 % 9, "
    "a[i] % 7}; sum += a[i] % 1000 + (o.x == o.y && o.z > o.x + 99); }",
    "places shared by remainders": "{ static unsigned t[6000]; "
    "sum += t[i % 17 * 300 + i % 19] += a[i] % 1000; }",
    "stamp of a byte": "{ static unsigned char now; now++; sum += a[i] % 1000 + (now > 9); }",
    "count of 16 bits": "{ static short k; k = (short)(k + 211); sum += a[i] % 1000 + (k > 999); }",
}
REACHED = {
    "counters that go round on purpose": """  static unsigned ring[256];
  unsigned char at = 0, epoch = 0;
  for (int i = 0; i < n; i++) {
    ring[at++] = a[i] % 1000;
    if (++epoch == 0) { for (int k = 0; k < 256; k++) ring[k] = 1; epoch = 1; }
    sum += ring[i % 256];
  }""",
    "memory that failed, of several": """  int failed = 0;
#pragma omp parallel reduction(| : failed) reduction(+ : sum)
  {
    unsigned *b = malloc(n * sizeof *b), *c = malloc(n * sizeof *c);
    failed = !b || !c;
#pragma omp for
    for (int i = 0; i < n; i++)
      if (!failed) sum += (c[i] = b[i] = a[i]) % 1000;
    free(b); free(c);
  }
  if (failed) return 1;""",
    "until nothing changes": """  for (int i = 0; i < n; i++) {
    unsigned v = a[i];
    int left;
    do {
      left = 0;
      for (int k = 0; k < 3; k++) if (v > 9u << k) v /= 2, left++;
    } while (left > 0);
    sum += v;
  }""",
    "tables": """  static const unsigned week[8] = {0, 3, 1, 4, 1, 5, 9, 2};
  static const double halves[2][2] = {{0.5, 1.5}, {2.5, 3.5}};
  for (int i = 0; i < n; i++) {
    sum += week[1 + a[i] % 7] + "0123456789abcdef"[a[i] & 15];
    sum += (unsigned long)(2 * halves[a[i] >> 5 & 1][a[i] >> 6 & 1]);
  }""",
    "quotient by an exact reciprocal": "for (int i = 0; i < n; i++) sum += a[i] - "
    "(unsigned)(a[i] * 3435973837ul >> 35) * 10;",
    "range by a product": "for (int i = 0; i < n; i++) sum += (unsigned long)a[i] * n >> 32;",
    "quotient that is corrected": "for (int i = 0; i < n; i++) { unsigned long v = a[i] % 1000003;"
    "\n v -= (v * 429156 >> 32) * 10007;\n if (v >= 10007) v -= 10007;\n sum += v; }",
    "tie on lines of its own": "struct { unsigned v; int at; } x, y;\n"
    "for (int i = 0; i < n; i++) { x.v = a[i] % 9; x.at = i; y.v = a[i / 2] % 9; y.at = i / 2;\n"
    " if (x.v != y.v) { sum += x.v; continue; }\n sum += x.at < y.at ? 1 : 2; }",
    "places of their own": """  static unsigned t[6000];
  static struct { int of; unsigned v; } u[6000];
  for (int i = 0; i < n; i++) {
    sum += t[i / 19 * 19 + i % 19] += a[i] % 1000;
    int w = a[i] % n, at = w % 17 * 300 + w % 19;
    if (u[at].of == w) sum += u[at].v; else u[at].of = w, u[at].v = a[i] % 100;
  }""",
    "ties of what is kept": """  struct { unsigned v; int at; } top = {0, 0}, *p = &top;
  for (int i = 0; i < n; i++) {
    unsigned v = a[i] / 40000;
    if (v > p->v || (v == p->v && p->at > i)) p->v = v, p->at = i;
    if (i && a[i] == a[i - 1] && a[i] < a[i / 2]) sum++;
  }
  sum += p->v + p->at;""",
    "fronts": """  int many = n, level = 0;
  while (many > 0) {
    int next = 0;
    for (int i = 0; i < many; i++) { sum += a[i] % 1000; next += i & 1; }
    many = next;
    level++;
  }
  sum += level > 1 ? level - 2 : 0;""",
    "greater beside a bound": """  unsigned top = 0;
  for (int i = 0; i < n; i++) a[i] = a[i] % 3 ? 1u << 20 : a[i] % 1000;
  for (int i = 0; i < n; i++)
    if (a[i] < 1 << 20) { sum++; if (a[i] > top) top = a[i]; }
  sum += top;""",
    "an index that the line before asked for": """  for (int i = 0; i < n; i++) {
    if (i == 0) a[i] = 5 + n; else a[i] = a[i] % 1000;
    if (i != 1) sum += a[i]; else sum += a[i] + 1;
  }""",
    "stack": """  for (int i = 0; i < n; i++) {
    unsigned stack[2];
    int top = 0;
    stack[top++] = a[i] % 1000;
    if (a[i] & 1) stack[top++] = 0;
    while (top > 0) sum += stack[--top];
  }""",
    "stated": """  unsigned *end = a + (n < 1000 ? n : 1000);
  if (n + 1 > 400)
    sum = 7;
  else
    for (unsigned *x = a; x < end; x++) sum += *x % 1000;""",
    "stated, in a region": f"""  if (n > 400)
    sum = 8;
{PRAGMA}
  for (int i = 0; i < n; i++) {{
    if (n > 400) sum += 9;
    sum += a[i] % 1000;
  }}""",
    "margins": """  double before = 0;
  for (int i = 0; i < n; i++) {
    double v = a[i] % 4096;
    if (v > before * 1.009) sum++;
    if (fabs(v / 1e7 - 1e-4) < 9e-5) sum++;
    before = v;
  }""",
    "clause": f"{PRAGMA} if (n > 100000)\n{SERIAL}",
    "exchange that other threads make fail": """#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    unsigned long was, old = *(volatile unsigned long *)&sum;
    do {
      was = old;
      old = __sync_val_compare_and_swap(&sum, was, was + a[i] % 1000);
    } while (old != was); }""",
    "critical": """#pragma omp parallel
  {
    unsigned long mine = 0;
#pragma omp for nowait
    for (int i = 0; i < n; i++) mine += a[i] % 1000;
#pragma omp critical
    sum += mine;
  }""",
    "parts that come free": """  long best = -1;
#pragma omp parallel
  {
    long mine = -1;
#pragma omp for schedule(dynamic, 4) nowait
    for (int i = 0; i < n; i++)
      if (mine < 0 || a[i] % 1000 > mine) mine = a[i] % 1000;
#pragma omp critical
    if (mine >= 0 && (best < 0 || mine > best)) best = mine;
  }
  sum = best;""",
    "blocks": f"""{PRAGMA} \\
  schedule(static)
  for (int b = 0; b < n; b += 64)
    for (int i = b; i < (b + 64 < n ? b + 64 : n); i++) sum += a[i] % 1000;""",
    "tie": """  unsigned top = 0, at = 0;
  for (int i = 0; i < n; i++)
    if (a[i] > top || (a[i] == top && (unsigned)i < at)) top = a[i], at = i;
  sum = top + at;""",
    "lesser": f"""  unsigned least = a[0];
  for (int i = 1; i < n; i++) least = a[i] < least ? a[i] : least;
  sum = least * 0u;
{SERIAL}""",
    "lesser, by a function": """  double top = -1;
  for (int i = 0; i < n; i++) top = fmax(top, a[i] % 1000);
  sum = (unsigned long)top;""",
    "some beyond": "  for (int i = 0; i < n; i++) sum += a[i] % 9 < 7 ? a[i] % 9 : 7;",
    "bound of the data": "  unsigned char *b = malloc(n);\n"
    "  for (int i = 0; i < n; i++) b[i] = (unsigned char)(a[i] % 251 < 249 ? a[i] % 251 : 249);\n"
    "  for (int i = 0; i < n; i++) sum += b[i];\n  free(b);",
    "index": "  for (short i = 0; i < n; i++) sum += a[i] % 1000 + (unsigned short)i;",
    "letters": "  for (int i = 0; i < n; i++) { char c = (char)('a' + a[i] % 26); sum += c; }",
    "cut on purpose": "  unsigned char h = 0;\n"
    "  for (int i = 0; i < n; i++) h = (unsigned char)(h * 31 + a[i]), sum += h + (a[i] & 4095);",
    "whole in a float": "  float t = 0;\n  for (int i = 0; i < n; i++) t += a[i] % 1000;\n"
    "  sum = (unsigned long)(t + (float)(n / 2.0));",
    "room for all texts": "  for (int i = 0; i < n; i++) { char w[12]; "
    'snprintf(w, sizeof w, "%u", a[i]); sum += strtoul(w, 0, 10) % 1000; }',
    "as large as n may be": "  unsigned t[400];\n"
    "  for (int i = 0; i < n; i++) t[i] = a[i] % 1000;\n"
    "  for (int i = 0; i < n; i++) sum += t[i];",
    "small fractions": """  double top = 0;
  for (int i = 0; i < n; i++) {
    double q = (double)(a[i] % 1000) / (i + 1);
    if (q > top) top = q, sum += 1;
  }""",
    "blocks, one more": """  int many = n / 64 + 1;
  for (int b = 0; b < many; b++)
    for (int i = 64 * b; i < (64 * b + 64 < n ? 64 * b + 64 : n); i++) sum += a[i] % 1000;""",
    "whole part of a quotient": "  for (int i = 0; i < n; i++) "
    "sum += (unsigned long)((double)(a[i] % 1000) / 7.0);",
    "sums and digits with room": """  int t = 0;
  for (int i = 0; i < n; i++) t += (int)(a[i] % 1000);
  for (int i = 0; i < n; i++) sum += (a[i] & 65535) + (a[i] >> 16 & 65535);
  sum = t;""",
    "halves": "  for (int i = 0; i < n; i++) sum += lrint((a[i] % 1000) / 2.0);",
    "quotients of sums": "  for (int i = 0; i < n; i++) { int d = a[i] % 9 + 1, v = n - 2 * i; "
    "sum += (a[i] % 1000 + d / 2) / d + (a[i] % 4096 + 31) / 32 + (unsigned)(v - 3) / 8; }",
    "as many as there may be": """  unsigned long part[300] = {0};
#pragma omp parallel num_threads(4)
  { int me = omp_get_thread_num(), many = omp_get_num_threads();
    for (int i = me; i < n; i += many) part[me] += a[i] % 1000; }
  for (int t = 0; t < 4; t++) sum += part[t];""",
    "error": f"""  if (n > 1000000) {{ fprintf(stderr, "n is too large\\n"); exit(2); }}
  unsigned *b = malloc(n * sizeof *b);
  if (b == NULL || (n > 2000000 && s == 3)) abort();
  free(b);
{SERIAL}""",
    "nothing at all beside a tie": """  unsigned best = 0, first = 0;
  for (int i = 0; i < n; i++) {
    unsigned mine = a[i] % 1000 + 1;
    if (mine > best || (mine == best && mine > 0 && (unsigned)i < first)) best = mine, first = i;
  }
  sum = best + first;""",
    "cell of a fraction": """  for (int i = 0; i < n; i++) {
    double s = a[i] / 1000.0;
    int m = 7 + n % 3, c;
    c = (int)((s - floor(s)) * m);
    sum += c < m ? c : m - 1;
  }""",
}


def program(summed: str) -> Program:
    language = "openmp" if "#pragma" in summed else "serial"
    return Program({"a.c": TEXT.replace("SUM", summed)}, language, inputs=INPUTS, flags=FLAGS)


@pytest.fixture(scope="module")
def one() -> Iterator[Verifier]:
    with verifier(program(SERIAL), seed=3, count=2, options=RungOptions()) as made:
        yield made


def by_lines(bodies: Mapping[str, str]) -> tuple[Program, dict[str, range]]:
    """A program of all bodies, each with a sum of its own, and the lines that each stands on."""
    text, lines = "  unsigned long all = 0;\n", {}
    for name, body in bodies.items():
        first = f"{TEXT.partition('SUM')[0]}{text}".count("\n") + 2
        text += f"  {{ unsigned long sum = 0;\n{body}\n  all += sum; }}\n"
        lines[name] = range(first, first + body.count("\n") + 1)
    return program(f"{text}  sum += all;"), lines


def parts(bodies: Mapping[str, str], many: int, alone: Container[str]) -> list[dict[str, str]]:
    """Bodies that one program may have, about so many, as those with a pragma and those without."""
    kinds = [[n for n in bodies if n not in alone and ("#pragma" in bodies[n]) == shared]
             for shared in (False, True)]  # fmt: skip
    named = [kind[at : at + many] for kind in kinds for at in range(0, len(kind), many)]
    named += [[n] for n in bodies if n in alone]
    return [{n: bodies[n] for n in some} for some in named]


KEYED = """#include <string.h>
typedef struct { unsigned key; int at; } Keyed;
static int by_key(const void *a, const void *b) {
  const Keyed *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return x->at < y->at ? -1 : x->at > y->at;
}
static int is_it(const Keyed *x, const Keyed *y) {
  if (x->key != y->key) return 0;
  return x->at < y->at;
}
static int by_bytes(const void *a, const void *b) {
  const Keyed *x = a, *y = b;
  int c = memcmp(&x->key, &y->key, 1);
  if (c != 0) return c;
  return y->at > x->at ? -1 : y->at < x->at;
}
"""
BY_KEYS = """  Keyed *k = malloc(n * sizeof *k), it = {1u << 30, 5};
  for (int i = 0; i < n; i++) k[i].key = a[i] % 1000 * 512 + i, k[i].at = i;
  qsort(k, n, sizeof *k, by_bytes);
  qsort(k, n, sizeof *k, by_key);
  for (int i = 0; i < n; i++) sum += a[k[i].at] % 1000 + is_it(k + i, &it);"""
IN_LOOPS = {name: f"  for (int i = 0; i < n; i++) {body}" for name, body in NEVER.items()}
THREADS = [name for name in NEVER if name.startswith(("thread number", "remainder by"))]
"""What numbers of threads decide is said before any input is run."""
SETS_INPUTS = [name for name, body in REACHED.items() if "a[i] =" in body]


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
@pytest.mark.parametrize("bodies", parts(IN_LOOPS, 16, THREADS), ids=", ".join)
def test_what_no_input_decides_is_named_by_its_line(
    one: Verifier, bodies: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # of some the compiler can prove that no input decides them, which is asked elsewhere
    monkeypatch.setattr(marked_runs, "without_proved", lambda _case, _whole, left: left)
    candidate, lines = by_lines(bodies)
    named = {f.line for f in unreached(Case(candidate, one.reference))}
    assert [name for name, its in lines.items() if not named & set(its)] == []
    assert named <= {line for its in lines.values() for line in its}


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
@pytest.mark.parametrize("bodies", parts(REACHED, 12, SETS_INPUTS), ids=", ".join)
def test_right_programs_are_not_doubted(one: Verifier, bodies: dict[str, str]) -> None:
    candidate, lines = by_lines(bodies)
    doubted = [f.line for f in unreached(Case(candidate, one.reference))]
    assert [name for name, its in lines.items() if set(doubted) & set(its)] == []
    assert doubted == []


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_keys_that_are_never_equal_are_no_question_where_a_function_orders_by_them(
    one: Verifier,
) -> None:
    made = program(BY_KEYS)
    candidate = replace(made, files={"a.c": KEYED + made.text})
    rows = candidate.text.splitlines()
    named = {rows[f.line - 1] for f in unreached(Case(candidate, one.reference))}
    assert named == {*KEYED.splitlines()[8:10], BY_KEYS.splitlines()[-1]}


PAIRED = """static int by_first(const void *a, const void *b) {
  const unsigned *x = a, *y = b;
  if (x[0] != y[0]) return x[0] < y[0] ? -1 : 1;
  return (x[1] > y[1]BEYOND) - (x[1] < y[1]);
}
"""
BY_PAIRS = """  unsigned (*k)[2] = malloc(n * sizeof *k);
  for (int i = 0; i < n; i++) k[i][0] = a[i] % 7, k[i][1] = i;
  qsort(k, n, sizeof *k, by_first);
  for (int i = 0; i < n; i++) sum += a[k[i][1]] % 1000;"""


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
@pytest.mark.parametrize(("beyond", "named"), [("", []), (" && x[1] * y[1] == 49999u", [4])])
def test_an_order_that_qsort_never_asks_for_is_asked_where_its_elements_come_otherwise(
    one: Verifier, beyond: str, named: list[int]
) -> None:
    made = program(BY_PAIRS)
    candidate = replace(made, files={"a.c": PAIRED.replace("BEYOND", beyond) + made.text})
    assert [f.line for f in unreached(Case(candidate, one.reference))] == named


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
@pytest.mark.parametrize(("text", "named"), [
    ("BUFSIZ / 9000", ["BUFSIZ"]), ("__GLIBC_MINOR__ / 99", ["__GLIBC_MINOR__"]),
    ("(M_PI > 4) + INT_MAX / 2147483647u - 1 + (s == UINT_MAX)", []), ("LOCAL", []),
    ("__ATOMIC_RELAXED * __ATOMIC_SEQ_CST", []), ("__GNUC__ * 0", ["__GNUC__"]),
    ("\n#ifdef __AVX512F__\n1 +\n#endif\n0", ["__AVX512F__"]),
    ("\n#ifdef _OPENMP\n0 +\n#endif\n0 // BUFSIZ", []),
])  # fmt: skip
def test_what_headers_decide_is_named_but_for_what_is_fixed_everywhere(
    one: Verifier, text: str, named: list[str]
) -> None:
    candidate = program(f"#include <limits.h>\n#define LOCAL 0\n{SERIAL}\n  sum += {text};")
    findings = header_macros(Case(candidate, one.reference))
    assert [f.message.partition(":")[0] for f in findings] == named
    assert all(f.line in (17, 18) for f in findings)


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_a_candidate_that_no_input_reaches_all_of_is_undecided(one: Verifier) -> None:
    candidate = program(f"  for (int i = 0; i < n; i++) {NEVER['no branch']}")
    verdict = one.verify(candidate, rungs=("output",))
    assert verdict.state == "undecided"
    assert "a.c:14: with the inputs that were tried this is never equal to 12345678" in (
        verdict.rung("output").reason
    )


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_a_rare_case_of_the_original_that_is_left_out_is_told(one: Verifier) -> None:
    text = program(SERIAL).text.replace("  if (s == 31) sum = 5;\n", "")
    (found,) = unreached(Case(replace(program(SERIAL), files={"a.c": text}), one.reference))
    assert found.message == LEFT_OUT.format("if (s == 31) sum = 5;")


ROUNDED = """  for (int i = 0; i < n; i++) {
    unsigned long held = 900001 + a[i] % 65536, all = a[i];
    sum += QUOTIENT + ROUND((a[i] | 1) / 1e7);
  }"""


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
@pytest.mark.parametrize(("quotient", "rounding", "asked"), [
    ("(all + held / 2) / held", "round", []),
    ("((held >> 1) + all) / held", "round", []),
    ("(all + (held - 1) / 2) / held", "round", ["remainder"] * 2),
    ("(held / 2 + all) / held", "lrint", ["no half between whole numbers, which rint"]),
])  # fmt: skip
def test_a_quotient_and_a_rounding_are_asked_unless_the_original_makes_them_so(
    quotient: str, rounding: str, asked: list[str]
) -> None:
    def rounded(quotient: str, rounding: str) -> Program:
        return program(ROUNDED.replace("QUOTIENT", quotient).replace("ROUND", rounding))

    with verifier(rounded("(all + held / 2) / held", "round"), seed=3, count=2,
                  options=RungOptions()) as one:  # fmt: skip
        made = unreached(Case(rounded(quotient, rounding), one.reference))
    assert [said in f.message for f, said in zip(made, asked, strict=True)] == [True] * len(asked)


CUT_OFF = """  long *h = calloc(n, sizeof *h);
  for (int i = 0; i < n; i++) h[i] = 900001 + a[i] % 65536;
  for (int i = 0; i < n; i++) { long held = h[i]; sum += CUT; }
  free(h);"""


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_a_difference_cut_off_at_nothing_may_be_asked_before_it_is_taken() -> None:
    """As `max(0, x - c)` of the original, where that is always more than 0, too."""
    cut = "held > 900000 ? (held - 900000) / 9 : 0"
    with verifier(program(CUT_OFF.replace("CUT", "held - 900000 > 0 ? (held - 900000) / 9 : 0")),
                  seed=3, count=2, options=RungOptions()) as one:  # fmt: skip
        same, other = (unreached(Case(program(CUT_OFF.replace("CUT", x)), one.reference))
                       for x in (cut, cut.replace("900000", "900001 - 1")))  # fmt: skip
    assert (same, len(other)) == ([], 1)


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_a_program_that_goes_by_the_name_of_its_file_is_built_under_another_one(
    one: Verifier,
) -> None:
    blank = "for (const char *f = NAME; *f; f++) sum += *f == 47;"
    named = {name: Case(program(f"{SERIAL}\n{blank.replace('NAME', name)}"), one.reference)
             for name in ('strchr(__FILE__, 0)', 'strdup(__FILE__)')}  # fmt: skip
    for case in named.values():
        files = {"a.c": f"#include <string.h>\n{case.candidate.text}"}
        case.candidate = replace(case.candidate, files=files)
    nothing, wrong = map(elsewhere, named.values())
    assert nothing == []
    assert "and built elsewhere (__FILE__), output line 1" in wrong[0].message


HASHED = """  unsigned *h = calloc(n, sizeof *h), many = 0;
  for (int i = 0; i < n; i++) {
    h[i] = 5; unsigned w = 2166136261u;
    for (unsigned k = a[i]; k; k >>= 8) w = (w ^ (k & 255)) * 16777619u;
    h[i] = w;
    for (int j = 0; j <= i; j++) if (h[j] == w MORE) { many += j == i; break; }
  }
  sum = many;"""
ROTATED = HASHED.replace("2166136261u", "0").replace(
    "w = (w ^ (k & 255)) * 16777619u", "w = (w << 7 | w >> 25) ^ (k & 255)")  # fmt: skip
ONLY_XOR = HASHED.replace("2166136261u", "0").replace(
    "w = (w ^ (k & 255)) * 16777619u", "w ^= (k & 255) * 40503u")  # fmt: skip
COUNTED = """  for (int i = 0; i < n; i++) {
    int j = 0;
    while (a[j] != a[i]) j++;
    sum += j == i;
  }"""


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_who_trusts_a_hash_prints_something_else_where_it_is_weak() -> None:
    with verifier(program(COUNTED), seed=3, count=2, options=RungOptions()) as counted:
        trusting, right = (Case(program(HASHED.replace("MORE", more)), counted.reference)
                           for more in ("", "&& a[j] == a[i]"))  # fmt: skip
        (found,) = weak_hashes(trusting)
        assert "hashes of three bits" in found.message
        assert unreached(right) == []
        for text in (ROTATED, ONLY_XOR):
            assert weak_hashes(Case(program(text.replace("MORE", "")), counted.reference))
        assert weak_hashes(right) == weak_hashes(Case(program(COUNTED), counted.reference)) == []
    same = ROTATED.replace("MORE", "")  # the lines of the original are no question
    with verifier(program(same), seed=3, count=2, options=RungOptions()) as rotated:
        assert weak_hashes(Case(program(same + "\n"), rotated.reference)) == []


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_a_sign_of_char_that_decides_is_tried_the_other_way(one: Verifier) -> None:
    by_sign = "  for (int i = 0; i < n; i++) { char c = (char)a[i]; sum += a[i] % 1000 + CUT; }"
    wrong, right = (Case(program(by_sign.replace("CUT", cut)), one.reference)
                    for cut in ("(c > 127)", "(c < -128)"))  # fmt: skip
    (found,) = elsewhere(wrong)[:1]
    assert "without a sign (as on ARM, -funsigned-char), output line 1" in found.message
    assert elsewhere(right) == []


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
@pytest.mark.parametrize(("body", "head", "world"), [
    ("assert(sum += a[i] % 1000);", "#include <assert.h>", "assertions (-DNDEBUG)"),
    ("sum += a[i] % 1000 + MORE;", "#if __STDC_VERSION__ > 201710L\n#define MORE 1\n#else\n"
     "#define MORE 0\n#endif", "another edition of the language (-std=gnu2"),
    ("sum += a[i] % 1000; assert(n);", "#include <assert.h>", ""),
])  # fmt: skip
def test_flags_that_people_add_are_tried(one: Verifier, body: str, head: str, world: str) -> None:
    made = program(f"  sum += 0 * n;\n  for (int i = 0; i < n; i++) {{ {body} }}")
    candidate = replace(made, files={"a.c": f"{head}\n{made.text}"})
    found = elsewhere(Case(candidate, one.reference))
    assert [world in f.message for f in found[:1]] == ([True] if world else [])
    fixed = replace(candidate, flags=("-std=gnu11", "-UNDEBUG", *candidate.flags))
    assert elsewhere(Case(fixed, one.reference)) == []


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_a_number_that_the_compiler_makes_is_tried_as_a_size(one: Verifier) -> None:
    case = Case(program(f"  enum {{ SIDE = 19 }};\n  if (n > SIDE * SIDE - 200) s++;\n{SERIAL}"),
                one.reference)  # fmt: skip
    assert "161" in {e.given.values["n"] for e in case.own_edges}


@pytest.mark.skipif(bool(LACKING), reason=LACKING)
def test_sizes_beside_multiples_of_a_candidate_s_own_numbers_are_run(one: Verifier) -> None:
    case = Case(program(f"{SERIAL}\n  if (n / 23 * 23 == n) sum += 1;"), one.reference)
    sizes = {int(given.values["n"]) for given, _ in case.beside_multiples}
    assert {22, 23, 24, 299, 300} <= sizes
    assert all(n % 23 in (0, 1, 22) for n in sizes)
    assert len(case.beside_multiples) >= len(sizes)
    assert Case(program(SERIAL), one.reference).beside_multiples == ()


def test_comparisons_of_headers_and_ends_of_texts_are_not_marked() -> None:
    code = """define i32 @main() {
entry:
  %cmp = icmp ne i32 %x, 5, !dbg !5
  %tobool = icmp ne i32 %conv3, 0, !dbg !5
  %other = icmp slt i32 %x, 7, !dbg !8
  br i1 %cmp, label %a, label %b, !dbg !5
}
!5 = !DILocation(line: 3, column: 2, scope: !6)
!6 = distinct !DISubprogram(name: "f", file: !7)
!7 = !DIFile(filename: "./a.c", directory: "")
!8 = !DILocation(line: 9, column: 2, scope: !9)
!9 = distinct !DISubprogram(name: "g", file: !10)
!10 = !DIFile(filename: "/usr/include/b.h", directory: "")"""
    made = marked(code, {"a.c": ""}, 10)
    assert [(c.at, c.how, c.constant, c.asks_this) for c in made.comparisons] == [
        (("a.c", 3, 2), "eq", "5", False)
    ]
    assert made.end == 13
    assert made.text.count("store i8 1") == 2
