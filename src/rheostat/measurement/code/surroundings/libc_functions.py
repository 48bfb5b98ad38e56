"""Functions of libraries whose results hang on their arguments alone, or do not count.

What else a candidate calls and the original does not, as where an output stands or what language
the environment names, may be another answer on another day or machine.
"""

from __future__ import annotations

import re

KNOWN = re.compile(
    r"(?:"
    # mathematics
    r"c?a?(?:sin|cos|tan)h?|sincos|c?(?:exp|log|pow|sqrt|abs|arg|real|imag|proj)|conj|"
    r"(?:exp|log)(?:2|10|1p|m1|b)|exp10|pow10|cbrt|hypot|atan2|erfc?|[lt]gamma|gamma|[jy](?:0|1|n)|"
    r"ceil|floor|trunc|l?l?round(?:even)?|l?l?rint|nearbyint|f(?:abs|dim|m[ao]d?|max|min|rexp)|fma|"
    r"ldexp|modf|ilogb|scalbl?n|copysign|nan|nextafter|nexttoward|rem(?:ainder|quo)|drem|significand|"
    r"finite|isinf|isnan|signgam|lgamma_r"
    r")[fl]?|"
    r"fe(?:clear|set|raise|hold|update|enable|disable)\w+|"
    r"__(?:fpclassify|isinf|isnan|signbit|finite|issignaling|iseqsig)[fl]?|__\w+_finite|"
    # memory and texts
    r"mem(?!align)\w+|str(?!error|coll|xfrm|signal|ptime|ftime|fmon)\w+|stpn?cpy|bcmp|bcopy|bzero|r?index|ffsl{0,2}|"
    r"(?:is|to)(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit)|"
    r"__ctype_\w+|__(?:str|mem|stp)\w+|[mc]alloc|realloc(?:array)?|c?free|aligned_alloc|posix_memalign|"
    r"memalign|valloc|m(?:advise|lock|unlock)|posix_madvise|"
    # algorithms and numbers
    r"qsort(?:_r)?|bsearch|l?l?(?:abs|div)|imax(?:abs|div)|ato(?:i|l|ll|f)|a64l|l64a|"
    r"s?rand(?:om)?(?:_r)?|[delmnj]rand48(?:_r)?|s(?:rand|eed)48(?:_r)?|lcong48|(?:init|set)state(?:_r)?|"
    r"[ht](?:search|find|delete|create|destroy|walk)(?:_r)?|l(?:find|search)|insque|remque|"
    # printing and reading
    r"v?(?:f|s|sn|as|d)?printf|v?[fs]?scanf|_?f?put(?:c|s|char|w)(?:_unlocked)?|f?get(?:c|s|char|w)(?:_unlocked)?|"
    r"getline|getdelim|(?:fread|fwrite|fflush|feof|ferror|clearerr)(?:_unlocked)?|fclose|ungetc|perror|"
    r"set(?:v|line)?buf(?:fer)?|open_memstream|fmemopen|f(?:un|try)?lockfile|std(?:in|out|err)|read|write|"
    r"_IO_\w+|__(?:over|under|u)flow|"
    # how a program starts, ends, and jumps; threads
    r"exit|_exit|_Exit|abort|at_quick_exit|error|err|errx|warnx?|__assert\w*|__errno_location|"
    r"_*(?:sig)?(?:set|long)jmp|__libc_\w+|__cxa_\w+|__stack_chk_fail|__tls_get_addr|__register_atfork|"
    r"pthread_(?:create|join|detach|exit|equal|once|[gs]etspecific|key_\w+|attr_(?:init|destroy|set\w+)|"
    r"(?:mutex|cond|rwlock|barrier|spin)\w+)|sem_\w+|thrd_\w+|mtx_\w+|cnd_\w+|tss_\w+|call_once|getopt(?:_long(?:_only)?)?|"
    r"opt(?:arg|ind|err|opt)|difftime|"
    # with another number of processors it is run, too
    r"sysconf|get_nprocs(?:_conf)?|"
    r"__isoc\d+_\w+|__\w+_chk"
)
"""Also under the names that fortified and newer headers give them."""
OPENMP = re.compile(
    # with other numbers of threads, of processors and by another clock it is run, too
    r"omp_(?:get_(?:thread_num|num_threads|max_threads|num_procs|ancestor_thread_num|team_size|wti\w+|"
    # what the program itself decides
    r"level|active_level|team_num|num_teams|initial_device|default_device|device_num|mapped_ptr)|"
    r"in_parallel|set_\w+|unset_\w+|test_\w+|init_\w+|destroy_\w+|target_\w+|alloc|free|calloc|"
    r"realloc|aligned_\w+alloc|fulfill_event)_?"
)
"""Functions of OpenMP's library that nothing answers but the program and what the rungs change."""


def is_known(name: str) -> bool:
    """Whether nothing but its arguments decides what a function of the C library gives.

    >>> [name for name in ("sqrtf", "__printf_chk", "ftell", "j0") if not is_known(name)]
    ['ftell']
    >>> [name for name in ("omp_get_thread_num", "omp_get_place_num") if not is_known(name)]
    ['omp_get_place_num']
    """
    return bool(KNOWN.fullmatch(name) or OPENMP.fullmatch(name))
