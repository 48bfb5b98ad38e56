/* Runs a program on many inputs from one start: loaded before it, this forks ahead of main, and
   each child has the arguments and the standard input of one input.  Standard input says, each text
   ended by a zero: arguments of an input, CPU milliseconds that all may take (0: any; else what all
   print is bounded, too, and those at the end are left out), whether
   standard error counts, whether runs share memory; then of each input the arguments and its standard input.  Of each come
   back status, bytes, and what it printed; a child has no other output, so that it forges none.
   A program may have functions called read and write.

   A fork copies pages, which takes longer than many a run.  Children that share this process's memory
   instead are quicker: after each all that can be written is put back (data, heap, stack), and what
   it has mapped is unmapped.  Not for programs that map over their own memory; one that has more of
   it than is soon put back is forked. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { MOST_B = 1 << 20, MOST_KEPT_B = 1 << 21, BELOW_B = 1 << 16, MOST_TOLD_B = 1 << 23, STACK_B = 1 << 17, SAID_B = 1 << 16, REGIONS = 256, ESCAPE = 0x1a };
static char *next, *end, *printed;
static int nowhere;

static char *text(void) {
  char *said = next;
  next += strlen(next) + 1;
  return said;
}

static void *shared_b(size_t size) {
  void *made = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) _exit(1);
  return made;
}

static void read_all(void) {
  size_t have = 0, room = 1 << 16;
  char *all = malloc(room + 1);
  for (ssize_t got; all && (got = syscall(SYS_read, 0, all + have, room - have)) > 0;)
    if ((have += (size_t)got) == room) all = realloc(all, (room *= 2) + 1);
  if (!all) _exit(1);
  next = (char *)shared_b(have + 1);
  end = (char *)memcpy(next, all, have) + have;
  mprotect(next, have + 1, PROT_READ);
  free(all);
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

/* Whether one more input may be begun; what was spared counts, so that as many are run as before. */
static int goes_on(long most_ms, long spared_ms, size_t told_b) {
  return next < end && (!most_ms || (told_b < MOST_TOLD_B && spent_ms() + spared_ms < most_ms));
}

/* The words of an input are the program's to change, the others not to be seen. */
static int becomes(int out, int both, char **arguments, int count) {
  static char words[1 << 16];
  char *to = words;
  int given = nowhere;
  for (int i = 0; i < count; i++) {
    char *said = text();
    size_t size = strlen(said) + 1;
    if (size > (size_t)(words + sizeof words - to)) return 0;
    arguments[i] = (char *)memcpy(to, said, size);
    to += size;
  }
  if (*next) {
    given = memfd_create("input", MFD_CLOEXEC);
    if (syscall(SYS_write, given, next, strlen(next)) < 0 || lseek(given, 0, SEEK_SET)) return 0;
  }
  dup2(given, 0);
  dup2(out, 1);
  dup2(both ? out : nowhere, 2);
  if (given != nowhere) close(given);
  return 1;
}

static int is_escaped(char byte) { return (byte & 0x80) || byte == ESCAPE; }

/* As it is told: a byte is a character, so that one of several bytes is an escape and two digits for each. */
static size_t told(int status, char *printed, size_t size, void (*put)(const char *, size_t)) {
  size_t whole = size, from = 0;
  for (size_t i = 0; i < size; i++) whole += is_escaped(printed[i]) ? 2 : 0;
  char head[64];
  put(head, (size_t)sprintf(head, "%d %zu\n", status, whole));
  for (size_t i = 0; i < size; i++)
    if (is_escaped(printed[i])) {
      put(printed + from, i - from);
      put(head, (size_t)sprintf(head, "%c%02x", ESCAPE, printed[i] & 0xff));
      from = i + 1;
    }
  put(printed + from, size - from);
  return whole;
}

/* What children that share this memory leave behind lies in mappings that are private; what is kept
   here is not, so that it is never put back itself. */
typedef struct { char *low, *high, *copy; } Region;
typedef struct {
  ucontext_t child, server;
  Region saved[REGIONS], known[REGIONS], now[REGIONS];
  char **arguments, *kept, *break_, *after, maps[1 << 16], said[SAID_B];
  int saved_count, known_count, count, both, out, number, statm;
  long most_ms, pages, each_us;
  off_t from;
  size_t said_b, told_b;
} Server;
static Server *server;

/* What is told is held back and put out in large parts. */
static void hold(const char *from, size_t size) {
  if (size > SAID_B - server->said_b) {
    put(server->said, server->said_b);
    server->said_b = 0;
  }
  if (size > SAID_B) put(from, size);
  else memcpy(server->said + server->said_b, from, size), server->said_b += size;
}

static size_t content(const char *path, char *to, size_t most) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  size_t have = 0;
  for (ssize_t got; file >= 0 && (got = syscall(SYS_read, file, to + have, most - 1 - have)) > 0;) have += (size_t)got;
  if (file >= 0) close(file);
  to[have] = 0;
  return have;
}

static long pages_mapped(void) {
  char said[128];
  ssize_t got = pread(server->statm, said, sizeof said - 1, 0);
  said[got > 0 ? got : 0] = 0;
  return atol(said);
}

/* Each mapping by its ends; which are private and can be written, and which is the stack. */
static int mappings(Region *all, char *kinds) {
  int count = 0;
  content("/proc/self/maps", server->maps, sizeof server->maps);
  for (char *row = server->maps; *row && count < REGIONS; count++) {
    char *line_end = strchr(row, '\n'), *at;
    if (line_end) *line_end = 0;
    all[count].low = (char *)strtoul(row, &at, 16);
    all[count].high = (char *)strtoul(at + 1, &at, 16);
    kinds[count] = strstr(at, "[stack]") ? 's' : strstr(at, "[heap]") ? 'h' : !strncmp(at, " rw-p", 5) ? 'w' : 'o';
    if (!line_end) return count + 1;
    row = line_end + 1;
  }
  return count;
}

/* Copies of all that a child may change; 0 where that is too much. */
static int save(void) {
  char kinds[REGIONS], here;
  size_t all = 0;
  char *copy = server->kept = (char *)shared_b(MOST_KEPT_B);
  server->break_ = (char *)syscall(SYS_brk, 0);
  int count = mappings(server->known, kinds);
  if (count == REGIONS) return 0;
  for (int i = 0; i < count; i++) {
    Region r = server->known[i];
    if (kinds[i] == 's') r.low = &here - BELOW_B > r.low ? &here - BELOW_B : r.low;
    if (kinds[i] != 'o') server->saved[server->saved_count++] = r, all += (size_t)(r.high - r.low);
  }
  server->known_count = count;
  if (all > MOST_KEPT_B) return 0;
  for (int i = 0; i < server->saved_count; i++) {
    Region *r = server->saved + i;
    r->copy = copy;
    memcpy(copy, r->low, (size_t)(r->high - r->low));
    copy += r->high - r->low;
  }
  mprotect(server->kept, MOST_KEPT_B, PROT_READ);
  server->pages = -1;
  return 1;
}

static int is_known(const Region *r) {
  for (int i = 0; i < server->known_count; i++)
    if (r->low < server->known[i].high && r->high > server->known[i].low) return 1;
  return 0;
}

static void put_back(void) {
  char *now = (char *)syscall(SYS_brk, 0);
  if (now - server->break_ > MOST_KEPT_B) syscall(SYS_brk, server->break_);
  else if (now > server->break_) memset(server->break_, 0, (size_t)(now - server->break_));
  for (int i = 0; i < server->saved_count; i++)
    memcpy(server->saved[i].low, server->saved[i].copy, (size_t)(server->saved[i].high - server->saved[i].low));
  if (pages_mapped() == server->pages) return;
  Region *all = server->now;
  char kinds[REGIONS];
  int count = mappings(all, kinds);
  for (int i = 0; i < count; i++)
    if (kinds[i] != 's' && kinds[i] != 'h' && !is_known(all + i)) munmap(all[i].low, (size_t)(all[i].high - all[i].low));
  server->pages = pages_mapped();
}

__attribute__((noinline, noreturn)) static void child_begins(void) {
  setcontext(&server->child);
  _exit(1);
}

static void serve(void) {
  while (goes_on(server->most_ms, server->number * server->each_us / 1000, server->told_b)) {
    int status = 1;
    server->number++;
    server->after = next;
    for (int i = 0; i <= server->count; i++) server->after += strlen(server->after) + 1;
    pid_t child = vfork();
    if (!child) child_begins();
    if (child < 0 || waitpid(child, &status, 0) < 0) status = 1;
    put_back();
    next = server->after;
    off_t here = lseek(server->out, 0, SEEK_END), size = here - server->from;
    if (size < 0 || size >= MOST_B) status = 1, size = size < 0 ? 0 : MOST_B;
    if (pread(server->out, printed, (size_t)size, server->from) != size) status = 1;
    server->from = here;
    if (here >= MOST_B) { /* the file begins anew */
      server->from = 0;
      if (ftruncate(server->out, 0) || lseek(server->out, 0, SEEK_SET)) _exit(1);
    }
    server->told_b += told(status, printed, (size_t)size, hold);
  }
  put(server->said, server->said_b);
  _exit(0);
}

/* LLVM's OpenMP asks for a library as it begins, which it does in each child: once asked for in vain, it
   is not looked for in 150 places again.  Microseconds that this spares each child. */
static long looked_for(void) {
  if (!dlsym(RTLD_DEFAULT, "kmp_get_blocktime")) return 0;
  dlopen("libmemkind.so", RTLD_LAZY);
  return 400;
}

/* Comes back once in each child, on the stack as the program's start has made it. */
static void in_children(char **arguments, int count, int both, long most_ms, long spared_us) {
  char said[32];
  server = (Server *)shared_b(sizeof *server);
  char *stack = (char *)shared_b(STACK_B);
  server->arguments = arguments, server->count = count, server->both = both, server->most_ms = most_ms;
  server->each_us = 200 + spared_us; /* what a fork would take, and its start: as many are run as by forks */
  server->out = memfd_create("output", MFD_CLOEXEC);
  server->statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  getcontext(&server->child);
  if (!server->number) {
    if (!save()) return;
    getcontext(&server->server);
    server->server.uc_stack.ss_sp = stack;
    server->server.uc_stack.ss_size = STACK_B;
    makecontext(&server->server, serve, 0);
    setcontext(&server->server);
  }
  sprintf(said, "%d", server->number);
  setenv("RHEOSTAT_RUN", said, 1);
  if (!becomes(server->out, server->both, server->arguments, server->count)) _exit(1);
}

__attribute__((constructor)) static void each_input(int argc, char **argv) {
  static int number;
  char said[32];
  unsetenv("LD_PRELOAD");
  read_all();
  nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  int count = atoi(text()), both, shares;
  long most_ms = atol(text()), spared_us = looked_for();
  both = atoi(text());
  shares = atoi(text());
  printed = (char *)shared_b(MOST_B);
  if (count >= argc) _exit(1);
  if (shares) {
    in_children(argv + argc - count, count, both, most_ms, spared_us);
    if (server->number) return;
  }
  size_t told_b = 0;
  while (goes_on(most_ms, 0, told_b)) {
    int ends[2], status = 0;
    sprintf(said, "%d", ++number);
    setenv("RHEOSTAT_RUN", said, 1);
    size_t size = 0;
    if (pipe2(ends, O_CLOEXEC)) _exit(1);
    pid_t child = fork();
    if (!child && becomes(ends[1], both, argv + argc - count, count)) return;
    if (!child) _exit(1);
    close(ends[1]);
    for (ssize_t got; child > 0 && (got = syscall(SYS_read, ends[0], printed + size, MOST_B - size)) > 0;)
      if ((size += (size_t)got) == MOST_B) kill(child, SIGKILL);
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) < 0) status = 1;
    told_b += told(status, printed, size, put);
    for (int i = 0; i <= count; i++) text();
  }
  _exit(0);
}
