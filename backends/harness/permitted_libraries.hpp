// Vendors' libraries that a problem lets its candidates call ([candidates] libraries): how they are linked and known again.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/problem.hpp"

namespace kernsmith::harness {

/// What the linker has to be told. A candidate that calls none of them does not load them.
[[nodiscard]] std::vector<std::string> link_flags_of(const problem& p);
/// Belongs `file`, which a candidate's process has mapped to execute it, to a library that the problem permits (or to what that one needs)?
[[nodiscard]] bool is_permitted(const problem& p, const std::filesystem::path& file);
/// A source whose build shows whether all of them are installed.
[[nodiscard]] std::string library_probe_source(const problem& p);
/// How to get them, for a message.
[[nodiscard]] std::string library_remedy(const problem& p);

}  // namespace kernsmith::harness
