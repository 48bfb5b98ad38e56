/* Commands, done at once or late. */
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
