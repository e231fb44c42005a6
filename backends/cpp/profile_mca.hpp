// llvm-mca: what a processor model says about the hottest loop when every load hits the first-level cache.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/error.hpp"

namespace kernsmith::cpp {

inline constexpr int mca_iterations = 100;

/// llvm-mca and its arguments for an assembly file.
[[nodiscard]] std::vector<std::string> mca_command(const std::filesystem::path& llvm_mca, const std::string& assembly);

struct mca_report {
  double cycles_per_iteration = 0;
  double ipc = 0;
  double throughput_cycles = 0;   ///< per iteration, if nothing waited for anything: the busiest resource's share
  double busiest_port_share = 0;  ///< of the cycles that the busiest resource works
  std::string busiest_port;
};

/// Reads its text; corrupt when that holds no summary.
[[nodiscard]] result<mca_report> parse_mca(const std::string& text);

}  // namespace kernsmith::cpp
