// How much rounding a definition brings, roughly: the scale of default tolerances. Internal to config/.
#pragma once

#include <vector>

#include "config/problem.hpp"

namespace kernsmith {

/// Typical size of a value, and standard deviation of its error in units of the working precision's round-off.
struct error_estimate {
  double size = 1;
  double error = 0;
};

/// Root mean square of each input as its init declares it; inputs stand first among problem::tensors, so the ids agree.
[[nodiscard]] std::vector<double> declared_sizes(const problem& p);
[[nodiscard]] error_estimate estimate_error(const problem& p, int tensor, const std::vector<std::int64_t>& axes,
                                            const std::vector<double>& input_sizes);

}  // namespace kernsmith
