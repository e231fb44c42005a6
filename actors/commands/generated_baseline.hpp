// The baseline "naive" in the language of a target, where a synthesizer writes it and not the backend.
#pragma once

#include <string>

#include "config/error.hpp"
#include "config/problem.hpp"

namespace kernsmith::actors {

/// `p` with a source in its generated baseline for target opencl: one work-item per element. Others are as they were, and keep their hash.
[[nodiscard]] result<problem> with_naive_of(const problem& p, const std::string& target);

}  // namespace kernsmith::actors
