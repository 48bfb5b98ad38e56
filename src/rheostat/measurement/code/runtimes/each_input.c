/* Runs a program on many inputs from one start: loaded before it, this forks ahead of main, and
   each child has the arguments and the standard input of one input.  Standard input says, each text
   ended by a zero: arguments of an input, CPU milliseconds that all may take (0: any), whether
   standard error counts; then of each input the arguments and its standard input.  Of each come
   back status, bytes, and what it printed; a child has no other output, so that it forges none.
   A program may have functions called read and write. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_B = 1 << 20 };
static char *next, *end, printed[MOST_B];

static char *text(void) {
  char *said = next;
  next += strlen(next) + 1;
  return said;
}

static void read_all(void) {
  size_t have = 0, room = 1 << 16;
  char *all = malloc(room + 1);
  for (ssize_t got; all && (got = syscall(SYS_read, 0, all + have, room - have)) > 0;)
    if ((have += (size_t)got) == room) all = realloc(all, (room *= 2) + 1);
  if (!all) _exit(1);
  all[have] = 0;
  next = all;
  end = all + have;
}

static void put(const char *from, size_t size) {
  for (ssize_t done; size && (done = syscall(SYS_write, 1, from, size)) > 0; from += done) size -= (size_t)done;
}

static long spent_ms(void) {
  struct rusage used[2];
  getrusage(RUSAGE_CHILDREN, used);
  getrusage(RUSAGE_SELF, used + 1);
  long ms = 0;
  for (int i = 0; i < 2; i++) {
    ms += (used[i].ru_utime.tv_sec + used[i].ru_stime.tv_sec) * 1000;
    ms += (used[i].ru_utime.tv_usec + used[i].ru_stime.tv_usec) / 1000;
  }
  return ms;
}

static void becomes(int out, int both, char **arguments, int count) {
  int given, nowhere = open("/dev/null", O_WRONLY);
  for (int i = 0; i < count; i++) arguments[i] = text();
  given = memfd_create("input", MFD_CLOEXEC);
  if (syscall(SYS_write, given, next, strlen(next)) < 0 || lseek(given, 0, SEEK_SET)) _exit(1);
  dup2(given, 0);
  dup2(out, 1);
  dup2(both ? out : nowhere, 2);
  close(given);
  close(nowhere);
}

__attribute__((constructor)) static void each_input(int argc, char **argv) {
  static int number;
  char said[32];
  unsetenv("LD_PRELOAD");
  read_all();
  int count = atoi(text()), both;
  long most_ms = atol(text());
  both = atoi(text());
  if (count >= argc) _exit(1);
  while (next < end && (!most_ms || spent_ms() < most_ms)) {
    int ends[2], status = 0;
    sprintf(said, "%d", ++number);
    setenv("RHEOSTAT_RUN", said, 1);
    size_t size = 0;
    if (pipe2(ends, O_CLOEXEC)) _exit(1);
    pid_t child = fork();
    if (!child) return becomes(ends[1], both, argv + argc - count, count);
    close(ends[1]);
    for (ssize_t got; child > 0 && (got = syscall(SYS_read, ends[0], printed + size, MOST_B - size)) > 0;)
      if ((size += (size_t)got) == MOST_B) kill(child, SIGKILL);
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) < 0) status = 1;
    for (size_t i = 0; i < size; i++) /* a byte is a character */
      if (printed[i] & 0x80) printed[i] = '?';
    char head[64];
    put(head, (size_t)sprintf(head, "%d %zu\n", status, size));
    put(printed, size);
    for (int i = 0; i <= count; i++) text();
  }
  _exit(0);
}
