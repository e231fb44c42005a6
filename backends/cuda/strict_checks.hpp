// The strictest part of an evaluation: the candidate under NVIDIA's compute-sanitizer, run by itself on small cases of its verification.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "backends/cuda/workbench.hpp"
#include "memory/records.hpp"

namespace kernsmith::cuda {

enum class sanitizer_tool : std::uint8_t { memcheck, racecheck, initcheck, synccheck };
inline constexpr std::array all_sanitizer_tools = {sanitizer_tool::memcheck, sanitizer_tool::racecheck, sanitizer_tool::initcheck,
                                                   sanitizer_tool::synccheck};
[[nodiscard]] std::string_view name_of(sanitizer_tool tool);

struct device_finding {
  std::string outcome;  ///< out_of_bounds | crashed | nondeterministic
  std::string text;     ///< the tool's own words with the place in the candidate's source
};

/// What compute-sanitizer printed, read. `complete`: it came to its summary; without one, silence proves nothing.
struct sanitizer_output {
  bool complete = false;
  std::optional<device_finding> finding;
};
[[nodiscard]] sanitizer_output read_sanitizer_output(sanitizer_tool tool, std::string_view output);

class strict_checks {
 public:
  explicit strict_checks(workbench& bench) : bench_(bench) {}
  /// Finds compute-sanitizer and tries each tool on a kernel that has the fault it is there for. missing_here, with the remedy, where one
  /// doesn't work.
  [[nodiscard]] result<void> prepare();
  /// Runs a built candidate under each tool on edge shapes and the workloads, shrunk. Fills `e.sanitizers`; the first finding becomes the
  /// outcome. Needs prepare().
  [[nodiscard]] result<void> run(const built_kernel& kernel, memory::evaluation& e);

 private:
  /// Empty where the tool itself took too long.
  [[nodiscard]] result<std::optional<sanitizer_output>> examine(sanitizer_tool tool, const std::filesystem::path& library,
                                                                const std::vector<std::int64_t>& axes);
  [[nodiscard]] std::vector<std::vector<std::int64_t>> cases() const;

  workbench& bench_;
  std::filesystem::path program_;
};

}  // namespace kernsmith::cuda
