// Does a traced definition compute what the module computes? Samples of the module, in float64, against the definition's interpreter.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "config/problem.hpp"

namespace kernsmith::pytorch {

/// An element agrees when it differs by at most this much of the largest finite element of its output and of itself.
inline constexpr double proof_tolerance = 1e-9;

struct trace_proof {
  int samples = 0;
  double largest_difference = 0;
};

/// `proof` is that part of the tracer's document: samples, and where the sizes they have can't be reached through `task`'s axes, the same
/// definition at those sizes. bad_request "trace does not reproduce the module" with the first difference.
[[nodiscard]] result<trace_proof> prove_trace(const problem& task, const std::filesystem::path& file, const nlohmann::json& proof);

}  // namespace kernsmith::pytorch
