#include "backends/harness/runner/device_timeline.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

namespace kernsmith::runner {

namespace {

// The part of NVIDIA's CUPTI activity interface that is used, declared by ourselves. Kinds and the place of the two times in a record have
// been the same in all versions since CUDA 11.
using cupti_status = int;
constexpr int kind_copy = 1, kind_fill = 2, kind_kernel = 10, kind_synchronisation = 38;
constexpr std::size_t device_times_at = 16, host_times_at = 8;  // bytes into a record: start, then end, in ns
constexpr std::size_t buffer_bytes = std::size_t{1} << 20;
constexpr std::size_t max_intervals = std::size_t{1} << 20;

struct interval {
  std::uint64_t start, end;
};

struct cupti_functions {
  cupti_status (*register_callbacks)(void (*)(std::uint8_t**, std::size_t*, std::size_t*),
                                     void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t)) = nullptr;
  cupti_status (*enable)(int) = nullptr;
  cupti_status (*disable)(int) = nullptr;
  cupti_status (*flush)(std::uint32_t) = nullptr;
  cupti_status (*next)(std::uint8_t*, std::size_t, void**) = nullptr;
};

cupti_functions cupti;
// CUPTI hands its buffers back on a thread of its own.
std::mutex records;
std::vector<interval> device_work;
std::size_t kernels = 0, copies = 0, syncs = 0;
double sync_ns = 0;

interval times_at(const void* record, std::size_t offset) {
  interval i{};
  std::memcpy(&i, static_cast<const std::byte*>(record) + offset, sizeof i);
  return i;
}

void give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, buffer_bytes));
  *bytes = *buffer != nullptr ? buffer_bytes : 0;
  *most_records = 0;  // as many as fit
}

void take_buffer(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid_bytes) {
  const std::lock_guard lock(records);
  void* record = nullptr;
  while (valid_bytes > 0 && cupti.next(buffer, valid_bytes, &record) == 0) {
    int kind = 0;
    std::memcpy(&kind, record, sizeof kind);
    if (kind == kind_synchronisation) {
      const interval i = times_at(record, host_times_at);
      ++syncs;
      sync_ns += static_cast<double>(i.end - i.start);
    } else if ((kind == kind_kernel || kind == kind_copy || kind == kind_fill) && device_work.size() < max_intervals) {
      ++(kind == kind_kernel ? kernels : copies);
      device_work.push_back(times_at(record, device_times_at));
    }
  }
  std::free(buffer);
}

}  // namespace

const char* start_timeline(const std::string& cupti_library) {
  if (cupti.flush == nullptr) {
    void* const handle = ::dlopen(cupti_library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return ::dlerror();
    const auto find = [handle](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
      return function != nullptr;
    };
    if (!find(cupti.register_callbacks, "cuptiActivityRegisterCallbacks") || !find(cupti.enable, "cuptiActivityEnable") ||
        !find(cupti.disable, "cuptiActivityDisable") || !find(cupti.next, "cuptiActivityGetNextRecord") ||
        !find(cupti.flush, "cuptiActivityFlushAll"))
      return "this CUPTI lacks the activity interface";
    if (cupti.register_callbacks(give_buffer, take_buffer) != 0) return "CUPTI refuses its callbacks";
  }
  for (const int kind : {kind_kernel, kind_copy, kind_fill, kind_synchronisation}) {
    if (cupti.enable(kind) != 0) return "CUPTI can't record activity on this device";
  }
  return nullptr;
}

timeline_sums end_timeline() {
  timeline_sums sums;
  if (cupti.flush == nullptr) return sums;
  for (const int kind : {kind_kernel, kind_copy, kind_fill, kind_synchronisation}) (void)cupti.disable(kind);
  (void)cupti.flush(1);
  const std::lock_guard lock(records);
  std::sort(device_work.begin(), device_work.end(), [](const interval& a, const interval& b) { return a.start < b.start; });
  std::uint64_t reached = 0;
  for (const interval& i : device_work) {
    if (i.end > reached) sums.busy_ns += i.end - std::max(i.start, reached);
    reached = std::max(reached, i.end);
  }
  sums.span_ns = device_work.empty() ? 0 : reached - device_work.front().start;
  sums.kernels = std::exchange(kernels, 0);
  sums.copies = std::exchange(copies, 0);
  sums.syncs = std::exchange(syncs, 0);
  sums.sync_ns = std::exchange(sync_ns, 0);
  device_work.clear();
  return sums;
}

void write_timeline(std::FILE* report) {
  if (cupti.flush == nullptr) return;
  const timeline_sums sums = end_timeline();
  std::fprintf(report,
               "device_kernels %zu\ndevice_copies %zu\ndevice_busy_ns %llu\ndevice_span_ns %llu\nhost_syncs %zu\nhost_sync_ns %.0f\n",
               sums.kernels, sums.copies, static_cast<unsigned long long>(sums.busy_ns), static_cast<unsigned long long>(sums.span_ns),
               sums.syncs, sums.sync_ns);
}

}  // namespace kernsmith::runner
