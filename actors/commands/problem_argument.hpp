// The PROBLEM argument of commands: a problem file, or a PyTorch module's file that becomes one.
#pragma once

#include <string>
#include <vector>

#include "config/error.hpp"
#include "config/problem.hpp"

namespace CLI {
class App;
}

namespace kernsmith::actors {

struct problem_options {
  std::vector<std::string> axes;  ///< --axis NAME=VALUE
  bool fit = false;               ///< --fit
};

/// --axis and --fit.
void add_problem_options(CLI::App& command, problem_options& options);

struct given_problem {
  problem task;
  std::string text;                ///< of the problem file; for a module the one made from it
  std::vector<std::string> notes;  ///< for the user, before anything else: sizes that were reduced
};

/// Reads `file` by its kind.
[[nodiscard]] result<given_problem> load_given(const std::string& file, const problem_options& options);

}  // namespace kernsmith::actors
