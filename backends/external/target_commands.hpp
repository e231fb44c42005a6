// An external target as a service: sources are built and calls are run by its own commands, each in the sandbox.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "backends/external/call_memory.hpp"
#include "backends/harness/evaluator.hpp"
#include "backends/harness/sandbox.hpp"
#include "config/external_target.hpp"

namespace kernsmith::external {

/// What a run said about one call.
struct call_report {
  std::string outcome;  ///< empty: launch returned 0; else EVALUATION.md's word
  std::string detail;
  std::map<std::string, double> counters;
};

struct run_report {
  std::vector<call_report> calls;  ///< one per call that the run reported on, in order; later calls were not made
  std::string outcome;             ///< empty when the command ended by itself; else timeout | resource_limit | crashed
  std::string detail;
  double wall_s = 0;
};

class target_commands {
 public:
  /// Finds the programs of all commands: missing_here names the one that isn't there, and the target's own remedy.
  [[nodiscard]] static result<target_commands> open(const external_target& target, const std::filesystem::path& cache);

  [[nodiscard]] const external_target& target() const { return target_; }
  [[nodiscard]] const std::string& compiler() const { return compiler_; }
  [[nodiscard]] const std::string& driver() const { return driver_; }

  /// Thread-safe, content-addressed: the same source, commands and target folder build once.
  [[nodiscard]] result<harness::built_kernel> build(const std::string& source, double timeout_s) const;
  /// Runs the image on `memory` and reads the memory back into it. Errors are this machine's faults; what the run itself did wrong is in
  /// the report.
  [[nodiscard]] result<run_report> run(const std::filesystem::path& image, call_memory& memory) const;
  /// The same with the profile's command.
  [[nodiscard]] result<run_report> profile(const std::filesystem::path& image, call_memory& memory) const;

 private:
  explicit target_commands(external_target target) : target_(std::move(target)) {}
  [[nodiscard]] result<void> find_programs();
  [[nodiscard]] result<std::string> version_of(const command_template& command) const;
  [[nodiscard]] harness::sandbox_spec sandbox_for(const command_template& command, const std::map<std::string, std::string>& values) const;
  [[nodiscard]] result<harness::built_kernel> run_steps(const std::string& source, const std::string& key, double timeout_s,
                                                        const std::filesystem::path& work) const;
  [[nodiscard]] result<run_report> run_command(const command_template& command, const std::filesystem::path& image,
                                               call_memory& memory) const;

  external_target target_;
  std::filesystem::path cache_;
  std::map<std::string, std::filesystem::path> programs_;  ///< by the word that names them in commands
  std::string compiler_, driver_;
};

/// Reads the lines `call N ok`, `call N OUTCOME text...` and `counter N NAME VALUE`; anything else is skipped. Calls are reported in order
/// from 0; at most `most_calls`. Pure.
[[nodiscard]] std::vector<call_report> parse_report(const std::string& text, std::size_t most_calls);

}  // namespace kernsmith::external
