/* Programs, by their text from the table of what is compiled beforehand. */
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
    unknown("kernels of other texts or options than with the first inputs (pass numbers as arguments): %s", one->options);
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
