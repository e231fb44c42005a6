// What a candidate's process does beside its answers: code that was not built from its source, work that goes on after its answer.
#pragma once

#include <filesystem>

#include "backends/cpp/candidate_language.hpp"
#include "backends/cpp/kernel_process.hpp"
#include "backends/cpp/verification.hpp"

namespace kernsmith::cpp {

/// Calls the kernel once more on `buffers`, whose inputs it has answered rightly before, and watches. `cheating` with rule `foreign_code`
/// when the process can execute files that are neither its own library, nor the compiler's run-time libraries, nor a vendor's that the
/// problem permits, nor what belongs to the candidate's language, or memory without a file; `busy_after_return` when it still works a
/// second after its answer; `late_writes` when it writes to its outputs after it. Infrastructure when the system gives no account of it:
/// nothing looked at is no evidence.
[[nodiscard]] result<check_result> check_conduct(const problem& p, const candidate_language* language, kernel_process& process,
                                                 const std::filesystem::path& library, kernel_buffers& buffers, double timeout_s);

}  // namespace kernsmith::cpp
