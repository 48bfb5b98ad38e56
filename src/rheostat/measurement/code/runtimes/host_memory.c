/* The host's memory, closed to regions that the x86_64 plugin runs as a device.

   The plugin copies what is mapped, and runs a region in the host's address space, so that a pointer
   of the host that nobody mapped still works there.  Here blocks that the program itself asks for lie on
   pages of their own, which nobody may read or write while a region runs (the plugin starts it by
   ffi_call).  Other threads of the host may be at work beside a region: then they stay open. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif
enum { PAGE = 4096, MOST = 256 };
typedef struct { char *at; size_t bytes; } Block;
static Block blocks[MOST];
static int guard;

extern char __executable_start, etext;
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);
extern int omp_in_parallel(void);

static void lock(void) { while (__atomic_exchange_n(&guard, 1, __ATOMIC_ACQUIRE)) {} }
static void unlock(void) { __atomic_store_n(&guard, 0, __ATOMIC_RELEASE); }

/* Puts `to` in the place of `from`: of a free place, of a block that ends. */
static int put(char *from, char *to, size_t bytes) {
  int found = 0;
  lock();
  for (int i = 0; i < MOST && !found; i++)
    if (blocks[i].at == from) {
      blocks[i].at = to, blocks[i].bytes = bytes;
      found = 1;
    }
  unlock();
  return found;
}

static int is_own(void *caller) { return (char *)caller >= &__executable_start && (char *)caller < &etext; }

static void *own_pages(size_t bytes, size_t align) {
  size_t whole = (bytes + PAGE - 1) / PAGE * PAGE + (bytes ? 0 : PAGE);
  char *at = whole < bytes ? 0 : (char *)__libc_memalign(align > PAGE ? align : PAGE, whole);
  if (at) put(0, at, whole);
  return at;
}

#define OWN is_own(__builtin_return_address(0))
void *malloc(size_t bytes) { return OWN ? own_pages(bytes, 1) : __libc_malloc(bytes); }
void *_Znwm(size_t bytes) { return OWN ? own_pages(bytes, 1) : __libc_malloc(bytes); }
void *_Znam(size_t bytes) { return OWN ? own_pages(bytes, 1) : __libc_malloc(bytes); }
void *aligned_alloc(size_t align, size_t bytes) {
  return OWN ? own_pages(bytes, align) : __libc_memalign(align, bytes);
}
int posix_memalign(void **to, size_t align, size_t bytes) {
  *to = OWN ? own_pages(bytes, align) : __libc_memalign(align, bytes);
  return *to ? 0 : 12;
}
void *calloc(size_t count, size_t bytes) {
  size_t all;
  if (!OWN || __builtin_mul_overflow(count, bytes, &all)) return __libc_calloc(count, bytes);
  void *at = own_pages(all, 1);
  return at ? memset(at, 0, all) : 0;
}
void free(void *at) {
  if (at) put((char *)at, 0, 0);
  __libc_free(at);
}
void *realloc(void *at, size_t bytes) {
  if (at) put((char *)at, 0, 0);
  return __libc_realloc(at, bytes);
}

static void set(int how) {
  for (int i = 0; i < MOST; i++)
    if (blocks[i].at) mprotect(blocks[i].at, blocks[i].bytes, how);
}

/* Says why before the same access ends the program. */
static void said(int number, siginfo_t *what, void *unused) {
  static const char words[] = "error: a target region follows a pointer into memory of the host that it does not map\n";
  char *at = (char *)what->si_addr;
  for (int i = 0; i < MOST; i++)
    if (blocks[i].at && at >= blocks[i].at && at < blocks[i].at + blocks[i].bytes)
      if (write(2, words, sizeof words - 1)) break;
  (void)unused;
  signal(number, SIG_DFL);
}

typedef void (*Call)(void *, void (*)(void), void *, void **);
void ffi_call(void *kind, void (*region)(void), void *result, void **given) {
  static Call next;
  if (!next) next = (Call)dlsym(dlopen("libffi.so.8", RTLD_NOW), "ffi_call");
  int alone = syscall(SYS_gettid) == getpid() && !omp_in_parallel();
  if (!alone) {
    next(kind, region, result, given);
    return;
  }
  struct sigaction before, now;
  memset(&now, 0, sizeof now);
  now.sa_sigaction = said, now.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &now, &before);
  set(PROT_NONE);
  next(kind, region, result, given);
  set(PROT_READ | PROT_WRITE);
  sigaction(SIGSEGV, &before, 0);
}
#ifdef __cplusplus
}
#endif
