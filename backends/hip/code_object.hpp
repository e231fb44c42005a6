// What AMD's compiler says about a kernel's use of registers and memory: the metadata notes of its code objects, found in the fat binary of
// a shared object that hipcc linked. Formats: LLVM's "User Guide for AMDGPU Backend" (code object metadata), clang's "Offload Bundler".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/error.hpp"

namespace kernsmith::hip {

struct kernel_resources {
  std::string name;                   ///< mangled
  std::int64_t vgprs = 0, agprs = 0;  ///< per work-item; where the two share one file (gfx90a, gfx94x) `vgprs` counts both
  std::int64_t sgprs = 0;             ///< per wave
  std::int64_t lds_bytes = 0;         ///< static, per work-group
  std::int64_t scratch_bytes = 0;     ///< per work-item
  std::int64_t spilled_vgprs = 0, spilled_sgprs = 0;
  std::int64_t wave_size = 0, most_threads = 0;  ///< threads of a wave; of a work-group at most
};

/// The code object for `architecture` ("gfx90a") in a host library's .hip_fatbin; empty where there is no such section (no kernels). The
/// bytes may be hostile; `corrupt` when they don't hold together or hold none for it.
[[nodiscard]] result<std::string_view> find_code_object(std::string_view library, std::string_view architecture);
/// One entry for each kernel. `corrupt` without metadata notes.
[[nodiscard]] result<std::vector<kernel_resources>> read_resources(std::string_view code_object);
/// The largest of each number over all kernels.
[[nodiscard]] kernel_resources largest_resources(const std::vector<kernel_resources>& kernels);

/// What a device offers one work-group or work-item, and how its register file bounds the waves of a SIMD unit.
struct device_limits {
  std::int64_t vgprs = 512;  ///< of a work-item, accumulators included
  std::int64_t lds_bytes = 64 << 10;
  std::int64_t most_threads = 1024;
  std::int64_t most_waves = 8;        ///< side by side on a SIMD unit
  std::int64_t register_granule = 8;  ///< registers are handed out in steps of so many
};
/// Of "gfx90a" and "gfx94x" (CDNA 2 and 3); empty for others, whose limits aren't checked.
[[nodiscard]] const device_limits* limits_of(std::string_view architecture);
/// What of `kernel` is over the limit, for people; empty when nothing is.
[[nodiscard]] std::string over_limit(const kernel_resources& kernel, const device_limits& limits);
/// Waves that the vector registers let run side by side on a SIMD unit.
[[nodiscard]] std::int64_t waves_by_registers(const kernel_resources& kernel, const device_limits& limits);

/// One line for each kernel, for a build's log, and back: lines of other kinds are passed over.
[[nodiscard]] std::string report_of(std::string_view architecture, const std::vector<kernel_resources>& kernels);
[[nodiscard]] std::vector<kernel_resources> parse_report(std::string_view architecture, std::string_view log);

}  // namespace kernsmith::hip
