// Finds KS_PARAM declarations in a user's C++ source, where the compiler would see them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/problem.hpp"

namespace kernsmith::agents {

struct tunable_parameter {
  std::string name;
  std::int64_t value = 0;             ///< the default, as written
  std::vector<std::int64_t> choices;  ///< ascending, distinct, `value` among them
  std::string comment;                ///< of the same line, without the slashes
  std::uint32_t line = 0;
  std::size_t value_begin = 0;  ///< bytes of the default in the source
  std::size_t value_end = 0;
};

inline constexpr std::size_t max_parameters = 64;
inline constexpr std::size_t max_parameter_choices = 256;

/// In the order of the source. Fails (bad_request) at a malformed declaration, with "file:line:column: what is wrong; what to do".
[[nodiscard]] result<std::vector<tunable_parameter>> scan_parameters(const source_file& source);

}  // namespace kernsmith::agents
