// Target names: language x device class.
#pragma once

#include <string>

#include "config/error.hpp"

namespace kernsmith::actors {

/// "cpp" or "cpp/<isa of this machine>" -> "cpp/<isa>". bad_request for unknown names (with the nearest), for another machine's ISA, and
/// for targets that this version can't evaluate.
[[nodiscard]] result<std::string> resolve_target(const std::string& name, const std::string& host_isa);

}  // namespace kernsmith::actors
