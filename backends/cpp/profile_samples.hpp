// What samples of a running kernel's threads say: whose code the time goes to, and whether the threads share it evenly.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "backends/harness/profile_run.hpp"

namespace kernsmith::cpp {

enum class code_owner : std::uint8_t {
  kernel,   ///< the candidate's own library
  runtime,  ///< OpenMP and thread libraries: starting, joining and waiting
  math,     ///< libm, libmvec
  memory,   ///< libc: copying, filling, allocating
  other,
};
[[nodiscard]] code_owner owner_of(std::string_view object, std::string_view library);

struct sample_summary {
  double count = 0;                                                 ///< samples
  double kernel = 0, runtime = 0, math = 0, memory = 0, other = 0;  ///< shares of them
  double imbalance = 0;  ///< 1 - mean / largest of the threads' working samples: 0 even, (n - 1) / n when one of n has all
};

/// `threads`: how many there should be; those without samples count as idle.
[[nodiscard]] sample_summary summarise(const std::vector<harness::profile_sample>& samples, std::string_view library, std::size_t threads);

}  // namespace kernsmith::cpp
