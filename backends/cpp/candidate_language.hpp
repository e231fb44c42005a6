// The seam by which CPU candidates may be written in another language than C++: who builds them, and what their processes need beside.
// Reference, verification, conduct and timing are those of C++ candidates.
#pragma once

#include <filesystem>
#include <string>

#include "backends/harness/evaluator.hpp"
#include "backends/harness/runner_client.hpp"
#include "config/error.hpp"

namespace kernsmith::cpp {

class candidate_language {
 public:
  virtual ~candidate_language() = default;
  [[nodiscard]] virtual std::string name() const = 0;      ///< as problem files call it: "opencl"
  [[nodiscard]] virtual std::string compiler() const = 0;  ///< for fingerprints
  [[nodiscard]] virtual std::string flags() const = 0;
  /// Thread-safe, like toolchain::build().
  [[nodiscard]] virtual result<harness::built_kernel> build(const std::string& source, double timeout_s) const = 0;
  /// Adds what the process that hosts `library` needs. Libraries of other languages are left as they are.
  virtual void prepare(harness::runner_options& options) const = 0;
  /// May a process that hosts `library` execute `file`: the language's own run-time libraries, and what was built beside the library?
  [[nodiscard]] virtual bool may_execute(const std::filesystem::path& library, const std::filesystem::path& file) const = 0;
  /// Does it make machine code while it runs, which no file stands behind?
  [[nodiscard]] virtual bool may_generate_code() const { return false; }
};

}  // namespace kernsmith::cpp
