// Contents that no kernel can have seen: an unpredictable part of the inputs is rewritten before each timed call. Cheap, so that what is
// warm stays warm; enough, because outputs that depend on the changed part must change.
#pragma once

#include <cstdint>

#include "backends/cpp/kernel_process.hpp"
#include "config/problem.hpp"

namespace kernsmith::cpp {

/// Rewrites part of `target`'s inputs as `seed` says, the same for every set of the same axes. Values come from elsewhere in the same
/// tensor of `source` (pristine contents), so that ranges and legal indices are kept; small tensors are filled anew; tensors whose order
/// means something (sorted, arange, file) and constants stay. Fails only when an init file can't be read.
[[nodiscard]] result<void> freshen(const problem& p, const kernel_buffers& source, kernel_buffers& target, std::uint64_t seed);

/// As freshen, but nothing that may change stays as it was: every tensor is shifted against `source` by a distance that `seed` chooses.
[[nodiscard]] result<void> renew(const problem& p, const kernel_buffers& source, kernel_buffers& target, std::uint64_t seed);
/// freshen, and every byte of the inputs written again as it is: caches are left as renew leaves them.
[[nodiscard]] result<void> freshen_rewriting(const problem& p, const kernel_buffers& source, kernel_buffers& target, std::uint64_t seed);

}  // namespace kernsmith::cpp
