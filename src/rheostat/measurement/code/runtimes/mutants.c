/* Which mutant a run is, by its row in the file "mutants" (its number, the constant that is another
   one, from WHEREVER on with all that are equal, and its value), and how often each site came out each way, left in the file "outcomes".  SITES
   and CONSTANTS, what constants are, stand before this text.  A mutant may run on for ever: it
   has MOST_MS of CPU time, more where addresses are checked. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifndef __has_feature
#define __has_feature(x) 0
#endif
enum { WHEREVER = 1 << 24, MOST_MS = __has_feature(address_sanitizer) ? 300 : 30 };
int rheostat_mutant = -1;
long rheostat_outcomes[3 * SITES] = {0};
long rheostat_constants[SITES] = {CONSTANTS};

static int opened(const char *name, int how) {
  const char *folder = getenv("XDG_CACHE_HOME");
  char path[4096];
  if (!folder) return -1;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return open(path, how | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static long run_number(void) {
  const char *number = getenv("RHEOSTAT_RUN");
  return number ? atol(number) - 1 : 0;
}

__attribute__((constructor(101))) static void chosen(void) {
  int file = opened("mutants", O_RDONLY);
  if (file < 0) return;
  struct { int mutant, constant; long value; } row = {-1, -1, 0};
  if (pread(file, &row, sizeof row, run_number() * (long)sizeof row) != sizeof row) row.mutant = row.constant = -1;
  rheostat_mutant = row.mutant;
  long was = row.constant >= 0 ? rheostat_constants[row.constant % WHEREVER] : 0;
  for (int i = 0; row.constant >= WHEREVER && i < SITES; i++)
    if (rheostat_constants[i] == was) rheostat_constants[i] = row.value;
  if (row.constant >= 0) rheostat_constants[row.constant % WHEREVER] = row.value;
  close(file);
  struct itimerval most = {{0, 0}, {0, MOST_MS * 1000}};
  if (rheostat_mutant >= 0) setitimer(ITIMER_PROF, &most, 0);
}

__attribute__((destructor)) static void left(void) {
  int file = rheostat_mutant < 0 ? opened("outcomes", O_WRONLY | O_CREAT) : -1;
  if (file < 0) return;
  if (pwrite(file, rheostat_outcomes, sizeof rheostat_outcomes, run_number() * (long)sizeof rheostat_outcomes) < 0)
    perror("outcomes");
  close(file);
}
#ifdef __cplusplus
}
#endif
