// A CUDA driver without a device, for what machines without one can test: device memory is memory of the host, work is done when it is
// asked for, and a capture keeps a list of it. Enough for kernsmith-runner and for naming a device; kernels can't be launched.
//
// FAKE_CUDA_DEVICES=N    how many devices there are (1)
// FAKE_CUDA_FAIL="SYMBOL CODE AFTER"    that function fails with CODE from its call number AFTER on, as when a device falls off its bus
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

using status = int;
using address = std::uint64_t;
constexpr status success = 0, invalid_value = 1, no_device = 100, capture_unsupported = 900, capture_invalidated = 901;
constexpr int error_not_supported = 801;

struct recording {
  std::vector<std::function<void()>> work;
};
bool capturing = false, spoilt = false;
recording current;

/// The failure that was asked for, or success.
status failure_of(const char* symbol) {
  static std::map<std::string, long> calls;
  const long call = calls[symbol]++;
  const char* const asked = std::getenv("FAKE_CUDA_FAIL");
  char name[64] = {};
  int code = 0;
  long after = 0;
  if (asked == nullptr || std::sscanf(asked, "%63s %d %ld", name, &code, &after) < 2) return success;
  return std::strcmp(name, symbol) == 0 && call >= after ? code : success;
}

status in_order(std::function<void()> work) {
  if (capturing)
    current.work.push_back(std::move(work));
  else
    work();
  return success;
}

/// What a capture can't record spoils it.
status forbidden_in_capture() {
  if (!capturing) return success;
  spoilt = true;
  return capture_unsupported;
}

int device_count() {
  const char* const set = std::getenv("FAKE_CUDA_DEVICES");
  return set == nullptr ? 1 : std::atoi(set);
}

}  // namespace

#define FAILS_IF_ASKED \
  if (const status asked = failure_of(__func__); asked != success) return asked

extern "C" {

status cuInit(unsigned) {
  FAILS_IF_ASKED;
  return success;
}
status cuDriverGetVersion(int* version) {
  *version = 13000;
  return success;
}
status cuGetErrorName(status code, const char** name) {
  switch (code) {
    case success:
      *name = "CUDA_SUCCESS";
      break;
    case 2:
      *name = "CUDA_ERROR_OUT_OF_MEMORY";
      break;
    case 46:
      *name = "CUDA_ERROR_DEVICE_UNAVAILABLE";
      break;
    case no_device:
      *name = "CUDA_ERROR_NO_DEVICE";
      break;
    case 719:
      *name = "CUDA_ERROR_LAUNCH_FAILED";
      break;
    case capture_unsupported:
      *name = "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED";
      break;
    case capture_invalidated:
      *name = "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED";
      break;
    default:
      return invalid_value;
  }
  return success;
}
status cuDeviceGetCount(int* count) {
  FAILS_IF_ASKED;
  *count = device_count();
  return *count > 0 ? success : no_device;
}
status cuDeviceGet(int* device, int ordinal) {
  FAILS_IF_ASKED;
  *device = ordinal;
  return ordinal < device_count() ? success : no_device;
}
status cuDeviceGetName(char* name, int bytes, int) {
  std::snprintf(name, static_cast<std::size_t>(bytes), "Fake device");
  return success;
}
status cuDeviceGetUuid_v2(unsigned char* uuid, int) {
  std::memset(uuid, 0xfa, 16);
  return success;
}
status cuDeviceGetAttribute(int* value, int which, int) {
  switch (which) {
    case 10:
      *value = 32;
      break;
    case 16:
      *value = 4;
      break;
    case 38:
      *value = 1 << 20;
      break;
    case 75:
      *value = 9;
      break;
    case 76:
      *value = 9;
      break;  // sm_99a: no compiler knows it
    case 102:
    case 103:
      *value = 1;
      break;
    default:
      *value = 1;
  }
  return success;
}
status cuDevicePrimaryCtxRetain(void** context, int) {
  FAILS_IF_ASKED;
  static int only;
  *context = &only;
  return success;
}
status cuCtxSetCurrent(void*) {
  FAILS_IF_ASKED;
  return success;
}
status cuCtxSynchronize() {
  FAILS_IF_ASKED;
  return forbidden_in_capture();
}
status cuCtxResetPersistingL2Cache() {
  return success;
}
status cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *free = *total = std::size_t{1} << 30;
  return success;
}
status cuMemAlloc_v2(address* made, std::size_t bytes) {
  FAILS_IF_ASKED;
  if (const status spoils = forbidden_in_capture(); spoils != success) return spoils;
  void* const room = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *made = reinterpret_cast<address>(room);
  return room == MAP_FAILED ? 2 : success;
}
status cuMemFree_v2(address) {
  return success;
}
status cuMemAllocHost_v2(void** made, std::size_t bytes) {
  *made = std::malloc(bytes);
  return success;
}
status cuMemFreeHost(void* room) {
  std::free(room);
  return success;
}
status cuMemcpyHtoD_v2(address to, const void* from, std::size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return success;
}
status cuMemcpyDtoH_v2(void* to, address from, std::size_t bytes) {
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  return success;
}
status cuMemcpyDtoDAsync_v2(address to, address from, std::size_t bytes, void*) {
  FAILS_IF_ASKED;
  return in_order([=] { std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes); });
}
status cuMemcpyHtoDAsync_v2(address to, const void* from, std::size_t bytes, void*) {
  return in_order([=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
}
status cuMemcpyDtoHAsync_v2(void* to, address from, std::size_t bytes, void*) {
  return in_order([=] { std::memcpy(to, reinterpret_cast<void*>(from), bytes); });
}
status cuMemsetD8Async(address to, unsigned char value, std::size_t bytes, void*) {
  return in_order([=] { std::memset(reinterpret_cast<void*>(to), value, bytes); });
}
status cuMemGetAllocationGranularity(std::size_t* bytes, const void*, int) {
  *bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return success;
}
status cuMemAddressReserve(address* start, std::size_t bytes, std::size_t, address, std::uint64_t) {
  void* const room = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  *start = reinterpret_cast<address>(room);
  return room == MAP_FAILED ? 2 : success;
}
status cuMemAddressFree(address start, std::size_t bytes) {
  ::munmap(reinterpret_cast<void*>(start), bytes);
  return success;
}
// A handle is a descriptor.
status cuMemCreate(std::uint64_t* handle, std::size_t bytes, const void*, std::uint64_t) {
  const int file = ::memfd_create("fake device memory", MFD_CLOEXEC);
  *handle = static_cast<std::uint64_t>(file);
  return file >= 0 && ::ftruncate(file, static_cast<off_t>(bytes)) == 0 ? success : 2;
}
status cuMemRelease(std::uint64_t handle) {
  ::close(static_cast<int>(handle));
  return success;
}
status cuMemMap(address start, std::size_t bytes, std::size_t, std::uint64_t handle, std::uint64_t) {
  void* const mapped =
      ::mmap(reinterpret_cast<void*>(start), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, static_cast<int>(handle), 0);
  return mapped == MAP_FAILED ? 2 : success;
}
status cuMemUnmap(address start, std::size_t bytes) {
  ::mmap(reinterpret_cast<void*>(start), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return success;
}
status cuMemSetAccess(address, std::size_t, const void*, std::size_t) {
  return success;
}
status cuMemExportToShareableHandle(void* into, std::uint64_t handle, int, std::uint64_t) {
  const int file = ::dup(static_cast<int>(handle));
  std::memcpy(into, &file, sizeof file);
  return success;
}
status cuMemImportFromShareableHandle(std::uint64_t* handle, void* from, int) {
  FAILS_IF_ASKED;
  *handle = static_cast<std::uint64_t>(::dup(static_cast<int>(reinterpret_cast<std::intptr_t>(from))));
  return success;
}
status cuStreamCreate(void** stream, unsigned) {
  static int only;
  *stream = &only;
  return success;
}
status cuStreamSynchronize(void*) {
  return forbidden_in_capture();
}
status cuEventCreate(void** event, unsigned) {
  static int only;
  *event = &only;
  return success;
}
status cuEventRecord(void*, void*) {
  return success;
}
status cuEventElapsedTime(float* ms, void*, void*) {
  *ms = 1;
  return success;
}
status cuStreamBeginCapture_v2(void*, int) {
  FAILS_IF_ASKED;
  if (capturing) return invalid_value;
  capturing = true;
  spoilt = false;
  current = {};
  return success;
}
status cuStreamEndCapture(void*, void** graph) {
  capturing = false;
  *graph = nullptr;
  if (spoilt) return capture_invalidated;
  *graph = new recording(std::move(current));
  return success;
}
status cuGraphInstantiateWithFlags(void** ready, void* graph, unsigned long long) {
  *ready = new recording(*static_cast<recording*>(graph));
  return success;
}
status cuGraphUpload(void*, void*) {
  return success;
}
status cuGraphLaunch(void* ready, void*) {
  FAILS_IF_ASKED;
  for (const auto& work : static_cast<recording*>(ready)->work) work();
  return success;
}
status cuGraphDestroy(void* graph) {
  delete static_cast<recording*>(graph);
  return success;
}
status cuGraphExecDestroy(void* ready) {
  return cuGraphDestroy(ready);
}
status cuModuleLoadData(void**, const void*) {
  return error_not_supported;
}
status cuModuleGetFunction(void**, void*, const char*) {
  return error_not_supported;
}
status cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**) {
  return error_not_supported;
}
}
