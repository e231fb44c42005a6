// The small functions that emitted row kernels are written in terms of, on top of the prelude. Each group carries the ones it uses in its
// own namespace.
#pragma once

#include <set>
#include <string>

namespace kernsmith::agents::row {

/// Definitions of the support functions that `code` mentions (and of those that these mention), for float / int32 or double / int64 lanes.
[[nodiscard]] std::string support_text(const std::string& code, bool wide);

/// Every name that emitted row functions use for themselves.
[[nodiscard]] const std::set<std::string>& support_vocabulary();

/// Prelude pieces that support_text relies on.
[[nodiscard]] std::set<std::string> support_preludes(bool wide);

}  // namespace kernsmith::agents::row
