// What the device assembler says about a kernel's use of registers and memory (`-Xptxas -v`).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kernsmith::cuda {

struct kernel_resources {
  std::string name;  ///< mangled
  std::int64_t registers = 0;
  std::int64_t stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0;  ///< per thread
  std::int64_t static_shared_bytes = 0, barriers = 0;
};

/// One entry for each kernel (no device functions) in the order of the log.
[[nodiscard]] std::vector<kernel_resources> parse_ptxas_report(std::string_view log);
/// The largest of each over all kernels: what limits occupancy at worst.
[[nodiscard]] kernel_resources largest_resources(const std::vector<kernel_resources>& kernels);

}  // namespace kernsmith::cuda
