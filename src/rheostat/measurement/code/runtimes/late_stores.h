/* Part of lock_sets.c, where threads wait for each other: a store that is not sequentially consistent
   may be seen by others after its thread has read another place, as processors buffer stores.  It is
   kept back, 1 time in 2, over the next atomic read of such an order, for 50 microseconds; whatever
   else the thread does comes after it, also waking others, waiting for them and the thread's end.
   What clang adds behind OpenMP's "release" is no flush of the program's: RHEOSTAT_FLUSHES says
   where it has some. */

enum { MOST_LATE = 4, SOON = 8 };
typedef struct { volatile void *place; u64 value, bytes; } Late;
static pthread_key_t at_end;
static int flushes;
static __thread Late late[MOST_LATE];
static __thread u32 late_count, soon; /* accesses behind one that was late, where threads clash */

#define BY_SIZE(bytes, done) \
  switch (bytes) { case 1: done(u8); break; case 2: done(unsigned short); break; \
                   case 4: done(u32); break; default: done(u64); }
#define PUT(type) __atomic_store_n((volatile type *)late[i].place, (type)late[i].value, __ATOMIC_SEQ_CST)
#define GET(type) value = __atomic_load_n((const volatile type *)place, __ATOMIC_SEQ_CST)

HELPER void now_seen(void) {
  for (u32 i = 0; i < late_count; i++) BY_SIZE(late[i].bytes, PUT)
  late_count = 0;
}

HELPER void seen_at_end(void *key) { (void)key; now_seen(); }

/* Whether a store is kept back. */
HELPER int is_late(volatile void *place, u64 value, u64 bytes, int order) {
  static __thread u32 state;
  if (!state) state = (gives_way + (u32)(u64)&state) * 2654435761u | 1;
  state = state * 1664525u + 1013904223u;
  int may = gives_way && order != __ATOMIC_SEQ_CST && late_count < MOST_LATE;
  if (!may || state >> 31) { now_seen(); return 0; }
  Late one = {place, value, bytes};
  late[late_count++] = one;
  pthread_setspecific(at_end, late);
  return 1;
}

/* What a read finds before the stores that are kept back: its thread's own value, or what is there. */
HELPER u64 read_before(const volatile void *place, u64 bytes, int order) {
  const struct timespec pause = {0, 50000};
  u64 value = 0;
  int own = order == __ATOMIC_SEQ_CST;
  for (u32 i = 0; i < late_count; i++) own |= late[i].place == place;
  if (!own) {
    BY_SIZE(bytes, GET)
    nanosleep(&pause, 0);
    soon = SOON;
  }
  now_seen();
  if (own) BY_SIZE(bytes, GET)
  return value;
}

/* Functions that wake others or wait for them. Of two an older version comes first. */
HELPER void *next_of(const char *name) {
  void *next = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
  return next ? next : dlsym(RTLD_NEXT, name);
}
#define AFTER(type, name, types, given) \
  PLAIN type name types { \
    static type(*next) types; \
    if (!next) next = (type(*) types)next_of(#name); \
    now_seen(); \
    return next given; \
  }
#define AFTER_STORES(name, types, given) AFTER(int, name, types, given)
AFTER_STORES(pthread_mutex_unlock, (pthread_mutex_t *a), (a))
AFTER_STORES(pthread_rwlock_unlock, (pthread_rwlock_t *a), (a))
AFTER_STORES(pthread_spin_unlock, (pthread_spinlock_t *a), (a))
AFTER_STORES(pthread_cond_signal, (pthread_cond_t *a), (a))
AFTER_STORES(pthread_cond_broadcast, (pthread_cond_t *a), (a))
AFTER_STORES(pthread_cond_wait, (pthread_cond_t *a, pthread_mutex_t *b), (a, b))
AFTER_STORES(pthread_barrier_wait, (pthread_barrier_t *a), (a))
AFTER_STORES(pthread_join, (pthread_t a, void **b), (a, b))
AFTER_STORES(sem_post, (sem_t *a), (a))
AFTER_STORES(sem_wait, (sem_t *a), (a))
AFTER(void, omp_unset_lock, (void *a), (a))
AFTER(void, omp_unset_nest_lock, (void *a), (a))
AFTER(void, __kmpc_end_critical, (void *a, int b, void *c), (a, b, c))
AFTER(void, __kmpc_end_ordered, (void *a, int b), (a, b))
PLAIN void __kmpc_flush(void *where) {
  (void)where;
  if (flushes) now_seen();
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
