/* Memory of the host that the device sees, rows of a pitch, memory in the order of a stream. */
cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned) {
  if (!p || !bytes) return cuda_on_host::failed(cudaErrorInvalidValue);
  auto &m = cuda_on_host::memory();
  m.registered.insert(static_cast<char *>(p));
  return cuda_on_host::share_with_device(p, bytes), cudaSuccess;
}
cudaError_t cudaHostUnregister(void *p) {
  cuda_on_host::finish();
  auto &m = cuda_on_host::memory();
  if (!m.registered.erase(static_cast<char *>(p))) return cuda_on_host::failed(cudaErrorHostMemoryNotRegistered);
  return m.shared_with_host.erase(static_cast<char *>(p)), cudaSuccess;
}
cudaError_t cudaFreeAsync(void *p, cudaStream_t s) {
  cuda_on_host::put({nullptr, {}, {}, 0, cuda_on_host::body_of([=]() {
    if (p && !cuda_on_host::memory().give_back(static_cast<char *>(p))) cuda_on_host::failed(cudaErrorInvalidValue);
  }), s});
  return cudaSuccess;
}
