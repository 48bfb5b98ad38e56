/* The same program with another C library, on another machine: what C and its runtimes leave open
   is done otherwise.  RHEOSTAT_LIBRARY in the environment: equal elements are sorted in any order,
   numbers that are drawn are others, and the clock jumps, to seconds that are nearly full, too.
   RHEOSTAT_PROCESSORS says how many processors there are; with many of them pages, caches and their
   lines are larger, with one of them nothing is known of caches.  RHEOSTAT_WITHOUT_KERNELS: no kernel
   of OpenCL runs.  RHEOSTAT_BACKWARD: OpenCL's work-items are numbered from the last, and so run in
   another order.  RHEOSTAT_PRECISE: numbers are printed with all their digits.  RHEOSTAT_LATE: copies that nobody waits for are made when somebody waits.
   Loaded before the program. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { CONFIGURED = 83, ONLINE = 84, FEW = 4, FULL_NS = 1000000000 };
typedef int (*Order)(const void *, const void *);
static const long NANOSECONDS[] = {0, FULL_NS - 1, 999999, 500000000, 1, 123456789, FULL_NS - 1000, 999};
static const long JUMPS_NS[] = {1, 1000, 50000, 2000000, 300000000, 11000000000};
static const char COUNT[] = "RHEOSTAT_PROCESSORS";
static unsigned state;

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static unsigned drawn(void) {
  const char *run = getenv("RHEOSTAT_RUN");
  if (!state) state = 2654435761u * (unsigned)(run ? atoi(run) + 1 : 1) | 1;
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

static int changed(void) {
  const char *said = getenv("RHEOSTAT_LIBRARY");
  return said && *said;
}

void qsort(void *first, size_t count, size_t size, Order order) {
  char *at = first, *kept = changed() && count > 1 ? malloc(size) : 0;
  for (size_t i = count - 1; kept && i > 0; i--) { /* what is equal may then stand in any order */
    char *one = at + i * size, *other = at + drawn() % (i + 1) * size;
    memcpy(kept, one, size);
    memmove(one, other, size);
    memcpy(other, kept, size);
  }
  free(kept);
  NEXT(qsort)(first, count, size, order);
}

void srand(unsigned seed) {
  if (changed()) state = seed * 2u + 1;
  else NEXT(srand)(seed);
}
int rand(void) { return changed() ? (int)(drawn() << 7 ^ drawn() >> 3) & RAND_MAX : NEXT(rand)(); }
void srandom(unsigned seed) {
  if (changed()) state = seed * 2u + 1;
  else NEXT(srandom)(seed);
}
long random(void) { return changed() ? rand() : NEXT(random)(); }

static long long now_ns(void) {
  static long long now = 1700000000ll * FULL_NS;
  unsigned number = drawn();
  now += JUMPS_NS[number / 8 % (sizeof JUMPS_NS / sizeof *JUMPS_NS)];
  long part = NANOSECONDS[number % (sizeof NANOSECONDS / sizeof *NANOSECONDS)];
  long long moved = now / FULL_NS * FULL_NS + part;
  return now = moved < now ? moved + FULL_NS : moved;
}

int clock_gettime(clockid_t which, struct timespec *now) {
  if (!changed()) return NEXT(clock_gettime)(which, now);
  long long ns = now_ns();
  now->tv_sec = ns / FULL_NS;
  now->tv_nsec = ns % FULL_NS;
  return 0;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  if (!changed()) return NEXT(gettimeofday)(now, zone);
  long long ns = now_ns();
  now->tv_sec = ns / FULL_NS;
  now->tv_usec = ns % FULL_NS / 1000;
  return 0;
}
time_t time(time_t *kept) {
  if (!changed()) return NEXT(time)(kept);
  time_t now = now_ns() / FULL_NS;
  if (kept) *kept = now;
  return now;
}
clock_t clock(void) { return changed() ? now_ns() / 1000 % (1ll << 40) : NEXT(clock)(); }
double omp_get_wtime(void);
double omp_get_wtime(void) { return changed() ? now_ns() * 1e-9 : NEXT(omp_get_wtime)(); }

static int processors(int otherwise) {
  const char *said = getenv(COUNT);
  return said ? atoi(said) : otherwise;
}
long sysconf(int name) {
  long known = NEXT(sysconf)(name);
  int count = processors(0);
  if (name == CONFIGURED || name == ONLINE) return getenv(COUNT) ? count + !count : known;
  int of_cache = name >= _SC_LEVEL1_ICACHE_SIZE && name <= _SC_LEVEL4_CACHE_LINESIZE;
  if (of_cache && count == 1) return 0; /* as kernels say that do not know */
  return count > FEW && known > 0 ? 2 * known : known;
}
int get_nprocs(void) { return (int)sysconf(ONLINE); }
int get_nprocs_conf(void) { return (int)sysconf(CONFIGURED); }
int omp_get_num_procs(void);
int omp_get_num_procs(void) { return (int)sysconf(ONLINE); }
unsigned _ZNSt6thread20hardware_concurrencyEv(void);
unsigned _ZNSt6thread20hardware_concurrencyEv(void) {
  return (unsigned)processors((int)sysconf(ONLINE)); /* 0 where it is not known */
}

/* What is printed of a floating-point number: a format with all digits, apart from what stands before it. */
static char *precise(const char *format) {
  const char *said = getenv("RHEOSTAT_PRECISE");
  char *made = said && *said ? malloc(8 * strlen(format) + 1) : 0, *to = made;
  while (made && *format) {
    const char *from = format++;
    if (*from == '%' && *format != '%') {
      format += strspn(format, "-+ #0'");
      int is_wide = *format >= '1' && *format <= '9';
      format += strspn(format, ".0123456789l");
      if (*format && strchr("fFeEgG", *format)) {
        strcpy(to, is_wide ? " %.17g" : "%.17g");
        to += strlen(to);
        format++;
        continue;
      }
    } else if (*from == '%') {
      format++;
    }
    memcpy(to, from, format - from);
    to += format - from;
  }
  if (made) *to = 0;
  return made;
}
int vfprintf(FILE *restrict to, const char *restrict format, va_list given) {
  char *whole = precise(format);
  int count = NEXT(vfprintf)(to, whole ? whole : format, given);
  free(whole);
  return count;
}
#define PRINTED(to)                           \
  va_list given;                              \
  va_start(given, format);                    \
  int count = vfprintf(to, format, given);    \
  va_end(given);                              \
  return count
int vprintf(const char *restrict format, va_list given) { return vfprintf(stdout, format, given); }
int printf(const char *restrict format, ...) { PRINTED(stdout); }
int fprintf(FILE *restrict to, const char *restrict format, ...) { PRINTED(to); }
int __printf_chk(int flag, const char *restrict format, ...) { PRINTED(stdout); }
int __fprintf_chk(FILE *to, int flag, const char *format, ...) { PRINTED(to); }
/* C++'s streams print so, and have room for what comes. */
int vsnprintf(char *restrict to, size_t room, const char *restrict format, va_list given) {
  const char *said = getenv("RHEOSTAT_PRECISE"), *digits = strstr(format, ".*");
  if (!said || !*said || !digits || strlen(digits) != 3 || !strchr("fFeEgG", digits[2]))
    return NEXT(vsnprintf)(to, room, format, given);
  va_arg(given, int);
  return snprintf(to, room, "%.17g", va_arg(given, double));
}

/* Kernels that are left out: what waits for one waits for what was put before it. */
typedef int (*Kernel)(void *, void *, unsigned, const size_t *, const size_t *, const size_t *, unsigned, const void *, void *);
typedef int (*Marker)(void *, unsigned, const void *, void *);
int clEnqueueNDRangeKernel(void *queue, void *kernel, unsigned dimensions, const size_t *from, const size_t *many,
                           const size_t *group, unsigned waits, const void *wait, void *event) {
  if (getenv("RHEOSTAT_WITHOUT_KERNELS"))
    return ((Marker)dlsym(RTLD_NEXT, "clEnqueueMarkerWithWaitList"))(queue, waits, wait, event);
  return ((Kernel)dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel"))(queue, kernel, dimensions, from, many, group, waits, wait, event);
}

/* Work-items by other numbers: those of a group, and groups.  What was the first is then the last. */
static const char BACKWARD[] =
    "#define get_global_id(d) (get_global_size(d) + 2 * get_global_offset(d) - 1 - get_global_id(d))\n"
    "#define get_group_id(d) (get_num_groups(d) - 1 - get_group_id(d))\n"
    "#define get_local_id(d) (get_local_size(d) - 1 - get_local_id(d))\n"
    "#line 1\n";
typedef void *(*Sources)(void *, unsigned, const char **, const size_t *, int *);
void *clCreateProgramWithSource(void *context, unsigned count, const char **texts, const size_t *lengths, int *error) {
  Sources next = (Sources)dlsym(RTLD_NEXT, "clCreateProgramWithSource");
  const char **more = getenv("RHEOSTAT_BACKWARD") ? calloc(count + 1, sizeof *more) : 0;
  size_t *sizes = more ? calloc(count + 1, sizeof *sizes) : 0; /* 0 says that a text ends by itself */
  if (!sizes) return next(context, count, texts, lengths, error);
  more[0] = BACKWARD;
  memcpy(more + 1, texts, count * sizeof *texts);
  if (lengths) memcpy(sizes + 1, lengths, count * sizeof *lengths);
  return next(context, count + 1, more, sizes, error);
}

/* Copies that are held back by an event of ours, until the program waits for anything. */
enum { CONTEXT_OF_QUEUE = 0x1090, MOST_WAITS = 64 };
static void *held, *held_in;
static void let_go(void) {
  typedef int (*Status)(void *, int);
  typedef int (*Release)(void *);
  void *event = held;
  held = 0;
  if (!event) return;
  ((Status)dlsym(RTLD_NEXT, "clSetUserEventStatus"))(event, 0);
  ((Release)dlsym(RTLD_NEXT, "clReleaseEvent"))(event);
}
static unsigned held_back(void *queue, unsigned waits, const void *wait, void **all) {
  typedef void *(*Create)(void *, int *);
  typedef int (*Info)(void *, unsigned, size_t, void *, size_t *);
  void *context = 0;
  ((Info)dlsym(RTLD_NEXT, "clGetCommandQueueInfo"))(queue, CONTEXT_OF_QUEUE, sizeof context, &context, 0);
  if (held && context != held_in) let_go();
  if (!held) held = ((Create)dlsym(RTLD_NEXT, "clCreateUserEvent"))(held_in = context, 0);
  if (!held || waits >= MOST_WAITS) return 0;
  memcpy(all, wait, waits * sizeof *all);
  all[waits] = held;
  return waits + 1;
}
typedef int (*Copy)(void *, void *, unsigned, size_t, size_t, void *, unsigned, const void *, void *);
static int copied(Copy next, void *queue, void *buffer, unsigned blocking, size_t from, size_t bytes, void *host,
                  unsigned waits, const void *wait, void *event) {
  void *all[MOST_WAITS];
  unsigned held_for = 0;
  if (blocking) let_go();
  else if (getenv("RHEOSTAT_LATE")) held_for = held_back(queue, waits, wait, all);
  if (held_for) waits = held_for, wait = all;
  return next(queue, buffer, blocking, from, bytes, host, waits, wait, event);
}
int clEnqueueWriteBuffer(void *queue, void *buffer, unsigned blocking, size_t from, size_t bytes, void *host,
                         unsigned waits, const void *wait, void *event) {
  return copied((Copy)dlsym(RTLD_NEXT, "clEnqueueWriteBuffer"), queue, buffer, blocking, from, bytes, host, waits, wait, event);
}
int clEnqueueReadBuffer(void *queue, void *buffer, unsigned blocking, size_t from, size_t bytes, void *host,
                        unsigned waits, const void *wait, void *event) {
  return copied((Copy)dlsym(RTLD_NEXT, "clEnqueueReadBuffer"), queue, buffer, blocking, from, bytes, host, waits, wait, event);
}
void *clEnqueueMapBuffer(void *queue, void *buffer, unsigned blocking, unsigned long flags, size_t from, size_t bytes,
                         unsigned waits, const void *wait, void *event, int *error) {
  typedef void *(*Map)(void *, void *, unsigned, unsigned long, size_t, size_t, unsigned, const void *, void *, int *);
  if (blocking) let_go();
  return ((Map)dlsym(RTLD_NEXT, "clEnqueueMapBuffer"))(queue, buffer, blocking, flags, from, bytes, waits, wait, event, error);
}
int clFinish(void *queue) {
  let_go();
  return ((int (*)(void *))dlsym(RTLD_NEXT, "clFinish"))(queue);
}
int clReleaseCommandQueue(void *queue) {
  let_go();
  return ((int (*)(void *))dlsym(RTLD_NEXT, "clReleaseCommandQueue"))(queue);
}
int clWaitForEvents(unsigned count, const void *events) {
  let_go();
  return ((int (*)(unsigned, const void *))dlsym(RTLD_NEXT, "clWaitForEvents"))(count, events);
}
int clGetEventInfo(void *event, unsigned what, size_t bytes, void *value, size_t *size) {
  let_go();
  return ((int (*)(void *, unsigned, size_t, void *, size_t *))dlsym(RTLD_NEXT, "clGetEventInfo"))(event, what, bytes, value, size);
}
int clSetEventCallback(void *event, int status, void *call, void *given) {
  let_go();
  return ((int (*)(void *, int, void *, void *))dlsym(RTLD_NEXT, "clSetEventCallback"))(event, status, call, given);
}
