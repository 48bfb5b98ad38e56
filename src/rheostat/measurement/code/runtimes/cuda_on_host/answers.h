/* What the runtime answers. */
const char *cudaGetErrorString(cudaError_t e) {
  switch (e) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    default: return "unknown error";
  }
}
const char *cudaGetErrorName(cudaError_t e) { return cudaGetErrorString(e); }
cudaError_t cudaGetLastError() { return std::exchange(cuda_on_host::last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return cuda_on_host::last_error; }
cudaError_t cudaDeviceSynchronize() { cuda_on_host::finish(); return cudaSuccess; }
cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
cudaError_t cudaStreamSynchronize(cudaStream_t s) { cuda_on_host::finish_before(s); return cudaSuccess; }
cudaError_t cudaDeviceReset() { return cudaDeviceSynchronize(); }
cudaError_t cudaFree(void *p) {
  cuda_on_host::finish();
  if (!p) return cudaSuccess;
  auto &m = cuda_on_host::memory();
  if (m.shared_with_host.erase(static_cast<char *>(p))) return std::free(p), cudaSuccess;
  return m.give_back(static_cast<char *>(p)) ? cudaSuccess : cuda_on_host::failed(cudaErrorInvalidValue);
}
cudaError_t cudaFreeHost(void *p) { return cudaFree(p); }
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
  return cuda_on_host::copy(to, from, bytes, kind, false);
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t s) {
  return cuda_on_host::copy(to, from, bytes, kind, true, s);
}
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows, cudaMemcpyKind kind) {
  for (size_t r = 0; r < rows; r++)
    cuda_on_host::copy((char *)to + r * to_pitch, (const char *)from + r * from_pitch, width, kind, false);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t s) {
  auto &m = cuda_on_host::memory();
  if (!cuda_on_host::Memory::within(m.given, p, bytes) && !cuda_on_host::Memory::within(m.shared_with_host, p, bytes))
    cuda_on_host::stop("cudaMemset%s: %ld bytes are not in device memory", "", long(bytes));
  cuda_on_host::put({nullptr, {}, {}, 0, cuda_on_host::body_of([=]() { std::memset(p, value, bytes); }), s});
  return cudaSuccess;
}
cudaError_t cudaMemset(void *p, int value, size_t bytes) { return cudaMemsetAsync(p, value, bytes); }
cudaError_t cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
  *total = cuda_on_host::ARENA_B;
  *free = *total - cuda_on_host::memory().used;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int *count) { *count = 1; return cudaSuccess; }
cudaError_t cudaGetDevice(int *device) { *device = 0; return cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return device ? cuda_on_host::failed(cudaErrorInvalidDevice) : cudaSuccess; }
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
/* With each order above zero the device is another one: what is right on one may hang on what it is. */
namespace cuda_on_host {
int multiprocessors() { return DEVICE < 1 ? 8 : DEVICE == 1 ? 1 : DEVICE == 2 ? 420 : 47; }
int generation() { return DEVICE < 1 ? 8 : DEVICE == 1 ? 7 : DEVICE == 2 ? 9 : 12; }
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int) {
  *p = cudaDeviceProp{"CPU", cuda_on_host::ARENA_B, 48 << 10, 65536, 32, 1024, {1024, 1024, 64},
                      {INT_MAX, 65535, 65535}, cuda_on_host::generation(), 0, cuda_on_host::multiprocessors(),
                      cuda_on_host::DEVICE % 2 ? 1536 : 2048, 1, 1, 1};
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int device) {
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, device);
  switch (which) {
    case cudaDevAttrMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = int(p.sharedMemPerBlock); break;
    case cudaDevAttrWarpSize: *value = p.warpSize; break;
    case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = p.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
  }
  return cudaSuccess;
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags) {
  *s = cudaStream_t(cuda_on_host::new_stream(flags != cudaStreamNonBlocking));
  return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t *s) { return cudaStreamCreateWithFlags(s, cudaStreamDefault); }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }  /* its work goes on */
cudaError_t cudaStreamQuery(cudaStream_t s) {
  auto needed = cuda_on_host::needed_by(cuda_on_host::Work{nullptr, {}, {}, 0, {}, s});
  bool ready = std::find(needed.begin(), needed.end(), 1) == needed.end();
  cuda_on_host::finish(needed);
  return ready ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned) {
  cuda_on_host::put({nullptr, {}, {}, 0, cuda_on_host::body_of([]() {}), s, e->recorded});
  return cudaSuccess;
}
namespace cuda_on_host {
double now_s() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}
double &event_s(long number) { static std::map<long, double> one; return one[number]; }
}
cudaError_t cudaEventCreate(cudaEvent_t *e) { *e = new cuda_event{0}; return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned) { return cudaEventCreate(e); }
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
  long number = cuda_on_host::works + 1;
  e->recorded = cuda_on_host::put({nullptr, {}, {}, 0, cuda_on_host::body_of([number]() {
    cuda_on_host::event_s(number) = cuda_on_host::now_s();
  }), s});
  return cudaSuccess;
}
namespace cuda_on_host {
void *const no_stream = (void *)(~size_t(0) << 1);  /* waits for its event alone */
void finish_event(cudaEvent_t e) { finish_before(no_stream, e->recorded); }
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) { cuda_on_host::finish_event(e); return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t e) {
  bool ready = cuda_on_host::is_done(e->recorded);
  cuda_on_host::finish_event(e);
  return ready ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to) {
  cuda_on_host::finish_event(from), cuda_on_host::finish_event(to);
  *ms = float(1e3 * (cuda_on_host::event_s(to->recorded) - cuda_on_host::event_s(from->recorded)));
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t e) { delete e; return cudaSuccess; }
