/* Kernels: their arguments, and their launch. */
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
    case CL_KERNEL_WORK_GROUP_SIZE: TELL(size_t, most_items());
    case CL_KERNEL_COMPILE_WORK_GROUP_SIZE: return told(one->made->group ? one->made->group : any, sizeof any, room, to, needed);
    case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE: TELL(size_t, 8);
    default: unknown("clGetKernelWorkGroupInfo 0x%x", what);
  }
}
/* Where the program leaves it open: the largest group of up to 64 that divides. */
static size_t part_of(size_t size) {
  size_t most = most_items() < 64 ? most_items() : 64, part = size < most ? size : most;
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
    if (c.group[d] > most_items()) return CL_INVALID_WORK_ITEM_SIZE;
    items *= c.group[d];
  }
  if (items > most_items()) return CL_INVALID_WORK_GROUP_SIZE;
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
