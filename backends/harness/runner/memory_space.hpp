// Where a kernel's buffers live and how its work is waited for: the host, or one CUDA device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "backends/harness/kernsmith_kernel.h"
#include "backends/harness/wire.hpp"

namespace kernsmith::runner {

/// One per process. Whatever it can't do ends the process with a word about it.
class memory_space {
 public:
  virtual ~memory_space() = default;
  /// Maps the verifier's memory behind `descriptor`, fenced on both sides, and closes the descriptor.
  [[nodiscard]] virtual std::uint64_t map(int descriptor, const harness::wire::map_body& what) = 0;
  virtual void unmap(std::uint64_t start, std::size_t bytes) = 0;
  /// Sets what a launch needs of this space: workspace, stream, device.
  virtual void prepare(ks_launch& context) = 0;
  /// Around the calls of a batch. After the second nothing of them is still at work, and `times_ns` may hold a better account.
  virtual void begin_batch() {}
  virtual void end_batch(double* times_ns, std::uint32_t count) { (void)times_ns, (void)count; }
  /// In the order of the stream that a launch is given: some time passes; bytes are copied. False where there is no stream.
  [[nodiscard]] virtual bool delay_in_stream() { return false; }
  [[nodiscard]] virtual bool copy_in_stream(void* to, const void* from, std::size_t bytes) {
    return (void)to, (void)from, (void)bytes, false;
  }
  /// Between the two, work on the stream is recorded instead of done; the recording is kept as `number`, for replay(). Null, or why it
  /// can't be recorded, which is the kernel's doing; `code` is then the device's number for it. No recording goes on after the second.
  [[nodiscard]] virtual const char* begin_capture(std::int32_t& code) { return (void)code, "there is no stream here"; }
  [[nodiscard]] virtual const char* end_capture(std::uint32_t number, std::int32_t& code) {
    return (void)number, (void)code, "there is no stream here";
  }
  /// False for a number that was never captured.
  [[nodiscard]] virtual bool replay(std::uint32_t number) { return (void)number, false; }
  virtual void forget_captures() {}
};

[[nodiscard]] std::unique_ptr<memory_space> host_memory();
/// `driver`: the driver's library. Makes the device's primary context current.
[[nodiscard]] std::unique_ptr<memory_space> cuda_memory(const char* driver, int ordinal);

}  // namespace kernsmith::runner
