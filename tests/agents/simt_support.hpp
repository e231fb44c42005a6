// Emitted CUDA and HIP sources in tests: compiled by nvcc where there is one, and run on the CPU under the emulation in simt_emulation/.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agents/synthesis/rules_grammar.hpp"
#include "agents/synthesis/simt/simt_grammar.hpp"
#include "support.hpp"

namespace kernsmith::agents::testing {

/// A problem of docs/examples/ or docs/examples/gpu/ by its file name.
[[nodiscard]] problem example_problem(const std::string& file);

/// The rules for CUDA on a device like sm_90. On an older architecture no source uses what the emulation lacks: the units of sm_90a.
[[nodiscard]] std::unique_ptr<generator> cuda_generator(const problem& p, const std::string& architecture = "sm_90a");

/// The rules for HIP.
[[nodiscard]] std::unique_ptr<generator> hip_generator(const problem& p);

/// What sources are emitted for and emulated as.
struct emulated_device {
  simt::dialect language = simt::dialect::cuda;
  int warp = 32;                       ///< threads of a warp, or of a wave
  const char* architecture = "sm_75";  ///< CUDA; tensor cores (sm_80) take long to emulate
};

/// g++'s shared object of a source with the emulated runtime; equal sources compile once for a device.
[[nodiscard]] result<std::filesystem::path> compile_emulated(const std::string& source, const emulated_device& device = {});

/// nvcc's path, or empty.
[[nodiscard]] std::string nvcc_path();
/// Compiles to machine code. Empty when all is well, else the first errors.
[[nodiscard]] std::string compile_with_nvcc(const std::string& source, const std::string& architecture = "sm_90a");

/// hipcc's path, or empty.
[[nodiscard]] std::string hipcc_path();
/// Compiles a HIP source for gfx90a with hipcc, host part included, or for sm_90a with nvcc through HIP's NVIDIA headers. Empty when all is
/// well, else the first errors.
[[nodiscard]] std::string compile_with_hipcc(const std::string& source);
[[nodiscard]] std::string compile_hip_with_nvcc(const std::string& source);

/// doctest CHECKs that the preferred assignment and `random_count` random ones are right under emulation for every entry of `shapes`.
/// Sources for the units of sm_90a are left out: nothing here stands in for those.
void check_emulated(const problem& p, const std::vector<std::vector<std::int64_t>>& shapes, int random_count,
                    const run_options& options = {}, const emulated_device& device = {});

}  // namespace kernsmith::agents::testing
