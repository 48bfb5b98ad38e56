/* Buffers, memory of their own, filled where nobody set it; what is mapped is a copy. */
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
