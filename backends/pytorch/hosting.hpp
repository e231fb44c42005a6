// Trusted kernels in Python, and what a process needs that hosts any kernel in Python.
#pragma once

#include <filesystem>
#include <memory>

#include "backends/harness/hosted_kernels.hpp"
#include "backends/harness/sandbox.hpp"
#include "backends/pytorch/hosted_kernel.hpp"
#include "backends/pytorch/python_installation.hpp"

namespace kernsmith::pytorch {

/// Looks for Python when it is first asked for something. `cache`: of builds.
[[nodiscard]] std::shared_ptr<harness::hosted_kernels> open_hosting(const std::filesystem::path& cache);

/// Keeps a document in the build cache as what its host process loads. `detail`: of the build's log.
[[nodiscard]] result<harness::built_kernel> keep_document(const std::filesystem::path& cache, const python_installation& python,
                                                          const nlohmann::json& document);
/// Is `library` such a file?
[[nodiscard]] bool is_document(const std::filesystem::path& library);

/// A sandbox in which Python runs, without a command yet.
[[nodiscard]] harness::sandbox_spec python_sandbox(const python_installation& python);
/// Makes the process one of Python.
void host_with(const python_installation& python, harness::runner_options& options);

}  // namespace kernsmith::pytorch
