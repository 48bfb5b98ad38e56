/* Contexts and queues. */
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
