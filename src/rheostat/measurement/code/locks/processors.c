/* How many processors a program is told that there are: RHEOSTAT_PROCESSORS in the environment. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif
enum { CONFIGURED = 83, ONLINE = 84 };

static int processors(void) {
  const char *said = getenv("RHEOSTAT_PROCESSORS");
  return said ? atoi(said) : 1;
}

int omp_get_num_procs(void) { return processors(); }
int get_nprocs(void) { return processors(); }
int get_nprocs_conf(void) { return processors(); }
unsigned _ZNSt6thread20hardware_concurrencyEv(void) { return (unsigned)processors(); }

long sysconf(int name) {
  static long (*next)(int);
  if (name == CONFIGURED || name == ONLINE) return processors();
  if (!next) next = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
  return next(name);
}
#ifdef __cplusplus
}
#endif
