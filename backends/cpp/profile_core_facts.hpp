// Two numbers about this machine's cores that profiles are read with, measured through the same runner as the kernels.
#pragma once

#include <filesystem>
#include <vector>

#include "backends/cpp/toolchain.hpp"
#include "config/error.hpp"

namespace kernsmith::cpp {

struct core_facts {
  double fork_join_ns = 0;  ///< one empty parallel region on all of `cores`
  double clock_ghz = 0;     ///< of the first core at work; 0 where it can't be told
};

/// `scratch`: where a folder may be made for the while.
[[nodiscard]] result<core_facts> measure_core_facts(const toolchain& compiler, const std::vector<int>& cores,
                                                    const std::filesystem::path& scratch);

}  // namespace kernsmith::cpp
