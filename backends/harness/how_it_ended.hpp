// From the way a runner's process ended to the word for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/harness/runner_client.hpp"
#include "backends/harness/wire.hpp"

namespace kernsmith::harness {

/// The largest file that a runner may write.
inline constexpr std::int64_t runner_max_file_bytes = std::int64_t{64} << 20;

/// Where the runner says that a buffer lies; believed only as far as the word for a fault goes.
struct fenced_range {
  std::uint64_t start = 0, bytes = 0;
  std::string what;
};

/// Status and detail for a process that ended by itself with `exit_status` (exit code, or -signal). `reported` is the first fault that it
/// told of before.
[[nodiscard]] call_result how_it_ended(int exit_status, const std::optional<wire::answer_header>& reported,
                                       const std::vector<fenced_range>& fences);

/// What an accelerator's driver said when a batch's work failed.
struct device_failure {
  call_status status = call_status::crashed;
  std::string detail;
};
/// `code` and `name` as in CUDA's driver interface.
[[nodiscard]] device_failure how_device_failed(int code, const std::string& name);

}  // namespace kernsmith::harness
