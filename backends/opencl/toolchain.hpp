// OpenCL candidates for the CPU device: one file, compiled by PoCL for its kernels and by g++ for its host side.
//
//     objects/<key>/kernel.so   the host side, with the device source in a section of its own
//     objects/<key>/kernels/    PoCL's cache: the program and a work-group function for each kernel, ready to be loaded
//
// In the candidate's process that cache lies read-only below /kernsmith-pocl: its device code is what the build sandbox made, and nothing
// is compiled while the kernel runs (the runner may not start the linker).
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "backends/cpp/candidate_language.hpp"
#include "backends/cpp/toolchain.hpp"

namespace kernsmith::opencl {

/// "pthread-skylake-avx512-AMD EPYC, PoCL 3.1". missing_here, with the packages to install, when there is no OpenCL CPU device.
[[nodiscard]] result<std::string> find_device();

/// Finds the device; builds go to `cache`.
[[nodiscard]] result<std::unique_ptr<cpp::candidate_language>> open_language(const std::filesystem::path& cache);

}  // namespace kernsmith::opencl
