/* Events, which tell when a command was done. */
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
