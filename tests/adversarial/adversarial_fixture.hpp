// One adversarial kernel with what must come of it, as its first lines say:
//
//     // expect: wrong_values            the one outcome that it must get
//     // problem: affine                 problems/affine.toml
//     // effort: search                  quick | search | final | strict; as promotion (final) only where the fault hides from less, with
//                                        sanitizers (strict) where it hides from all that is compared
//     // rule: late_writes               for `cheating`; several, separated by " or ", where chance decides which one sees it first
//     // origin: contract                contract: named by the evaluation contract; invented: ours
//     // why: what it tries              one line
//     // generate: pad 52428800          the rest of the source is filled up to so many bytes
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "backends/cpp/evaluator.hpp"
#include "config/error.hpp"

namespace kernsmith::adversarial {

struct fixture {
  std::string name;  ///< "must_fail/zeros"
  std::string expect;
  std::vector<std::string> rules;  ///< any of them, where the outcome is `cheating`
  std::string problem, origin, why;
  cpp::effort how = cpp::effort::search;
  bool strict = false;
  std::string source;
};

/// All `*.cpp` under must_fail/ and must_pass/, sorted. An error names the first file without a complete head: a fixture that expects
/// nothing would pass whatever happens.
[[nodiscard]] result<std::vector<fixture>> load_fixtures(const std::filesystem::path& folder);

}  // namespace kernsmith::adversarial
