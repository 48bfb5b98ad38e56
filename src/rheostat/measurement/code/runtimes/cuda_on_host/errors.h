/* What the runtime's functions return: NVIDIA's numbers and words. */
#pragma once
#define CUDA_ERRORS(error)                                                                        \
  error(cudaSuccess, 0, "no error")                                                               \
  error(cudaErrorInvalidValue, 1, "invalid argument")                                             \
  error(cudaErrorMemoryAllocation, 2, "out of memory")                                            \
  error(cudaErrorInitializationError, 3, "initialization error")                                  \
  error(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")                       \
  error(cudaErrorInvalidPitchValue, 12, "invalid pitch argument")                                 \
  error(cudaErrorInvalidSymbol, 13, "invalid device symbol")                                      \
  error(cudaErrorInvalidHostPointer, 16, "invalid host pointer")                                  \
  error(cudaErrorInvalidDevicePointer, 17, "invalid device pointer")                              \
  error(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")                 \
  error(cudaErrorInsufficientDriver, 35, "CUDA driver version is insufficient for CUDA runtime version") \
  error(cudaErrorMissingConfiguration, 52, "__global__ function call is not configured")          \
  error(cudaErrorInvalidDeviceFunction, 98, "invalid device function")                            \
  error(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                             \
  error(cudaErrorInvalidDevice, 101, "invalid device ordinal")                                    \
  error(cudaErrorNoKernelImageForDevice, 209, "no kernel image is available for execution on the device") \
  error(cudaErrorPeerAccessUnsupported, 217, "peer access is not supported between these two devices") \
  error(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                           \
  error(cudaErrorSymbolNotFound, 500, "named symbol not found")                                   \
  error(cudaErrorNotReady, 600, "device not ready")                                               \
  error(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered")                 \
  error(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch")            \
  error(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated")                   \
  error(cudaErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled")                 \
  error(cudaErrorPeerAccessNotEnabled, 705, "peer access has not been enabled")                   \
  error(cudaErrorHostMemoryAlreadyRegistered, 712, "part or all of the requested memory range is already mapped") \
  error(cudaErrorHostMemoryNotRegistered, 713, "pointer does not correspond to a registered memory region") \
  error(cudaErrorMisalignedAddress, 716, "misaligned address")                                    \
  error(cudaErrorLaunchFailure, 719, "unspecified launch failure")                                \
  error(cudaErrorNotPermitted, 800, "operation not permitted")                                    \
  error(cudaErrorNotSupported, 801, "operation not supported")                                    \
  error(cudaErrorUnknown, 999, "unknown error")
#define CUDA_NUMBER(name, number, words) name = number,
enum cudaError { CUDA_ERRORS(CUDA_NUMBER) };
#undef CUDA_NUMBER
typedef cudaError cudaError_t;
