/* OpenCL on a CPU, for thousands of runs of one program: the host's functions, and work-items in turn.

   Kernels are compiled beforehand and stand in a table by the text that the program builds; a text
   that is not there is written to the folder of the run, which is how the table gets to know it.
   What is not known here ends the program with UNKNOWN, so that nothing is said of it.
   Work-items of a kernel with a barrier have a stack each, the others are a loop.  Buffers are memory
   of their own, filled where nobody set them; what is mapped is a copy.
   RHEOSTAT_BACKWARD: groups and work-items from the last to the first.  RHEOSTAT_WITHOUT_KERNELS: none
   runs.  RHEOSTAT_LATE: commands that nobody waits for are done when somebody waits. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#undef _FORTIFY_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { UNKNOWN = 78, MOST_ARGUMENTS = 64, MOST_ITEMS = 4096, STACK_B = 1 << 17, EDGE_B = 128, FILL = 0xFF };
enum { PRIVATE, GLOBAL, CONSTANT, LOCAL };

/* ---- what is compiled beforehand ---- */
typedef struct {
  const char *name;
  void (*call)(void **);
  int count, waits;            /* arguments; whether it has a barrier */
  const unsigned char *spaces; /* of each argument */
  const unsigned *sizes;       /* of what is passed by value */
  const size_t *group;         /* that it needs; 0: any */
} Compiled;
typedef struct { const char *text, *options; const Compiled *kernels; int count; } Library;
extern const Library rheostat_libraries[] __attribute__((weak));
extern const int rheostat_library_count __attribute__((weak));

/* ---- objects ---- */
enum { CONTEXT = 0x4f434c01, QUEUE, BUFFER, PROGRAM, KERNEL, EVENT };
#define HEAD int kind, uses
struct _cl_platform_id { int kind; };
struct _cl_device_id { int kind; };
struct _cl_context { HEAD; };
struct _cl_command_queue { HEAD; cl_context context; cl_command_queue_properties how; };
struct _cl_mem {
  HEAD;
  cl_context context;
  cl_mem whole;
  cl_mem_flags flags;
  size_t bytes, from;
  char *at, *host;
  int maps;
  struct Map { char *shown; size_t from, bytes; cl_map_flags flags; struct Map *next; } *mapped;
};
struct _cl_program { HEAD; cl_context context; char *text, *options; const Library *made; int built; };
typedef struct { int is_set; size_t bytes; char *value; cl_mem buffer; } Argument;
struct _cl_kernel { HEAD; cl_program program; const Compiled *made; Argument given[MOST_ARGUMENTS]; };
struct _cl_event { HEAD; cl_command_queue queue; cl_command_type type; cl_int status; cl_ulong times[4]; };

static struct _cl_platform_id platform;
static struct _cl_device_id device;

__attribute__((format(printf, 1, 2), noreturn)) static void unknown(const char *what, ...) {
  va_list more;
  va_start(more, what);
  fflush(stdout);
  fprintf(stderr, "rheostat's own OpenCL: ");
  vfprintf(stderr, what, more);
  fprintf(stderr, "\n");
  _exit(UNKNOWN);
}
static void *made(int kind, size_t bytes) {
  struct _cl_context *one = (struct _cl_context *)calloc(1, bytes);
  if (!one) unknown("no memory for %zu bytes", bytes);
  one->kind = kind, one->uses = 1;
  return one;
}
#define NEW(KIND, name) name = (__typeof__(name))made(KIND, sizeof *name)
#define SAID(error, code) do { if (error) *(error) = (code); } while (0)
#define REFUSE(error, code) do { SAID(error, code); return 0; } while (0)
#define IS(one, KIND) ((one) && (one)->kind == (KIND))

static cl_int told(const void *value, size_t size, size_t room, void *to, size_t *needed) {
  if (to && room < size) return CL_INVALID_VALUE;
  if (to) memcpy(to, value, size);
  if (needed) *needed = size;
  return CL_SUCCESS;
}
#define TELL(type, ...) do { type v_ = (type)(__VA_ARGS__); return told(&v_, sizeof v_, room, to, needed); } while (0)
#define TELL_TEXT(text) return told(text, strlen(text) + 1, room, to, needed)
#define INFO size_t room, void *to, size_t *needed

/* ---- commands: done at once, or late ---- */
typedef struct Command {
  void (*act)(struct Command *);
  cl_event event;
  cl_mem one, other;
  struct Map *map;
  char *host;
  const char *from_host;
  size_t from, to, bytes, pattern_b;
  size_t origin[3], other_origin[3], region[3], pitch[2], other_pitch[2];
  cl_kernel kernel;
  Argument given[MOST_ARGUMENTS];
  unsigned dimensions;
  size_t offset[3], size[3], group[3];
  struct Command *next;
} Command;
static Command *first, **last = &first;
static int is_late(void) { return getenv("RHEOSTAT_LATE") != 0; }

static cl_ulong now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (cl_ulong)now.tv_sec * 1000000000u + (cl_ulong)now.tv_nsec;
}
static void act(Command *c) {
  if (c->event) c->event->times[2] = now_ns();
  c->act(c);
  if (!c->event) return;
  c->event->times[3] = now_ns();
  c->event->status = CL_COMPLETE;
}
static void let_go(void) {
  while (first) {
    Command *c = first;
    first = c->next;
    if (!first) last = &first;
    act(c);
    free(c);
  }
}
static int waits_wrong(cl_uint count, const cl_event *all) {
  if (!count != !all) return 1;
  for (cl_uint i = 0; i < count; i++)
    if (!IS(all[i], EVENT)) return 1;
  return 0;
}
static void put(cl_command_queue queue, Command *c, cl_command_type type, int blocking, cl_event *event) {
  if (event) {
    NEW(EVENT, *event);
    (*event)->queue = queue, (*event)->type = type, (*event)->status = CL_QUEUED;
    (*event)->times[0] = (*event)->times[1] = now_ns();
    c->event = *event;
  }
  if (blocking || !is_late()) {
    let_go();
    act(c);
    return;
  }
  Command *kept = (Command *)malloc(sizeof *kept);
  if (!kept) unknown("no memory");
  *kept = *c;
  kept->next = 0;
  *last = kept, last = &kept->next;
}

/* ---- a group of work-items ---- */
typedef struct { jmp_buf at; size_t number; int state; } Item;
enum { READY, WAITING, DONE };
static struct {
  unsigned dimensions;
  size_t offset[3], size[3], group[3], count[3], block[3], item[3];
} here;
static struct { Item *items; char *stacks; ucontext_t starter; jmp_buf scheduler; size_t current, made; void **arguments; void (*call)(void **); } turn;

size_t get_global_id_(unsigned d) __asm__("_Z13get_global_idj");
size_t get_local_id_(unsigned d) __asm__("_Z12get_local_idj");
size_t get_group_id_(unsigned d) __asm__("_Z12get_group_idj");
size_t get_global_size_(unsigned d) __asm__("_Z15get_global_sizej");
size_t get_local_size_(unsigned d) __asm__("_Z14get_local_sizej");
size_t get_enqueued_local_size_(unsigned d) __asm__("_Z23get_enqueued_local_sizej");
size_t get_num_groups_(unsigned d) __asm__("_Z14get_num_groupsj");
size_t get_global_offset_(unsigned d) __asm__("_Z17get_global_offsetj");
unsigned get_work_dim_(void) __asm__("_Z12get_work_dimv");
void barrier_(unsigned fence) __asm__("_Z7barrierj");
size_t get_global_id_(unsigned d) { return d < 3 ? here.offset[d] + here.block[d] * here.group[d] + here.item[d] : 0; }
size_t get_local_id_(unsigned d) { return d < 3 ? here.item[d] : 0; }
size_t get_group_id_(unsigned d) { return d < 3 ? here.block[d] : 0; }
size_t get_global_size_(unsigned d) { return d < 3 ? here.size[d] : 1; }
size_t get_local_size_(unsigned d) { return d < 3 ? here.group[d] : 1; }
size_t get_enqueued_local_size_(unsigned d) { return get_local_size_(d); }
size_t get_num_groups_(unsigned d) { return d < 3 ? here.count[d] : 1; }
size_t get_global_offset_(unsigned d) { return d < 3 ? here.offset[d] : 0; }
unsigned get_work_dim_(void) { return here.dimensions; }

static void become(size_t number) {
  here.item[0] = number % here.group[0];
  here.item[1] = number / here.group[0] % here.group[1];
  here.item[2] = number / here.group[0] / here.group[1];
}
void barrier_(unsigned fence) {
  Item *one = turn.items + turn.current;
  (void)fence;
  one->state = WAITING;
  if (!_setjmp(one->at)) _longjmp(turn.scheduler, 1);
}
static void live(void) {
  for (;;) {
    if (!_setjmp(turn.items[turn.current].at)) _longjmp(turn.scheduler, 1);
    turn.call(turn.arguments);
    turn.items[turn.current].state = DONE; /* and waits for the next group's turn */
  }
}
static void ready(size_t count) {
  if (!turn.items) {
    void *at = mmap(0, (size_t)MOST_ITEMS * STACK_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    turn.items = (Item *)mmap(0, MOST_ITEMS * sizeof(Item), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || turn.items == MAP_FAILED) unknown("no memory for work-items");
    turn.stacks = (char *)at;
  }
  for (; turn.made < count; turn.made++) {
    ucontext_t begin;
    getcontext(&begin);
    begin.uc_stack.ss_sp = turn.stacks + turn.made * STACK_B;
    begin.uc_stack.ss_size = STACK_B;
    begin.uc_link = 0;
    makecontext(&begin, live, 0);
    turn.current = turn.made;
    if (!_setjmp(turn.scheduler)) setcontext(&begin);
  }
}
static void run_with_barriers(size_t count, int backward) {
  ready(count);
  for (size_t i = 0; i < count; i++) turn.items[i].state = READY;
  for (volatile size_t left = count; left;) {
    for (volatile size_t k = 0; k < count; k++) {
      size_t number = backward ? count - 1 - k : k;
      if (turn.items[number].state == DONE) continue;
      turn.current = number;
      become(number);
      if (!_setjmp(turn.scheduler)) _longjmp(turn.items[number].at, 1);
      left -= turn.items[turn.current].state == DONE;
    }
  }
}
static void run_group(const Compiled *made, void **arguments, int backward) {
  size_t count = here.group[0] * here.group[1] * here.group[2];
  turn.call = made->call, turn.arguments = arguments;
  if (made->waits) {
    run_with_barriers(count, backward);
    return;
  }
  for (size_t k = 0; k < count; k++) {
    become(backward ? count - 1 - k : k);
    made->call(arguments);
  }
}
static void run_kernel(Command *c) {
  const Compiled *made = c->kernel->made;
  void *places[MOST_ARGUMENTS], *values[MOST_ARGUMENTS];
  if (getenv("RHEOSTAT_WITHOUT_KERNELS")) return;
  int backward = getenv("RHEOSTAT_BACKWARD") != 0;
  for (int i = 0; i < made->count; i++) {
    Argument *a = c->given + i;
    places[i] = made->spaces[i] == PRIVATE ? (void *)a->value : (void *)(values + i);
    values[i] = made->spaces[i] == LOCAL ? (void *)malloc(a->bytes) : a->buffer ? (void *)(a->buffer->at) : 0;
  }
  size_t groups = 1;
  here.dimensions = c->dimensions;
  for (int d = 0; d < 3; d++) {
    here.offset[d] = c->offset[d], here.size[d] = c->size[d], here.group[d] = c->group[d];
    groups *= here.count[d] = c->size[d] / c->group[d];
  }
  for (size_t k = 0; k < groups; k++) {
    size_t number = backward ? groups - 1 - k : k;
    here.block[0] = number % here.count[0];
    here.block[1] = number / here.count[0] % here.count[1];
    here.block[2] = number / here.count[0] / here.count[1];
    for (int i = 0; i < made->count; i++)
      if (made->spaces[i] == LOCAL) memset(values[i], FILL, c->given[i].bytes);
    run_group(made, places, backward);
  }
  for (int i = 0; i < made->count; i++) {
    if (made->spaces[i] == LOCAL) free(values[i]);
    else if (made->spaces[i] == PRIVATE) free(c->given[i].value);
  }
}

/* ---- platform and device: as PoCL's ---- */
cl_int clGetPlatformIDs(cl_uint room, cl_platform_id *to, cl_uint *count) {
  if ((to && !room) || (!to && !count)) return CL_INVALID_VALUE;
  if (to) *to = &platform;
  if (count) *count = 1;
  return CL_SUCCESS;
}
cl_int clGetPlatformInfo(cl_platform_id one, cl_platform_info what, INFO) {
  if (one && one != &platform) return CL_INVALID_PLATFORM;
  switch (what) {
    case CL_PLATFORM_PROFILE: TELL_TEXT("FULL_PROFILE");
    case CL_PLATFORM_VERSION: TELL_TEXT("OpenCL 3.0 PoCL 3.1+debian  Linux, None+Asserts, RELOC, SPIR, LLVM 14.0.6, SLEEF, DISTRO, POCL_DEBUG");
    case CL_PLATFORM_NAME: TELL_TEXT("Portable Computing Language");
    case CL_PLATFORM_VENDOR: TELL_TEXT("The pocl project");
    case CL_PLATFORM_EXTENSIONS: TELL_TEXT("cl_khr_icd cl_pocl_content_size");
    default: unknown("clGetPlatformInfo 0x%x", what);
  }
}
cl_int clGetDeviceIDs(cl_platform_id one, cl_device_type type, cl_uint room, cl_device_id *to, cl_uint *count) {
  if (one && one != &platform) return CL_INVALID_PLATFORM;
  if ((to && !room) || (!to && !count)) return CL_INVALID_VALUE;
  if (!(type & (CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_DEFAULT))) return CL_DEVICE_NOT_FOUND;
  if (to) *to = &device;
  if (count) *count = 1;
  return CL_SUCCESS;
}
cl_int clGetDeviceInfo(cl_device_id one, cl_device_info what, INFO) {
  static const size_t most[3] = {MOST_ITEMS, MOST_ITEMS, MOST_ITEMS};
  if (one != &device) return CL_INVALID_DEVICE;
  switch (what) {
    case CL_DEVICE_TYPE: TELL(cl_device_type, CL_DEVICE_TYPE_CPU);
    case CL_DEVICE_VENDOR_ID: TELL(cl_uint, 0x8086);
    case CL_DEVICE_MAX_COMPUTE_UNITS: TELL(cl_uint, sysconf(_SC_NPROCESSORS_ONLN));
    case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS: TELL(cl_uint, 3);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES: return told(most, sizeof most, room, to, needed);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE: TELL(size_t, MOST_ITEMS);
    case CL_DEVICE_ADDRESS_BITS: TELL(cl_uint, 64);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE: TELL(cl_ulong, 1ul << 31);
    case CL_DEVICE_GLOBAL_MEM_SIZE: TELL(cl_ulong, 1ul << 33);
    case CL_DEVICE_LOCAL_MEM_SIZE: TELL(cl_ulong, 512 << 10);
    case CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE: TELL(cl_ulong, 512 << 10);
    case CL_DEVICE_LOCAL_MEM_TYPE: TELL(cl_device_local_mem_type, CL_GLOBAL);
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN: TELL(cl_uint, 1024);
    case CL_DEVICE_MAX_PARAMETER_SIZE: TELL(size_t, 1024);
    case CL_DEVICE_IMAGE_SUPPORT: TELL(cl_bool, CL_FALSE);
    case CL_DEVICE_AVAILABLE: case CL_DEVICE_COMPILER_AVAILABLE: case CL_DEVICE_LINKER_AVAILABLE:
    case CL_DEVICE_ENDIAN_LITTLE: case CL_DEVICE_HOST_UNIFIED_MEMORY: TELL(cl_bool, CL_TRUE);
    case CL_DEVICE_PROFILING_TIMER_RESOLUTION: TELL(size_t, 1);
    case CL_DEVICE_SINGLE_FP_CONFIG: case CL_DEVICE_DOUBLE_FP_CONFIG:
      TELL(cl_device_fp_config, CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST | CL_FP_ROUND_TO_ZERO | CL_FP_ROUND_TO_INF | CL_FP_FMA);
    case CL_DEVICE_QUEUE_PROPERTIES: TELL(cl_command_queue_properties, CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    case CL_DEVICE_PLATFORM: TELL(cl_platform_id, &platform);
    case CL_DEVICE_NAME: TELL_TEXT("pthread-processor");
    case CL_DEVICE_VENDOR: TELL_TEXT("GenuineIntel");
    case CL_DEVICE_PROFILE: TELL_TEXT("FULL_PROFILE");
    case CL_DRIVER_VERSION: TELL_TEXT("3.1+debian");
    case CL_DEVICE_VERSION: TELL_TEXT("OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu");
    case CL_DEVICE_OPENCL_C_VERSION: TELL_TEXT("OpenCL C 1.2 PoCL");
    case CL_DEVICE_EXTENSIONS: TELL_TEXT("cl_khr_byte_addressable_store cl_khr_global_int32_base_atomics cl_khr_global_int32_extended_atomics cl_khr_local_int32_base_atomics cl_khr_local_int32_extended_atomics cl_khr_int64_base_atomics cl_khr_int64_extended_atomics cl_khr_fp64");
    default: unknown("clGetDeviceInfo 0x%x", what);
  }
}

/* ---- contexts and queues ---- */
#define COUNTED(Name, type, KIND, wrong, waits)                            \
  cl_int clRetain##Name(type one) { return IS(one, KIND) ? (one->uses++, CL_SUCCESS) : (wrong); } \
  cl_int clRelease##Name(type one) {                                       \
    if (!IS(one, KIND)) return wrong;                                      \
    if (waits) let_go();                                                   \
    if (!--one->uses) one->kind = 0; /* kept: nothing may be at its place */ \
    return CL_SUCCESS;                                                     \
  }
COUNTED(Context, cl_context, CONTEXT, CL_INVALID_CONTEXT, 1)
COUNTED(CommandQueue, cl_command_queue, QUEUE, CL_INVALID_COMMAND_QUEUE, 1)
COUNTED(Program, cl_program, PROGRAM, CL_INVALID_PROGRAM, 0)
COUNTED(Kernel, cl_kernel, KERNEL, CL_INVALID_KERNEL, 0)
COUNTED(Event, cl_event, EVENT, CL_INVALID_EVENT, 0)
cl_int clRetainDevice(cl_device_id one) { return one == &device ? CL_SUCCESS : CL_INVALID_DEVICE; }
cl_int clReleaseDevice(cl_device_id one) { return one == &device ? CL_SUCCESS : CL_INVALID_DEVICE; }

cl_context clCreateContext(const cl_context_properties *how, cl_uint count, const cl_device_id *all,
                           void (*notify)(const char *, const void *, size_t, void *), void *user, cl_int *error) {
  (void)how, (void)notify, (void)user;
  if (!count || !all) REFUSE(error, CL_INVALID_VALUE);
  if (*all != &device) REFUSE(error, CL_INVALID_DEVICE);
  cl_context NEW(CONTEXT, one);
  SAID(error, CL_SUCCESS);
  return one;
}
cl_context clCreateContextFromType(const cl_context_properties *how, cl_device_type type,
                                   void (*notify)(const char *, const void *, size_t, void *), void *user, cl_int *error) {
  cl_device_id one = &device;
  if (!(type & (CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_DEFAULT))) REFUSE(error, CL_DEVICE_NOT_FOUND);
  return clCreateContext(how, 1, &one, notify, user, error);
}
cl_int clGetContextInfo(cl_context one, cl_context_info what, INFO) {
  if (!IS(one, CONTEXT)) return CL_INVALID_CONTEXT;
  switch (what) {
    case CL_CONTEXT_DEVICES: TELL(cl_device_id, &device);
    case CL_CONTEXT_NUM_DEVICES: TELL(cl_uint, 1);
    case CL_CONTEXT_REFERENCE_COUNT: TELL(cl_uint, one->uses);
    default: unknown("clGetContextInfo 0x%x", what);
  }
}
cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id on, cl_command_queue_properties how, cl_int *error) {
  if (!IS(context, CONTEXT)) REFUSE(error, CL_INVALID_CONTEXT);
  if (on != &device) REFUSE(error, CL_INVALID_DEVICE);
  cl_command_queue NEW(QUEUE, one);
  one->context = context, one->how = how;
  SAID(error, CL_SUCCESS);
  return one;
}
cl_command_queue clCreateCommandQueueWithProperties(cl_context context, cl_device_id on, const cl_ulong *how, cl_int *error);
cl_command_queue clCreateCommandQueueWithProperties(cl_context context, cl_device_id on, const cl_ulong *how, cl_int *error) {
  cl_command_queue_properties kept = 0;
  for (; how && *how; how += 2)
    if (*how == CL_QUEUE_PROPERTIES) kept = how[1];
    else unknown("property 0x%lx of a queue", (unsigned long)*how);
  return clCreateCommandQueue(context, on, kept, error);
}
cl_int clGetCommandQueueInfo(cl_command_queue one, cl_command_queue_info what, INFO) {
  if (!IS(one, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
  switch (what) {
    case CL_QUEUE_CONTEXT: TELL(cl_context, one->context);
    case CL_QUEUE_DEVICE: TELL(cl_device_id, &device);
    case CL_QUEUE_REFERENCE_COUNT: TELL(cl_uint, one->uses);
    case CL_QUEUE_PROPERTIES: TELL(cl_command_queue_properties, one->how);
    default: unknown("clGetCommandQueueInfo 0x%x", what);
  }
}
cl_int clFlush(cl_command_queue queue) { return IS(queue, QUEUE) ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE; }
cl_int clFinish(cl_command_queue queue) {
  if (!IS(queue, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
  let_go();
  return CL_SUCCESS;
}

/* ---- buffers ---- */
cl_mem clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *error) {
  if (!IS(context, CONTEXT)) REFUSE(error, CL_INVALID_CONTEXT);
  if (!bytes) REFUSE(error, CL_INVALID_BUFFER_SIZE);
  if (!host != !(flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR))) REFUSE(error, CL_INVALID_HOST_PTR);
  if ((flags & CL_MEM_USE_HOST_PTR) && (flags & (CL_MEM_COPY_HOST_PTR | CL_MEM_ALLOC_HOST_PTR))) REFUSE(error, CL_INVALID_VALUE);
  char *at = (char *)malloc(bytes + 3 * EDGE_B);
  if (!at || bytes > 1ul << 31) REFUSE(error, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  cl_mem NEW(BUFFER, one);
  memset(at, FILL, bytes + 3 * EDGE_B);
  one->at = at + 2 * EDGE_B - (size_t)at % EDGE_B;
  one->context = context, one->flags = flags, one->bytes = bytes;
  if (flags & CL_MEM_USE_HOST_PTR) one->host = (char *)host;
  if (host) memcpy(one->at, host, bytes);
  SAID(error, CL_SUCCESS);
  return one;
}
cl_mem clCreateSubBuffer(cl_mem whole, cl_mem_flags flags, cl_buffer_create_type type, const void *what, cl_int *error) {
  const cl_buffer_region *part = (const cl_buffer_region *)what;
  if (!IS(whole, BUFFER) || whole->whole) REFUSE(error, CL_INVALID_MEM_OBJECT);
  if (type != CL_BUFFER_CREATE_TYPE_REGION || !part || part->origin + part->size > whole->bytes) REFUSE(error, CL_INVALID_VALUE);
  if (!part->size) REFUSE(error, CL_INVALID_BUFFER_SIZE);
  if (part->origin % EDGE_B) REFUSE(error, CL_MISALIGNED_SUB_BUFFER_OFFSET);
  cl_mem NEW(BUFFER, one);
  one->context = whole->context, one->flags = flags ? flags : whole->flags, one->bytes = part->size;
  one->whole = whole, one->from = part->origin, one->at = whole->at + part->origin;
  one->host = whole->host ? whole->host + part->origin : 0;
  whole->uses++;
  SAID(error, CL_SUCCESS);
  return one;
}
cl_int clRetainMemObject(cl_mem one) { return IS(one, BUFFER) ? (one->uses++, CL_SUCCESS) : CL_INVALID_MEM_OBJECT; }
cl_int clReleaseMemObject(cl_mem one) {
  if (!IS(one, BUFFER)) return CL_INVALID_MEM_OBJECT;
  if (--one->uses) return CL_SUCCESS;
  if (!first) { /* commands that are still to be done may use it */
    one->kind = 0;
    if (one->whole) clReleaseMemObject(one->whole);
    else memset(one->at, FILL, one->bytes);
  }
  return CL_SUCCESS;
}
cl_int clGetMemObjectInfo(cl_mem one, cl_mem_info what, INFO) {
  if (!IS(one, BUFFER)) return CL_INVALID_MEM_OBJECT;
  switch (what) {
    case CL_MEM_TYPE: TELL(cl_mem_object_type, CL_MEM_OBJECT_BUFFER);
    case CL_MEM_FLAGS: TELL(cl_mem_flags, one->flags);
    case CL_MEM_SIZE: TELL(size_t, one->bytes);
    case CL_MEM_HOST_PTR: TELL(void *, one->host);
    case CL_MEM_MAP_COUNT: TELL(cl_uint, one->maps);
    case CL_MEM_REFERENCE_COUNT: TELL(cl_uint, one->uses);
    case CL_MEM_CONTEXT: TELL(cl_context, one->context);
    case CL_MEM_ASSOCIATED_MEMOBJECT: TELL(cl_mem, one->whole);
    case CL_MEM_OFFSET: TELL(size_t, one->from);
    default: unknown("clGetMemObjectInfo 0x%x", what);
  }
}
static cl_int wrong(cl_command_queue queue, cl_mem one, size_t from, size_t bytes, cl_uint count, const cl_event *waits) {
  if (!IS(queue, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
  if (!IS(one, BUFFER)) return CL_INVALID_MEM_OBJECT;
  if (waits_wrong(count, waits)) return CL_INVALID_EVENT_WAIT_LIST;
  return from + bytes > one->bytes || from + bytes < from || !bytes ? CL_INVALID_VALUE : CL_SUCCESS;
}
static void do_read(Command *c) { memcpy(c->host, c->one->at + c->from, c->bytes); }
static void do_write(Command *c) { memcpy(c->one->at + c->from, c->from_host, c->bytes); }
static void do_copy(Command *c) { memmove(c->other->at + c->to, c->one->at + c->from, c->bytes); }
static void do_fill(Command *c) {
  for (size_t i = 0; i < c->bytes; i += c->pattern_b) memcpy(c->one->at + c->from + i, c->host, c->pattern_b);
  free(c->host);
}
static void do_nothing(Command *c) { (void)c; }
#define WAITS cl_uint count, const cl_event *waits, cl_event *event
cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem one, cl_bool blocking, size_t from, size_t bytes, void *host, WAITS) {
  cl_int code = wrong(queue, one, from, bytes, count, waits);
  if (code || !host) return code ? code : CL_INVALID_VALUE;
  Command c = {.act = do_read, .one = one, .from = from, .bytes = bytes, .host = (char *)host};
  put(queue, &c, CL_COMMAND_READ_BUFFER, (int)blocking, event);
  return CL_SUCCESS;
}
cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem one, cl_bool blocking, size_t from, size_t bytes, const void *host, WAITS) {
  cl_int code = wrong(queue, one, from, bytes, count, waits);
  if (code || !host) return code ? code : CL_INVALID_VALUE;
  Command c = {.act = do_write, .one = one, .from = from, .bytes = bytes, .from_host = (const char *)host};
  put(queue, &c, CL_COMMAND_WRITE_BUFFER, (int)blocking, event);
  return CL_SUCCESS;
}
cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem one, cl_mem other, size_t from, size_t to, size_t bytes, WAITS) {
  cl_int code = wrong(queue, one, from, bytes, count, waits);
  if (!code) code = wrong(queue, other, to, bytes, count, waits);
  if (code) return code;
  if (one == other && from < to + bytes && to < from + bytes) return CL_MEM_COPY_OVERLAP;
  Command c = {.act = do_copy, .one = one, .other = other, .from = from, .to = to, .bytes = bytes};
  put(queue, &c, CL_COMMAND_COPY_BUFFER, 0, event);
  return CL_SUCCESS;
}
cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem one, const void *pattern, size_t size, size_t from, size_t bytes, WAITS) {
  cl_int code = wrong(queue, one, from, bytes, count, waits);
  if (code || !pattern || !size || size > 128 || size & (size - 1) || from % size || bytes % size) return code ? code : CL_INVALID_VALUE;
  char *kept = (char *)malloc(size);
  Command c = {.act = do_fill, .one = one, .from = from, .bytes = bytes, .host = (char *)memcpy(kept, pattern, size), .pattern_b = size};
  put(queue, &c, CL_COMMAND_FILL_BUFFER, 0, event);
  return CL_SUCCESS;
}
static void show(Command *c) {
  if (c->map->flags & CL_MAP_WRITE_INVALIDATE_REGION) memset(c->map->shown, FILL, c->map->bytes);
  else memcpy(c->map->shown, c->one->at + c->map->from, c->map->bytes);
}
static void take(Command *c) {
  if (c->map->flags & (CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION)) memcpy(c->one->at + c->map->from, c->map->shown, c->map->bytes);
  if (!c->one->host) {
    memset(c->map->shown, FILL, c->map->bytes);
    free(c->map->shown);
  }
  free(c->map);
}
void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem one, cl_bool blocking, cl_map_flags flags, size_t from, size_t bytes,
                         cl_uint count, const cl_event *waits, cl_event *event, cl_int *error) {
  cl_int code = wrong(queue, one, from, bytes, count, waits);
  if (code) REFUSE(error, code);
  struct Map *map = (struct Map *)calloc(1, sizeof *map);
  map->from = from, map->bytes = bytes, map->flags = flags;
  map->shown = one->host ? one->host + from : (char *)memset(malloc(bytes), FILL, bytes);
  map->next = one->mapped, one->mapped = map, one->maps++;
  Command c = {.act = show, .one = one, .map = map};
  put(queue, &c, CL_COMMAND_MAP_BUFFER, (int)blocking, event);
  SAID(error, CL_SUCCESS);
  return map->shown;
}
cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem one, void *shown, WAITS) {
  if (!IS(queue, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
  if (!IS(one, BUFFER)) return CL_INVALID_MEM_OBJECT;
  if (waits_wrong(count, waits)) return CL_INVALID_EVENT_WAIT_LIST;
  struct Map **at = &one->mapped;
  while (*at && (*at)->shown != shown) at = &(*at)->next;
  if (!*at) return CL_INVALID_VALUE;
  Command c = {.act = take, .one = one, .map = *at};
  *at = (*at)->next, one->maps--;
  put(queue, &c, CL_COMMAND_UNMAP_MEM_OBJECT, 0, event);
  return CL_SUCCESS;
}

/* ---- programs: by their text, from the table ---- */
static void leave(const char *text, const char *options) {
  const char *folder = getenv("XDG_CACHE_HOME");
  unsigned long hash = 14695981039346656037ul;
  char path[4096];
  for (const char *c = options; *c; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211ul;
  for (const char *c = text; *c; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211ul;
  if (!folder) return;
  snprintf(path, sizeof path, "%s/%016lx.kernels", folder, hash);
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
  if (file < 0) return;
  if (write(file, options, strlen(options) + 1) < 0 || write(file, text, strlen(text)) < 0) unknown("%s: not written", path);
  close(file);
}
cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char **texts, const size_t *sizes, cl_int *error) {
  if (!IS(context, CONTEXT)) REFUSE(error, CL_INVALID_CONTEXT);
  if (!count || !texts) REFUSE(error, CL_INVALID_VALUE);
  size_t all = 0;
  for (cl_uint i = 0; i < count; i++) {
    if (!texts[i]) REFUSE(error, CL_INVALID_VALUE);
    all += sizes && sizes[i] ? sizes[i] : strlen(texts[i]);
  }
  cl_program NEW(PROGRAM, one);
  char *to = one->text = (char *)calloc(1, all + 1);
  for (cl_uint i = 0; i < count; i++) {
    size_t bytes = sizes && sizes[i] ? sizes[i] : strlen(texts[i]);
    to = (char *)memcpy(to, texts[i], bytes) + bytes;
  }
  one->context = context;
  SAID(error, CL_SUCCESS);
  return one;
}
cl_int clBuildProgram(cl_program one, cl_uint count, const cl_device_id *all, const char *options,
                      void (*notify)(cl_program, void *), void *user) {
  (void)all, (void)count;
  if (!IS(one, PROGRAM)) return CL_INVALID_PROGRAM;
  one->options = strdup(options ? options : "");
  for (int i = 0; &rheostat_library_count && i < rheostat_library_count && !one->made; i++)
    if (!strcmp(rheostat_libraries[i].text, one->text) && !strcmp(rheostat_libraries[i].options, one->options))
      one->made = rheostat_libraries + i;
  if (!one->made) {
    leave(one->text, one->options);
    unknown("kernels of another text");
  }
  one->built = 1;
  if (notify) notify(one, user);
  return CL_SUCCESS;
}
cl_int clGetProgramBuildInfo(cl_program one, cl_device_id on, cl_program_build_info what, INFO) {
  if (!IS(one, PROGRAM)) return CL_INVALID_PROGRAM;
  if (on != &device) return CL_INVALID_DEVICE;
  switch (what) {
    case CL_PROGRAM_BUILD_STATUS: TELL(cl_build_status, one->built ? CL_BUILD_SUCCESS : CL_BUILD_NONE);
    case CL_PROGRAM_BUILD_OPTIONS: TELL_TEXT(one->options ? one->options : "");
    case CL_PROGRAM_BUILD_LOG: TELL_TEXT("");
    default: unknown("clGetProgramBuildInfo 0x%x", what);
  }
}
cl_int clGetProgramInfo(cl_program one, cl_program_info what, INFO) {
  if (!IS(one, PROGRAM)) return CL_INVALID_PROGRAM;
  switch (what) {
    case CL_PROGRAM_CONTEXT: TELL(cl_context, one->context);
    case CL_PROGRAM_NUM_DEVICES: TELL(cl_uint, 1);
    case CL_PROGRAM_DEVICES: TELL(cl_device_id, &device);
    case CL_PROGRAM_SOURCE: TELL_TEXT(one->text);
    case CL_PROGRAM_NUM_KERNELS: TELL(size_t, one->made ? one->made->count : 0);
    case CL_PROGRAM_REFERENCE_COUNT: TELL(cl_uint, one->uses);
    default: unknown("clGetProgramInfo 0x%x", what);
  }
}
cl_int clUnloadPlatformCompiler(cl_platform_id one) { return one == &platform ? CL_SUCCESS : CL_INVALID_PLATFORM; }
cl_int clUnloadCompiler(void) { return CL_SUCCESS; }

/* ---- kernels ---- */
static cl_kernel kernel_of(cl_program program, const Compiled *made_as) {
  cl_kernel NEW(KERNEL, one);
  one->program = program, one->made = made_as;
  return one;
}
cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *error) {
  if (!IS(program, PROGRAM)) REFUSE(error, CL_INVALID_PROGRAM);
  if (!program->built) REFUSE(error, CL_INVALID_PROGRAM_EXECUTABLE);
  if (!name) REFUSE(error, CL_INVALID_VALUE);
  for (int i = 0; i < program->made->count; i++)
    if (!strcmp(program->made->kernels[i].name, name)) {
      SAID(error, CL_SUCCESS);
      return kernel_of(program, program->made->kernels + i);
    }
  REFUSE(error, CL_INVALID_KERNEL_NAME);
}
cl_int clCreateKernelsInProgram(cl_program program, cl_uint room, cl_kernel *to, cl_uint *count) {
  if (!IS(program, PROGRAM)) return CL_INVALID_PROGRAM;
  if (!program->built) return CL_INVALID_PROGRAM_EXECUTABLE;
  if (to && room < (cl_uint)program->made->count) return CL_INVALID_VALUE;
  for (int i = 0; to && i < program->made->count; i++) to[i] = kernel_of(program, program->made->kernels + i);
  if (count) *count = (cl_uint)program->made->count;
  return CL_SUCCESS;
}
cl_int clSetKernelArg(cl_kernel one, cl_uint index, size_t bytes, const void *value) {
  if (!IS(one, KERNEL)) return CL_INVALID_KERNEL;
  if (index >= (cl_uint)one->made->count) return CL_INVALID_ARG_INDEX;
  Argument *a = one->given + index;
  int space = one->made->spaces[index];
  if (space == LOCAL) {
    if (value) return CL_INVALID_ARG_VALUE;
    if (!bytes) return CL_INVALID_ARG_SIZE;
  } else if (space == PRIVATE) {
    if (!value) return CL_INVALID_ARG_VALUE;
    if (bytes != one->made->sizes[index]) return CL_INVALID_ARG_SIZE;
    a->value = (char *)realloc(a->value, bytes);
    memcpy(a->value, value, bytes);
  } else {
    if (bytes != sizeof(cl_mem)) return CL_INVALID_ARG_SIZE;
    cl_mem buffer = value ? *(const cl_mem *)value : 0;
    if (buffer && buffer->kind != BUFFER) return CL_INVALID_MEM_OBJECT;
    a->buffer = buffer;
  }
  a->bytes = bytes;
  a->is_set = 1;
  return CL_SUCCESS;
}
cl_int clGetKernelInfo(cl_kernel one, cl_kernel_info what, INFO) {
  if (!IS(one, KERNEL)) return CL_INVALID_KERNEL;
  switch (what) {
    case CL_KERNEL_FUNCTION_NAME: TELL_TEXT(one->made->name);
    case CL_KERNEL_NUM_ARGS: TELL(cl_uint, one->made->count);
    case CL_KERNEL_REFERENCE_COUNT: TELL(cl_uint, one->uses);
    case CL_KERNEL_CONTEXT: TELL(cl_context, one->program->context);
    case CL_KERNEL_PROGRAM: TELL(cl_program, one->program);
    default: unknown("clGetKernelInfo 0x%x", what);
  }
}
cl_int clGetKernelWorkGroupInfo(cl_kernel one, cl_device_id on, cl_kernel_work_group_info what, INFO) {
  static const size_t any[3];
  if (!IS(one, KERNEL)) return CL_INVALID_KERNEL;
  if (on && on != &device) return CL_INVALID_DEVICE;
  switch (what) {
    case CL_KERNEL_WORK_GROUP_SIZE: TELL(size_t, MOST_ITEMS);
    case CL_KERNEL_COMPILE_WORK_GROUP_SIZE: return told(one->made->group ? one->made->group : any, sizeof any, room, to, needed);
    case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE: TELL(size_t, 8);
    default: unknown("clGetKernelWorkGroupInfo 0x%x", what);
  }
}
/* Where the program leaves it open: the largest group of up to 64 that divides. */
static size_t part_of(size_t size) {
  size_t part = size < 64 ? size : 64;
  while (size % part) part--;
  return part;
}
cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset, const size_t *size,
                              const size_t *group, WAITS) {
  if (!IS(queue, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
  if (!IS(kernel, KERNEL)) return CL_INVALID_KERNEL;
  if (dimensions < 1 || dimensions > 3) return CL_INVALID_WORK_DIMENSION;
  if (waits_wrong(count, waits)) return CL_INVALID_EVENT_WAIT_LIST;
  if (!size) return CL_INVALID_GLOBAL_WORK_SIZE;
  Command c = {.act = run_kernel, .kernel = kernel, .dimensions = dimensions};
  size_t items = 1;
  for (cl_uint d = 0; d < 3; d++) {
    c.offset[d] = offset && d < dimensions ? offset[d] : 0;
    c.size[d] = d < dimensions ? size[d] : 1;
    if (!c.size[d]) return CL_INVALID_GLOBAL_WORK_SIZE;
    c.group[d] = d >= dimensions ? 1 : group ? group[d] : kernel->made->group ? kernel->made->group[d] : d ? 1 : part_of(size[d]);
    if (!c.group[d] || c.size[d] % c.group[d]) return CL_INVALID_WORK_GROUP_SIZE;
    if (kernel->made->group && c.group[d] != kernel->made->group[d]) return CL_INVALID_WORK_GROUP_SIZE;
    if (c.group[d] > MOST_ITEMS) return CL_INVALID_WORK_ITEM_SIZE;
    items *= c.group[d];
  }
  if (items > MOST_ITEMS) return CL_INVALID_WORK_GROUP_SIZE;
  for (int i = 0; i < kernel->made->count; i++) {
    if (!kernel->given[i].is_set) return CL_INVALID_KERNEL_ARGS;
    c.given[i] = kernel->given[i];
    if (c.given[i].buffer && c.given[i].buffer->kind != BUFFER) return CL_INVALID_MEM_OBJECT;
    if (kernel->made->spaces[i] == PRIVATE) c.given[i].value = (char *)memcpy(malloc(c.given[i].bytes), c.given[i].value, c.given[i].bytes);
  }
  put(queue, &c, CL_COMMAND_NDRANGE_KERNEL, 0, event);
  return CL_SUCCESS;
}
cl_int clEnqueueTask(cl_command_queue queue, cl_kernel kernel, WAITS) {
  const size_t one = 1;
  return clEnqueueNDRangeKernel(queue, kernel, 1, 0, &one, &one, count, waits, event);
}

/* ---- events ---- */
static cl_int put_nothing(cl_command_queue queue, cl_command_type type, WAITS) {
  if (!IS(queue, QUEUE)) return CL_INVALID_COMMAND_QUEUE;
  if (waits_wrong(count, waits)) return CL_INVALID_EVENT_WAIT_LIST;
  Command c = {.act = do_nothing};
  put(queue, &c, type, 0, event);
  return CL_SUCCESS;
}
cl_int clEnqueueMarkerWithWaitList(cl_command_queue queue, WAITS) { return put_nothing(queue, CL_COMMAND_MARKER, count, waits, event); }
cl_int clEnqueueBarrierWithWaitList(cl_command_queue queue, WAITS) { return put_nothing(queue, CL_COMMAND_BARRIER, count, waits, event); }
cl_int clEnqueueMarker(cl_command_queue queue, cl_event *event) { return put_nothing(queue, CL_COMMAND_MARKER, 0, 0, event); }
cl_int clEnqueueBarrier(cl_command_queue queue) { return put_nothing(queue, CL_COMMAND_BARRIER, 0, 0, 0); }
cl_int clEnqueueWaitForEvents(cl_command_queue queue, cl_uint count, const cl_event *waits) {
  return put_nothing(queue, CL_COMMAND_BARRIER, count, waits, 0);
}
cl_int clWaitForEvents(cl_uint count, const cl_event *all) {
  if (!count || !all) return CL_INVALID_VALUE;
  if (waits_wrong(count, all)) return CL_INVALID_EVENT;
  let_go();
  return CL_SUCCESS;
}
cl_int clGetEventInfo(cl_event one, cl_event_info what, INFO) {
  if (!IS(one, EVENT)) return CL_INVALID_EVENT;
  switch (what) {
    case CL_EVENT_COMMAND_QUEUE: TELL(cl_command_queue, one->queue);
    case CL_EVENT_COMMAND_TYPE: TELL(cl_command_type, one->type);
    case CL_EVENT_COMMAND_EXECUTION_STATUS: let_go(); TELL(cl_int, one->status);
    case CL_EVENT_REFERENCE_COUNT: TELL(cl_uint, one->uses);
    case CL_EVENT_CONTEXT: TELL(cl_context, one->queue->context);
    default: unknown("clGetEventInfo 0x%x", what);
  }
}
cl_int clGetEventProfilingInfo(cl_event one, cl_profiling_info what, INFO) {
  if (!IS(one, EVENT)) return CL_INVALID_EVENT;
  if (!(one->queue->how & CL_QUEUE_PROFILING_ENABLE) || one->status != CL_COMPLETE) return CL_PROFILING_INFO_NOT_AVAILABLE;
  if (what < CL_PROFILING_COMMAND_QUEUED || what > CL_PROFILING_COMMAND_END) unknown("clGetEventProfilingInfo 0x%x", what);
  TELL(cl_ulong, one->times[what - CL_PROFILING_COMMAND_QUEUED]);
}
