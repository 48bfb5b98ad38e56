/* What the runtime answers. */
#define CUDA_CASE(name, number, words) case name: return {#name, words};
static std::pair<const char *, const char *> cuda_error(cudaError_t e) {
  switch (e) { CUDA_ERRORS(CUDA_CASE) }
  return {"unrecognized error code", "unrecognized error code"};
}
const char *cudaGetErrorName(cudaError_t e) { return cuda_error(e).first; }
const char *cudaGetErrorString(cudaError_t e) { return cuda_error(e).second; }
cudaError_t cudaGetLastError() { return std::exchange(cuda_on_host::last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return cuda_on_host::last_error; }
cudaError_t cudaDeviceSynchronize() { cuda_on_host::finish(); return cudaSuccess; }
cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
cudaError_t cudaStreamSynchronize(cudaStream_t s) { cuda_on_host::finish_before(s); return cudaSuccess; }
cudaError_t cudaDeviceReset() { return cudaDeviceSynchronize(); }
cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
cudaError_t cudaFree(void *p) {
  cuda_on_host::finish();
  if (!p) return cudaSuccess;
  auto &m = cuda_on_host::memory();
  if (m.registered.count(static_cast<char *>(p))) return cuda_on_host::failed(cudaErrorInvalidValue);
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
static cudaError_t copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows,
                             cudaMemcpyKind kind, bool later, cudaStream_t s) {
  if (width > to_pitch || width > from_pitch) return cuda_on_host::failed(cudaErrorInvalidPitchValue);
  for (size_t r = 0; r < rows; r++)
    cuda_on_host::copy((char *)to + r * to_pitch, (const char *)from + r * from_pitch, width, kind, later, s);
  return cudaSuccess;
}
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows, cudaMemcpyKind kind) {
  return copy_rows(to, to_pitch, from, from_pitch, width, rows, kind, false, nullptr);
}
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows, cudaMemcpyKind kind, cudaStream_t s) {
  return copy_rows(to, to_pitch, from, from_pitch, width, rows, kind, true, s);
}
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t s) {
  auto &m = cuda_on_host::memory();
  if (!cuda_on_host::Memory::within(m.given, p, bytes) && !cuda_on_host::Memory::within(m.shared_with_host, p, bytes))
    cuda_on_host::stop("cudaMemset%s: %ld bytes are not in device memory", "", long(bytes));
  cuda_on_host::put({nullptr, {}, {}, 0, cuda_on_host::body_of([=]() { std::memset(p, value, bytes); }), s});
  return cudaSuccess;
}
cudaError_t cudaMemset(void *p, int value, size_t bytes) { return cudaMemsetAsync(p, value, bytes); }
cudaError_t cudaMemset2D(void *p, size_t pitch, int value, size_t width, size_t rows) {
  for (size_t r = 0; r < rows; r++) cudaMemset((char *)p + r * pitch, value, width);
  return cudaSuccess;
}
cudaError_t cudaMemAdvise(const void *, size_t, cudaMemoryAdvise, int) { return cudaSuccess; }
cudaError_t cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
  *total = cuda_on_host::ARENA_B;
  *free = *total - cuda_on_host::memory().used;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int *count) { *count = 1; return cudaSuccess; }
cudaError_t cudaGetDevice(int *device) { *device = 0; return cudaSuccess; }
cudaError_t cudaSetDevice(int device) { return device ? cuda_on_host::failed(cudaErrorInvalidDevice) : cudaSuccess; }
cudaError_t cudaChooseDevice(int *device, const cudaDeviceProp *) { *device = 0; return cudaSuccess; }
cudaError_t cudaDeviceCanAccessPeer(int *can, int, int) { *can = 0; return cudaSuccess; }
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int *version) { *version = CUDART_VERSION; return cudaSuccess; }
cudaError_t cudaRuntimeGetVersion(int *version) { return cudaDriverGetVersion(version); }
cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }
/* With each order above zero the device is another one: what is right on one may hang on what it is. */
namespace cuda_on_host {
int multiprocessors() { return DEVICE < 1 ? 8 : DEVICE == 1 ? 1 : DEVICE == 2 ? 420 : 47; }
int generation() { return DEVICE < 1 ? 8 : DEVICE == 1 ? 7 : DEVICE == 2 ? 9 : 12; }
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int) {
  const int other = cuda_on_host::DEVICE;
  *p = cudaDeviceProp{};
  std::strcpy(p->name, "CPU");
  p->totalGlobalMem = cuda_on_host::ARENA_B;
  p->sharedMemPerBlock = 48 << 10, p->totalConstMem = 64 << 10, p->sharedMemPerMultiprocessor = 100 << 10;
  p->memPitch = INT_MAX, p->textureAlignment = 512;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536, p->warpSize = 32, p->maxThreadsPerBlock = 1024;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024, p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = INT_MAX, p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->major = cuda_on_host::generation(), p->multiProcessorCount = cuda_on_host::multiprocessors();
  p->maxThreadsPerMultiProcessor = other % 2 ? 1536 : 2048, p->maxBlocksPerMultiProcessor = 16 + other % 2 * 8;
  p->concurrentKernels = p->unifiedAddressing = p->managedMemory = p->canMapHostMemory = p->deviceOverlap = 1;
  p->concurrentManagedAccess = p->asyncEngineCount = 1, p->cooperativeLaunch = 1;
  p->clockRate = 1410000 + 1000 * other, p->memoryClockRate = 1215000 + 1000 * other;
  p->memoryBusWidth = 256 << other % 3, p->l2CacheSize = (4 + other) << 20;
  p->pciBusID = other + 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int device) {
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, device);
  switch (which) {
    case cudaDevAttrMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; break;
    case cudaDevAttrMaxBlockDimX: *value = p.maxThreadsDim[0]; break;
    case cudaDevAttrMaxBlockDimY: *value = p.maxThreadsDim[1]; break;
    case cudaDevAttrMaxBlockDimZ: *value = p.maxThreadsDim[2]; break;
    case cudaDevAttrMaxGridDimX: *value = p.maxGridSize[0]; break;
    case cudaDevAttrMaxGridDimY: *value = p.maxGridSize[1]; break;
    case cudaDevAttrMaxGridDimZ: *value = p.maxGridSize[2]; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = int(p.sharedMemPerBlock); break;
    case cudaDevAttrTotalConstantMemory: *value = int(p.totalConstMem); break;
    case cudaDevAttrMaxRegistersPerBlock: *value = p.regsPerBlock; break;
    case cudaDevAttrWarpSize: *value = p.warpSize; break;
    case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = p.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
  }
  return cudaSuccess;
}
cudaError_t cudaOccupancyBlocks(int *blocks, int threads) {
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, 0);
  if (threads < 1 || threads > p.maxThreadsPerBlock) return cuda_on_host::failed(cudaErrorInvalidValue);
  *blocks = std::min(p.maxThreadsPerMultiProcessor / ((threads + 31) / 32 * 32), p.maxBlocksPerMultiProcessor);
  return cudaSuccess;
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags) {
  *s = cudaStream_t(cuda_on_host::new_stream(flags != cudaStreamNonBlocking));
  return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t *s) { return cudaStreamCreateWithFlags(s, cudaStreamDefault); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned flags, int) { return cudaStreamCreateWithFlags(s, flags); }
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0, *greatest = -5;
  return cudaSuccess;
}
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
