/* What the host has handles of, and what is told of each. */
/* What is compiled beforehand. */
typedef struct {
  const char *name;
  void (*call)(void **);
  int count, waits, locals;    /* arguments; whether it has a barrier, and variables in local memory */
  const unsigned char *spaces; /* of each argument */
  const unsigned *sizes;       /* of what is passed by value */
  const size_t *group;         /* that it needs; 0: any */
} Compiled;
typedef struct { const char *text, *options; const Compiled *kernels; int count; } Library;
extern const Library rheostat_libraries[] __attribute__((weak));
extern const int rheostat_library_count __attribute__((weak));

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
