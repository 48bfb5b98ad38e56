/* Which comparisons came out which way, kept from one run to the next: a file that all runs share
   lies under the array that the program writes to.  REACHED_B stands before this text. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif
__attribute__((aligned(4096))) char rheostat_reached[REACHED_B] = {0};

__attribute__((constructor(101))) static void share(void) {
  const char *folder = getenv("XDG_CACHE_HOME");
  char path[4096];
  if (!folder) return;
  snprintf(path, sizeof path, "%s/reached", folder);
  int file = open(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (file < 0 || ftruncate(file, REACHED_B)) return;
  mmap(rheostat_reached, REACHED_B, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
  close(file);
}
#ifdef __cplusplus
}
#endif
