/* The memory of OpenMP tasks, for checkers of races.

   libomp takes the memory of a task that has ended for the next one, also of another thread.  It is
   not instrumented, so a checker does not see that, and takes what the first task read and what is
   written for the second for a race.  Here a checker is told that the memory of a task is new. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <sched.h>

#ifdef __cplusplus
extern "C" {
#endif
#define PLAIN __attribute__((disable_sanitizer_instrumentation))

typedef unsigned long u64;
typedef struct { void *shareds; void *routine; } Task;
typedef void (*Copied)(Task *to, Task *from, int last);
typedef struct { void *routine; Copied copied; u64 bytes, shared; } Kind;

enum { KINDS = 256 };
static Kind kinds[KINDS];
static int guard;

/* The hooks for other managers of memory: what was known of these bytes counts no more. */
void __tsan_java_free(u64 address, u64 bytes);
void __tsan_java_alloc(u64 address, u64 bytes);

static PLAIN void forget(const void *memory, u64 bytes) {
  if (!bytes) return;
  bytes = (bytes + 7) & ~7ul;
  __tsan_java_free((u64)memory, bytes);
  __tsan_java_alloc((u64)memory, bytes);
}

static PLAIN Kind *kind_of(void *routine) {
  Kind *found = 0;
  while (__atomic_exchange_n(&guard, 1, __ATOMIC_ACQUIRE)) sched_yield();
  for (int i = 0; i < KINDS && !found; i++)
    if (!kinds[i].routine || kinds[i].routine == routine) found = kinds + i;
  if (found) found->routine = routine;
  __atomic_store_n(&guard, 0, __ATOMIC_RELEASE);
  return found;
}

typedef Task *(*Alloc)(void *, int, int, u64, u64, void *);
PLAIN Task *__kmpc_omp_task_alloc(void *where, int thread, int flags, u64 bytes, u64 shared, void *routine) {
  static Alloc next;
  if (!next) next = (Alloc)dlsym(RTLD_NEXT, "__kmpc_omp_task_alloc");
  Task *task = next(where, thread, flags, bytes, shared, routine);
  forget(task, bytes);
  if (task->shareds) forget(task->shareds, shared);
  Kind *kind = kind_of(routine);
  if (kind) kind->bytes = bytes, kind->shared = shared;
  return task;
}

/* Tasks of a taskloop are copies of one: the function that the compiler has made for them is called
   for each. */
static PLAIN void copied(Task *to, Task *from, int last) {
  Kind *kind = kind_of(from->routine);
  forget(to, kind->bytes);
  if (to->shareds) forget(to->shareds, kind->shared);
  if (kind->copied) kind->copied(to, from, last);
}

static PLAIN void *noted(Task *task, void *own) {
  Kind *kind = kind_of(task->routine);
  if (!kind) return own;
  kind->copied = (Copied)own;
  return (void *)copied;
}

typedef void (*Loop)(void *, int, Task *, int, u64 *, u64 *, long, int, int, u64, void *);
PLAIN void __kmpc_taskloop(void *where, int thread, Task *task, int deferred, u64 *low, u64 *high, long step,
                           int ungrouped, int how, u64 grain, void *own) {
  static Loop next;
  if (!next) next = (Loop)dlsym(RTLD_NEXT, "__kmpc_taskloop");
  next(where, thread, task, deferred, low, high, step, ungrouped, how, grain, noted(task, own));
}

typedef void (*Loop5)(void *, int, Task *, int, u64 *, u64 *, long, int, int, u64, int, void *);
PLAIN void __kmpc_taskloop_5(void *where, int thread, Task *task, int deferred, u64 *low, u64 *high, long step,
                             int ungrouped, int how, u64 grain, int strict, void *own) {
  static Loop5 next;
  if (!next) next = (Loop5)dlsym(RTLD_NEXT, "__kmpc_taskloop_5");
  next(where, thread, task, deferred, low, high, step, ungrouped, how, grain, strict, noted(task, own));
}
#ifdef __cplusplus
}
#endif
