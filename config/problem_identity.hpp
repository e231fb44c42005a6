// The hash that names a problem. Internal to config/; what counts is stated in problem.hpp.
#pragma once

#include <string>

#include "config/problem.hpp"

namespace kernsmith {

/// Canonical text of the meaning; equal meanings give equal texts.
[[nodiscard]] std::string canonical_form(const problem& p);
/// 32 hex digits over canonical_form.
[[nodiscard]] std::string identity_hash(const problem& p);

}  // namespace kernsmith
