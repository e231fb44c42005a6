// Evaluates a definition element by element. Slow and plain on purpose: it is the cross-check of generated references.
#pragma once

#include <cstdint>
#include <vector>

#include "config/problem.hpp"

namespace kernsmith {

/// Values of one tensor: reals (float tensors) in `real`, integers and booleans in `integer`. Row-major.
struct tensor_values {
  std::vector<double> real;
  std::vector<std::int64_t> integer;
};

/// Evaluates every statement under `axes`. `values` is parallel to problem::tensors with the inputs filled in; outputs and
/// intermediates are filled by the call. Outputs are NOT rounded to their dtype (the comparison does that); intermediates with a
/// declared dtype are. Fails (bad_request) when a gathered index leaves a tensor without pad, and when an input's size isn't its shape's.
[[nodiscard]] result<void> interpret(const problem& p, const std::vector<std::int64_t>& axes, std::vector<tensor_values>& values);

}  // namespace kernsmith
