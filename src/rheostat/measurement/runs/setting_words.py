"""Words of headings that name a setting of a machine or a program, or what only labels a run."""

from __future__ import annotations

import re

SETTING = re.compile(
    r"(^|_)(batch|batchsize|bs|microbatch|mbs|tile|block|blocksize|chunk|unroll|depth|prefetch|"
    r"streams?|ranks?|tasks?|ppn|procs?|threads?|cores?|gpus?|nodes?|clock|freq|frequency|[mg]?hz|"
    r"cap|limit|uncore|governor|pstate|turbo|tp|pp|dp|ep|workers?|stripes?|buffers?|simd|vector|"
    r"smt|ht|hyperthreading|hugepages|numa|offload|order|opt|optimization|level|sockets?|"
    r"precision|dtype|compiler|flags?|mpi|mode|policy|bind(ing)?|pin(ning)?|affinity|placement|"
    r"schedule(r)?|io|backend|impl(ementation)?|library|lib|algorithm|solver|variant|"
    r"quant(ization)?|replicas|instances|concurrency|nb|compression|checkpoint(ing)?|"
    r"interval|engine|runtime|allocator|layout|distribution)(_|$)"
)
"""Words of what people set for speed or power, and not for what a run computes."""
LABELLED = re.compile(
    r"(^|_)(notes?|remarks?|comments?|bemerkung(en)?|kommentar|description|dates?|day|created|"
    r"started|ended|updated|timestamp|hosts?|hostname|node_?list|path|uri|url|file|filename|link|"
    r"version|commit|tags?|command|cmd|cmdline|command_line|uuid|id|owner|users?|person|artifact)(_|$)"
)
"""Words of what tells runs apart and was not set for what it does."""
