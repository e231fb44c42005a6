// What a candidate's process does beside its answers: code that was not built from its source, work that goes on after its answer, device
// memory without end.
#pragma once

#include <filesystem>

#include "backends/cuda/candidate_language.hpp"
#include "backends/cuda/verification.hpp"

namespace kernsmith::cuda {

/// Calls the kernel once more on `buffers`, whose inputs it has answered rightly before, and watches. `cheating` with rule `foreign_code`,
/// `busy_after_return` or `late_writes`.
/// `language`: of the candidate; null: CUDA.
[[nodiscard]] result<check_result> check_conduct(const problem& p, const candidate_language* language, kernel_process& process,
                                                 const std::filesystem::path& library, trusted_kernels& trusted, device_buffers& buffers,
                                                 double timeout_s);

}  // namespace kernsmith::cuda
