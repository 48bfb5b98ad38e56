/* The platform and its device answer as PoCL's do. */
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
/* Devices hold from one work-item on in a group. */
static size_t most_items(void) {
  const char *said = getenv("RHEOSTAT_GROUP");
  size_t most = said ? strtoul(said, 0, 10) : 0;
  return most && most < MOST_ITEMS ? most : MOST_ITEMS;
}
cl_int clGetDeviceInfo(cl_device_id one, cl_device_info what, INFO) {
  const size_t most[3] = {most_items(), most_items(), most_items()};
  if (one != &device) return CL_INVALID_DEVICE;
  switch (what) {
    case CL_DEVICE_TYPE: TELL(cl_device_type, CL_DEVICE_TYPE_CPU);
    case CL_DEVICE_VENDOR_ID: TELL(cl_uint, 0x8086);
    case CL_DEVICE_MAX_COMPUTE_UNITS: TELL(cl_uint, sysconf(_SC_NPROCESSORS_ONLN));
    case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS: TELL(cl_uint, 3);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES: return told(most, sizeof most, room, to, needed);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE: TELL(size_t, most_items());
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
