// Vendors' libraries that a problem lets its candidates call ([candidates] libraries): how they are linked and known again.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "config/problem.hpp"

namespace kernsmith::harness {

// `language` is that of the target: a problem may permit libraries for several, and each target knows its own.

/// What the linker has to be told. A candidate that calls none of them does not load them.
[[nodiscard]] std::vector<std::string> link_flags_of(const problem& p, std::string_view language);
/// Belongs `file`, which a candidate's process has mapped to execute it, to a library that the problem permits (or to what that one needs)?
[[nodiscard]] bool is_permitted(const problem& p, std::string_view language, const std::filesystem::path& file);
/// A source whose build shows whether all of them are installed; empty where none is permitted.
[[nodiscard]] std::string library_probe_source(const problem& p, std::string_view language);
/// How to get them, for a message.
[[nodiscard]] std::string library_remedy(const problem& p, std::string_view language);

}  // namespace kernsmith::harness
