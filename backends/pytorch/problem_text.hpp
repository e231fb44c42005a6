// The tracer's document as a problem file.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/error.hpp"

namespace kernsmith::pytorch {

struct problem_heading {
  std::vector<std::map<std::string, std::int64_t>> workloads;  ///< axes of each; none: the axes as given
  std::string name;                                            ///< of the problem
  std::string source;                                          ///< the module's file, as [module] names it; empty: no [module]
  std::map<std::string, std::int64_t> axes;                    ///< extents
  std::map<std::string, std::string> constants;                ///< axis -> constant of the module's file
  std::map<std::string, std::int64_t> overrides;               ///< constants given another value than the file's, that are no axes
};

/// `traced` is one "problem" of the tracer's document. Fails (bad_request) where the document isn't one.
[[nodiscard]] result<std::string> problem_text(const nlohmann::json& traced, const problem_heading& heading);

}  // namespace kernsmith::pytorch
