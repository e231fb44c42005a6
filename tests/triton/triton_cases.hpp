// Sources that the rules write for Triton, run by its interpreter on small inputs and compiled for sm_90 without a device.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "agents/synthesis/rules_grammar.hpp"
#include "config/problem.hpp"

namespace kernsmith::fixtures {

/// A Python with PyTorch and Triton, empty without one. ctest takes the message for "skipped".
[[nodiscard]] std::filesystem::path triton_python();
[[nodiscard]] bool skipped();

/// Parses a problem's text or file; a failing REQUIRE when it is refused.
[[nodiscard]] problem problem_from(const std::string& toml);
/// Axes "B=5 N=7"; tensors one a line, "in x f32[B,N] pad = 0.0", "out y f32[B]", "mid h bf16[B,N]"; then the definition.
[[nodiscard]] problem small_problem(const std::string& axes, const std::string& tensors, const std::string& definition);

struct tolerance {
  double absolute = 0, relative = 0;  ///< both 0: as the problem compares
};

/// Cases that are run together, since Python takes seconds to start.
class case_list {
 public:
  case_list();
  ~case_list();
  case_list(const case_list&) = delete;
  case_list& operator=(const case_list&) = delete;

  /// The preferred decisions and `mixtures` others, each on these axes.
  void add(const problem& p, const std::vector<std::int64_t>& axes, int mixtures, bool special_values = false);
  void add(const problem& p, const agents::generator& g, const agents::assignment& chosen, const std::vector<std::int64_t>& axes,
           bool special_values = false);
  /// doctest CHECKs that all are right.
  void check();

 private:
  struct one;
  std::filesystem::path folder_;
  std::vector<one> cases_;
};

}  // namespace kernsmith::fixtures
