// A kernel in Python as a file that its host process (python_host.py) loads: the source and how it is to be called, one JSON document.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "config/problem.hpp"

namespace kernsmith::pytorch {

enum class kernel_role : std::uint8_t { candidate, baseline, reference };

struct hosted_source {
  kernel_role role = kernel_role::candidate;
  std::string name;  ///< of the file, in messages: "candidate.py"
  std::string text;
  bool on_device = false;
  bool compiled = false;    ///< by torch.compile
  std::string mode;         ///< of torch.compile; empty: its default
  std::string init_source;  ///< candidates: what makes the arguments of the module's class
};

/// `p` says how a module in the source is called, where it has a [module]; whether it is called by that, and as which class, follows from
/// the role.
[[nodiscard]] nlohmann::json hosted_document(const problem& p, const hosted_source& source);

/// The texts that travel in the program.
[[nodiscard]] const std::string& host_program();
[[nodiscard]] const std::string& examining_program();

}  // namespace kernsmith::pytorch
