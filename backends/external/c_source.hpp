// Generated C for a problem's definition: straightforward loops, the baseline that kernels for a C target are compared with.
#pragma once

#include <string>

#include "config/problem.hpp"

namespace kernsmith::external {

/// `launch` with all tensors in their own dtypes, one plain loop nest per statement, arithmetic in float (double where an operand is f64,
/// int64_t for integers). Intermediates lie in ctx->workspace; launch refuses when that is too small. bad_request for scans within scans.
[[nodiscard]] result<std::string> naive_c_source(const problem& p);

/// Bytes of ctx->workspace that naive_c_source needs under `axes`.
[[nodiscard]] std::size_t naive_workspace_bytes(const problem& p, const std::vector<std::int64_t>& axes);

/// Conversions and arithmetic that the generated text calls.
[[nodiscard]] const std::string& c_prelude();

}  // namespace kernsmith::external
