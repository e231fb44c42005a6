// The part of CUDA's driver interface that is used here, declared by ourselves and found at run time: the program builds, and starts, on
// machines that have never seen CUDA. Shared by the verifier and the runner, so it leans on nothing but the system.
//
// Names and layouts follow NVIDIA's "CUDA Driver API" reference; all are part of its stable binary interface since CUDA 11.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>

namespace kernsmith::harness::cuda {

using status = int;  ///< CUresult
using device_address = std::uint64_t;
using memory_handle = std::uint64_t;
using context_handle = void*;
using module_handle = void*;
using function_handle = void*;
using stream_handle = void*;
using event_handle = void*;
using graph_handle = void*;
using ready_graph_handle = void*;  ///< CUgraphExec

inline constexpr status success = 0, error_invalid_value = 1, error_out_of_memory = 2, error_no_device = 100, error_no_binary_for_gpu = 209,
                        error_ecc_uncorrectable = 214, error_unsupported_ptx_version = 222, error_illegal_address = 700,
                        error_launch_out_of_resources = 701, error_launch_timeout = 702, error_devices_unavailable = 46,
                        error_system_not_ready = 802;

struct memory_location {
  int type = 1;  ///< a device
  int id = 0;
};
struct allocation_properties {
  int type = 1;          ///< pinned: physical memory of its own
  int handle_types = 1;  ///< can become a POSIX file descriptor
  memory_location location;
  void* win32 = nullptr;
  unsigned char flags[8] = {};
};
struct access_description {
  memory_location location;
  int flags = 3;  ///< readable and writable
};
inline constexpr int handle_is_descriptor = 1;
/// What other threads do does not concern a capture; what this one does may spoil it.
inline constexpr int capture_of_this_thread = 1;

enum class attribute : int {
  shared_bytes_per_block = 8,
  warp_size = 10,
  clock_khz = 13,
  multiprocessors = 16,
  memory_clock_khz = 36,
  memory_bus_bits = 37,
  l2_bytes = 38,
  threads_per_multiprocessor = 39,
  capability_major = 75,
  capability_minor = 76,
  shared_bytes_per_multiprocessor = 81,
  registers_per_multiprocessor = 82,
  shared_bytes_per_block_optin = 97,
  virtual_memory = 102,
  descriptor_handles = 103,
};

/// name in the table, symbol in the library, parameters. All return `status`.
#define KERNSMITH_CUDA_FUNCTIONS(X)                                                                           \
  X(init, cuInit, (unsigned))                                                                                 \
  X(driver_version, cuDriverGetVersion, (int*))                                                               \
  X(error_name, cuGetErrorName, (status, const char**))                                                       \
  X(device_count, cuDeviceGetCount, (int*))                                                                   \
  X(device_get, cuDeviceGet, (int*, int))                                                                     \
  X(device_name, cuDeviceGetName, (char*, int, int))                                                          \
  X(device_uuid, cuDeviceGetUuid_v2, (unsigned char*, int))                                                   \
  X(device_attribute, cuDeviceGetAttribute, (int*, int, int))                                                 \
  X(primary_retain, cuDevicePrimaryCtxRetain, (context_handle*, int))                                         \
  X(context_set, cuCtxSetCurrent, (context_handle))                                                           \
  X(context_synchronize, cuCtxSynchronize, ())                                                                \
  X(reset_persisting_l2, cuCtxResetPersistingL2Cache, ())                                                     \
  X(memory_info, cuMemGetInfo_v2, (std::size_t*, std::size_t*))                                               \
  X(memory_allocate, cuMemAlloc_v2, (device_address*, std::size_t))                                           \
  X(memory_free, cuMemFree_v2, (device_address))                                                              \
  X(host_allocate, cuMemAllocHost_v2, (void**, std::size_t))                                                  \
  X(host_free, cuMemFreeHost, (void*))                                                                        \
  X(copy_to_device, cuMemcpyHtoD_v2, (device_address, const void*, std::size_t))                              \
  X(copy_to_host, cuMemcpyDtoH_v2, (void*, device_address, std::size_t))                                      \
  X(copy_to_device_async, cuMemcpyHtoDAsync_v2, (device_address, const void*, std::size_t, stream_handle))    \
  X(copy_to_host_async, cuMemcpyDtoHAsync_v2, (void*, device_address, std::size_t, stream_handle))            \
  X(copy_on_device_async, cuMemcpyDtoDAsync_v2, (device_address, device_address, std::size_t, stream_handle)) \
  X(set_bytes_async, cuMemsetD8Async, (device_address, unsigned char, std::size_t, stream_handle))            \
  X(granularity, cuMemGetAllocationGranularity, (std::size_t*, const allocation_properties*, int))            \
  X(reserve, cuMemAddressReserve, (device_address*, std::size_t, std::size_t, device_address, std::uint64_t)) \
  X(unreserve, cuMemAddressFree, (device_address, std::size_t))                                               \
  X(create, cuMemCreate, (memory_handle*, std::size_t, const allocation_properties*, std::uint64_t))          \
  X(release, cuMemRelease, (memory_handle))                                                                   \
  X(map, cuMemMap, (device_address, std::size_t, std::size_t, memory_handle, std::uint64_t))                  \
  X(unmap, cuMemUnmap, (device_address, std::size_t))                                                         \
  X(set_access, cuMemSetAccess, (device_address, std::size_t, const access_description*, std::size_t))        \
  X(export_handle, cuMemExportToShareableHandle, (void*, memory_handle, int, std::uint64_t))                  \
  X(import_handle, cuMemImportFromShareableHandle, (memory_handle*, void*, int))                              \
  X(stream_create, cuStreamCreate, (stream_handle*, unsigned))                                                \
  X(stream_synchronize, cuStreamSynchronize, (stream_handle))                                                 \
  X(event_create, cuEventCreate, (event_handle*, unsigned))                                                   \
  X(event_record, cuEventRecord, (event_handle, stream_handle))                                               \
  X(event_elapsed_ms, cuEventElapsedTime, (float*, event_handle, event_handle))                               \
  X(capture_begin, cuStreamBeginCapture_v2, (stream_handle, int))                                             \
  X(capture_end, cuStreamEndCapture, (stream_handle, graph_handle*))                                          \
  X(graph_instantiate, cuGraphInstantiateWithFlags, (ready_graph_handle*, graph_handle, unsigned long long))  \
  X(graph_upload, cuGraphUpload, (ready_graph_handle, stream_handle))                                         \
  X(graph_launch, cuGraphLaunch, (ready_graph_handle, stream_handle))                                         \
  X(graph_destroy, cuGraphDestroy, (graph_handle))                                                            \
  X(ready_graph_destroy, cuGraphExecDestroy, (ready_graph_handle))                                            \
  X(module_load, cuModuleLoadData, (module_handle*, const void*))                                             \
  X(module_function, cuModuleGetFunction, (function_handle*, module_handle, const char*))                     \
  X(launch, cuLaunchKernel,                                                                                   \
    (function_handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, stream_handle, void**, void**))

struct driver {
#define KERNSMITH_CUDA_MEMBER(name, symbol, parameters) status(*name) parameters = nullptr;
  KERNSMITH_CUDA_FUNCTIONS(KERNSMITH_CUDA_MEMBER)
#undef KERNSMITH_CUDA_MEMBER

  /// The first thing that is missing, or null when the table is whole. The library stays loaded.
  [[nodiscard]] const char* load(const char* library) {
    void* const handle = ::dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    if (handle == nullptr) return ::dlerror();
    const char* missing = nullptr;
#define KERNSMITH_CUDA_FIND(name, symbol, parameters)                      \
  name = reinterpret_cast<status(*) parameters>(::dlsym(handle, #symbol)); \
  if (name == nullptr && missing == nullptr) missing = "the driver is too old: it lacks " #symbol;
    KERNSMITH_CUDA_FUNCTIONS(KERNSMITH_CUDA_FIND)
#undef KERNSMITH_CUDA_FIND
    return missing;
  }
  [[nodiscard]] const char* name_of(status code) const {
    const char* text = nullptr;
    return error_name(code, &text) == success && text != nullptr ? text : "an unknown error";
  }
};

/// Unmapped device addresses on each side of a buffer. Costs address space only.
inline constexpr std::size_t device_guard_bytes = std::size_t{64} << 20;

/// Maps an allocation of `bytes` (a multiple of the granularity) between unmapped addresses. `start` is where it begins.
[[nodiscard]] inline status map_between_guards(const driver& d, memory_handle memory, std::size_t bytes, int device,
                                               device_address& start) {
  device_address reserved = 0;
  if (const status s = d.reserve(&reserved, bytes + 2 * device_guard_bytes, 0, 0, 0); s != success) return s;
  start = reserved + device_guard_bytes;
  status s = d.map(start, bytes, 0, memory, 0);
  if (s == success) {
    access_description access;
    access.location.id = device;
    s = d.set_access(start, bytes, &access, 1);
    if (s != success) (void)d.unmap(start, bytes);
  }
  if (s != success) (void)d.unreserve(reserved, bytes + 2 * device_guard_bytes);
  return s;
}
inline void unmap_with_guards(const driver& d, device_address start, std::size_t bytes) {
  (void)d.unmap(start, bytes);
  (void)d.unreserve(start - device_guard_bytes, bytes + 2 * device_guard_bytes);
}

}  // namespace kernsmith::harness::cuda
