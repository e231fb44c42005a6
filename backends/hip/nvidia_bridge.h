// Included before a HIP source that nvcc compiles through HIP's NVIDIA headers. Those of HIP 5 were written for CUDA 11; what CUDA 12
// and 13 removed or gave another signature is put back here under its old form, so that the headers themselves stay as AMD ships them. What
// is gone for good (texture references, launches over several devices) answers cudaErrorNotSupported.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#if CUDART_VERSION >= 12000

template <class T, int kDimensions = 1, cudaTextureReadMode kMode = cudaReadModeElementType>
struct texture {};

template <class... Any>
static inline cudaError_t cudaBindTexture(const Any&...) {
  return cudaErrorNotSupported;
}
template <class... Any>
static inline cudaError_t cudaBindTexture2D(const Any&...) {
  return cudaErrorNotSupported;
}
template <class... Any>
static inline cudaError_t cudaBindTextureToArray(const Any&...) {
  return cudaErrorNotSupported;
}
template <class... Any>
static inline cudaError_t cudaUnbindTexture(const Any&...) {
  return cudaErrorNotSupported;
}
template <class... Any>
static inline cudaError_t cudaGetTextureAlignmentOffset(const Any&...) {
  return cudaErrorNotSupported;
}

#endif

#if CUDART_VERSION >= 13000

template <class... Any>
static inline cudaError_t cudaLaunchCooperativeKernelMultiDevice(const Any&...) {
  return cudaErrorNotSupported;
}

/// The members that left cudaDeviceProp; CUDA answers these by attributes now.
struct ks_device_properties : cudaDeviceProp {
  int clockRate, computeMode, memoryClockRate, cooperativeMultiDeviceLaunch, kernelExecTimeoutEnabled;
};

static inline cudaError_t ks_get_device_properties(ks_device_properties* properties, int device) {
  const cudaError_t failed = cudaGetDeviceProperties(properties, device);
  if (failed != cudaSuccess) return failed;
  properties->cooperativeMultiDeviceLaunch = 0;
  cudaDeviceGetAttribute(&properties->clockRate, cudaDevAttrClockRate, device);
  cudaDeviceGetAttribute(&properties->computeMode, cudaDevAttrComputeMode, device);
  cudaDeviceGetAttribute(&properties->memoryClockRate, cudaDevAttrMemoryClockRate, device);
  return cudaDeviceGetAttribute(&properties->kernelExecTimeoutEnabled, cudaDevAttrKernelExecTimeout, device);
}

// Locations were device numbers, with -1 for the host.
static inline cudaMemLocation ks_location(int device) {
  cudaMemLocation location = {};
  location.type = device < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  location.id = device < 0 ? 0 : device;
  return location;
}
static inline cudaError_t cudaMemAdvise(const void* at, size_t bytes, cudaMemoryAdvise advice, int device) {
  return cudaMemAdvise(at, bytes, advice, ks_location(device));
}
static inline cudaError_t cudaMemPrefetchAsync(const void* at, size_t bytes, int device, cudaStream_t stream) {
  return cudaMemPrefetchAsync(at, bytes, ks_location(device), 0u, stream);
}
// Edges of graphs carried no data.
static inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                                   size_t count) {
  return cudaGraphAddDependencies(graph, from, to, nullptr, count);
}
static inline cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                                      size_t count) {
  return cudaGraphRemoveDependencies(graph, from, to, nullptr, count);
}
static inline cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* count) {
  return cudaGraphGetEdges(graph, from, to, nullptr, count);
}
static inline cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* others, size_t* count) {
  return cudaGraphNodeGetDependencies(node, others, nullptr, count);
}
static inline cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* others, size_t* count) {
  return cudaGraphNodeGetDependentNodes(node, others, nullptr, count);
}
static inline cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* nodes, size_t count,
                                                              unsigned int flags) {
  return cudaStreamUpdateCaptureDependencies(stream, nodes, nullptr, count, flags);
}
static inline cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                                      cudaGraph_t* graph, const cudaGraphNode_t** nodes, size_t* count) {
  return cudaStreamGetCaptureInfo(stream, status, id, graph, nodes, nullptr, count);
}
static inline CUresult cuCtxCreate_v4(CUcontext* context, unsigned int flags, CUdevice device) {
  return cuCtxCreate_v4(context, nullptr, flags, device);
}

// A launch over several devices is gone: asked for it, CUDA answers that the attribute is not valid.
#define cudaDevAttrCooperativeMultiDeviceLaunch static_cast<cudaDeviceAttr>(96)
#define cudaDeviceProp ks_device_properties
#define cudaGetDeviceProperties ks_get_device_properties

#endif
