// Settings of a run, each declared once: the table makes the parser, --help and the docs page.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/error.hpp"

namespace kernsmith {

/// What one `optimize` run was asked to do. Command line values override these defaults.
struct run_settings {
  std::int64_t budget = 32;     ///< evaluations per session
  double time_limit_s = 0;      ///< 0: none
  double stop_at = 0;           ///< stop at this speed-up; 0: never
  std::int64_t stall = 0;       ///< stop after this many evaluations without a new best; 0: never
  std::string policy = "mcts";  ///< mcts | evolution | random
  std::uint64_t seed = 1;
  std::string profile = "best";           ///< off | winner | best: what is profiled
  std::int64_t threads = 0;               ///< cores a kernel may use; 0: all that may be used here
  std::optional<std::int64_t> lookahead;  ///< candidates generated ahead of the one being evaluated; nothing: as the target needs
};

}  // namespace kernsmith
