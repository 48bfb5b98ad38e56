/* CUDA on a CPU, for finding mistakes: the runtime, and blocks whose threads are fibres.

   Launches and copies wait until the program waits for them, as they may on a GPU.
   Blocks run one after the other; a thread runs until it meets a barrier or a warp function.  The
   environment's CUDA_ORDER says in which order: 0 forward, 1 backward, above that shuffled by this
   seed, so that a missing barrier shows in the output, and with turns before atomics; below zero the
   same on the same device (-3: as 0, with other values in memory that nobody has set).  Under
   ThreadSanitizer each thread is a fibre of its own, and barriers, atomics and launches alone order
   them: races are named by their lines.
   Device memory cannot be touched by the host, nor may a launch be given the host's pointers. */
#pragma once
#include <climits>
#include <math.h>  /* as NVIDIA's compiler does: isnan and abs without std:: */
#include <time.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CUDA_UNSEEN __attribute__((disable_sanitizer_instrumentation, noinline))
#endif
#endif
#ifndef CUDA_UNSEEN
#define CUDA_UNSEEN
#endif

#define __global__
#define __device__
#define __host__
#define __managed__
#define __constant__
#define __shared__ static
#define __grid_constant__
#define __forceinline__ inline
#define __noinline__  /* libstdc++ has it within attributes, where no parentheses may stand */
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __CUDACC__ 1
#define CUDART_VERSION 13000

#include "cuda_on_host/values.h"
#include "cuda_on_host/errors.h"
#include "cuda_on_host/constants.h"
#include "cuda_on_host/threads.h"
#include "cuda_on_host/functions.h"
#include "cuda_on_host/runtime.h"
