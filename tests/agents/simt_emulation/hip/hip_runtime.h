// A stand-in for the HIP runtime as AMD's compiler sees it, on top of the one for CUDA: waves of EMULATED_WARP threads, shuffles without
// masks, no clusters.
#pragma once

#include <utility>

#include "../cuda_runtime.h"

#define __AMDGCN_WAVEFRONT_SIZE EMULATED_WARP

using hipStream_t = cudaStream_t;
using hipError_t = cudaError_t;
constexpr cudaError_t hipSuccess = cudaSuccess, hipErrorOutOfMemory = cudaErrorMemoryAllocation,
                      hipErrorInvalidConfiguration = cudaErrorInvalidConfiguration;
enum hipFuncAttribute { hipFuncAttributeMaxDynamicSharedMemorySize };
enum hipDeviceAttribute_t { hipDeviceAttributeMultiprocessorCount };

static inline hipError_t hipGetDevice(int* device) { return cudaGetDevice(device); }
static inline hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t, int device) {
  return cudaDeviceGetAttribute(value, cudaDevAttrMultiProcessorCount, device);
}
static inline hipError_t hipMalloc(void** pointer, size_t bytes) { return cudaMalloc(pointer, bytes); }
static inline hipError_t hipFree(void* pointer) { return cudaFree(pointer); }
static inline hipError_t hipMemsetAsync(void* pointer, int value, size_t bytes, hipStream_t) {
  return std::memset(pointer, value, bytes), hipSuccess;
}
static inline hipError_t hipFuncSetAttribute(const void*, hipFuncAttribute, int) { return hipSuccess; }

namespace emulation {
constexpr size_t lds_bytes = 64 << 10;  // of a work-group, static parts left aside
static hipError_t last_error = hipSuccess;
}  // namespace emulation

static inline hipError_t hipGetLastError() { return std::exchange(emulation::last_error, hipSuccess); }
template <class... Parameters, class... Arguments>
static void hipLaunchKernelGGL(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes, hipStream_t, Arguments... arguments) {
  emulation::last_error =
      shared_bytes > emulation::lds_bytes ? hipErrorInvalidConfiguration : emulation::run(grid, block, shared_bytes, 1, [=] { kernel(arguments...); });
}

template <class T>
static T __shfl_xor(T value, int mask) { return __shfl_xor_sync(0, value, mask); }
template <class T>
static T __shfl_up(T value, unsigned distance) { return __shfl_up_sync(0, value, distance); }
template <class T>
static T __builtin_nontemporal_load(const T* from) { return *from; }
template <class T>
static void __builtin_nontemporal_store(T value, T* to) { *to = value; }
