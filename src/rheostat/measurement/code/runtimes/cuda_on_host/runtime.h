/* The runtime's functions and types. */
#pragma once
typedef struct CUstream_st *cudaStream_t;
struct cuda_event { long recorded; };
typedef cuda_event *cudaEvent_t;
struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem, sharedMemPerBlock, totalConstMem, sharedMemPerMultiprocessor, memPitch, textureAlignment;
  int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
  int major, minor, multiProcessorCount, maxThreadsPerMultiProcessor, maxBlocksPerMultiProcessor, regsPerMultiprocessor;
  int concurrentKernels, unifiedAddressing, managedMemory, canMapHostMemory, asyncEngineCount, deviceOverlap, integrated;
  int concurrentManagedAccess, pageableMemoryAccess, cooperativeLaunch, kernelExecTimeoutEnabled, computeMode, ECCEnabled;
  int clockRate, memoryClockRate, memoryBusWidth, l2CacheSize, pciBusID, pciDeviceID, pciDomainID;
};
const char *cudaGetErrorString(cudaError_t e);
const char *cudaGetErrorName(cudaError_t e);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaThreadSynchronize();
cudaError_t cudaStreamSynchronize(cudaStream_t s);
cudaError_t cudaDeviceReset();
cudaError_t cudaThreadExit();
template <class T>
cudaError_t cudaMalloc(T **p, size_t bytes) {
  *p = static_cast<T *>(cuda_on_host::taken(bytes));
  return *p ? cudaSuccess : cuda_on_host::failed(cudaErrorMemoryAllocation);
}
cudaError_t cudaFree(void *p);
template <class T>
cudaError_t cudaMallocManaged(T **p, size_t bytes, unsigned = 1) {
  *p = static_cast<T *>(cuda_on_host::taken_of_host(bytes));
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMallocHost(T **p, size_t bytes, unsigned = 0) { return cudaMallocManaged(p, bytes); }
template <class T>
cudaError_t cudaHostAlloc(T **p, size_t bytes, unsigned = 0) { return cudaMallocManaged(p, bytes); }
cudaError_t cudaFreeHost(void *p);
template <class T>
cudaError_t cudaMallocPitch(T **p, size_t *pitch, size_t width, size_t rows) {
  *pitch = (width + 511) / 512 * 512;
  return cudaMalloc(p, *pitch * rows);
}
template <class T>
cudaError_t cudaMallocAsync(T **p, size_t bytes, cudaStream_t) { return cudaMalloc(p, bytes); }
cudaError_t cudaFreeAsync(void *p, cudaStream_t s);
cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned);
cudaError_t cudaHostUnregister(void *p);
template <class T>
cudaError_t cudaHostGetDevicePointer(T **p, void *of_host, unsigned) {
  *p = static_cast<T *>(of_host);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaGetSymbolAddress(void **p, T &symbol) {
  *p = (void *)&symbol;
  cuda_on_host::share_with_device(&symbol, sizeof(T));
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t s = nullptr);
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows, cudaMemcpyKind kind, cudaStream_t s = nullptr);
template <class T>
cudaError_t cudaGetSymbolSize(size_t *bytes, T &) { return *bytes = sizeof(T), cudaSuccess; }
template <class T>
cudaError_t cudaMemcpyToSymbol(T &symbol, const void *from, size_t bytes, size_t offset = 0, cudaMemcpyKind = cudaMemcpyHostToDevice) {
  cuda_on_host::to_symbol((void *)&symbol, sizeof(T), from, bytes, offset);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes, size_t offset = 0, cudaMemcpyKind = cudaMemcpyDeviceToHost) {
  cuda_on_host::from_symbol(to, (const void *)&symbol, sizeof(T), bytes, offset);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t s = nullptr);
cudaError_t cudaMemset(void *p, int value, size_t bytes);
cudaError_t cudaMemset2D(void *p, size_t pitch, int value, size_t width, size_t rows);
cudaError_t cudaMemAdvise(const void *, size_t, cudaMemoryAdvise, int);
cudaError_t cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t = nullptr);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaChooseDevice(int *device, const cudaDeviceProp *);
cudaError_t cudaDeviceCanAccessPeer(int *can, int, int);
cudaError_t cudaSetDeviceFlags(unsigned);
cudaError_t cudaDeviceSetLimit(cudaLimit, size_t);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaProfilerStart();
cudaError_t cudaProfilerStop();
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr which, int device);
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache);
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig);
template <class F> cudaError_t cudaFuncSetCacheConfig(F, cudaFuncCache) { return cudaSuccess; }
template <class F> cudaError_t cudaFuncSetSharedMemConfig(F, cudaSharedMemConfig) { return cudaSuccess; }
template <class F> cudaError_t cudaFuncSetAttribute(F, cudaFuncAttribute which, int value) {
  return which == cudaFuncAttributeMaxDynamicSharedMemorySize ? cuda_on_host::most_shared(value) : cudaSuccess;
}
cudaError_t cudaOccupancyBlocks(int *blocks, int threads);
template <class F>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, F, int threads, size_t) {
  return cudaOccupancyBlocks(blocks, threads);
}
template <class F>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int *blocks, int *threads, F, size_t = 0, int most = 0) {
  *threads = most && most < 1024 ? most : 1024;
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, 0);
  cudaOccupancyBlocks(blocks, *threads);
  return *blocks *= p.multiProcessorCount, cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags);
cudaError_t cudaStreamCreate(cudaStream_t *s);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned flags, int);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
cudaError_t cudaStreamDestroy(cudaStream_t);
cudaError_t cudaStreamQuery(cudaStream_t s);
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned = 0);
cudaError_t cudaEventCreate(cudaEvent_t *e);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned);
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t e);
cudaError_t cudaEventQuery(cudaEvent_t e);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to);
cudaError_t cudaEventDestroy(cudaEvent_t e);
