// Grammars for devices that run many threads in lock step (CUDA and HIP): the same tensor IR, groups and decisions as on CPUs, emitted as
// kernels and the host code that launches them. One emitted file is one candidate (backends/harness/kernsmith_kernel.h).
//
// Conventions of the emitted file, which all SIMT grammars rely on (simt_assembly.cpp writes it):
//  - it starts with a comment of the definition and the decisions, `#include "kernsmith_kernel.h"`, the device headers (cuda_runtime.h,
//    cuda_fp16.h, cuda_bf16.h, cuda_fp8.h), standard headers, the prelude pieces that the groups ask for (simt_prelude.hpp; "types"
//    always), then each group's functions in one unnamed namespace, then launch().
//  - storage types are simt_storage_type(dtype): double, float, ks_f16, ks_bf16, ks_f8e4m3, ks_f8e5m2 (structs around the bits `bits`, so
//    that a pointer may be cast to __half* or __nv_bfloat16*), int64_t, int32_t, int16_t, int8_t, uint8_t, and uint8_t for bool.
//  - launch() defines for each axis `const int64_t N = ctx->axes[i];`, for each tensor a typed pointer of the tensor's own name to device
//    memory (inputs `const T*`, others `T*`), and `const cudaStream_t ks_stream`.
//  - a group's `functions` hold __global__ kernels named "<group>_<what>_kernel" and one host function `static int
//  <group>_launch(tensors...,
//    axes..., cudaStream_t ks_stream)` that returns 0 or a cudaError_t; its `call` is
//    `if (const int ks_failed = y_launch(x, y, N, ks_stream)) return ks_failed;`. Kernels are started by ks_start (prelude "types"):
//    `ks_start(kernel, grid, block, shared_bytes, stream, arguments...)` checks the launch, raises the shared memory limit where needed,
//    and converts the arguments to the kernel's parameter types. Dynamic shared memory is declared by KS_DYNAMIC_SHARED(name), bytes
//    aligned to 128. ks_multiprocessors() is the number of SMs of the current device.
//  - `stored` intermediates get device memory from launch() like any tensor. A group that needs scratch memory sets
//    emitted_group::scratch_bytes (a C++ expression over the axes, size_t) and finds `void* ks_scratch_<group>` in launch(), 256-byte
//    aligned, contents unspecified; pass it to its launch function.
//  - all pointers handed in are 64-byte aligned at least; tensors are row-major and dense. Any legal axes must work.
//  - names of tensors, axes and indices never start with "ks_" or "KS_", hold "__", or end in "_": those are the emitters' own.
//  - in the HIP dialect the same text has the HIP runtime's names (simt_hip.hpp): groups write CUDA's.
//  - code that the tests run on CPUs (tests/agents/simt_emulation/) uses no inline assembly outside of `#ifdef __CUDA_ARCH__`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agents/synthesis/group_grammar.hpp"
#include "agents/synthesis/rules_grammar.hpp"
#include "memory/records.hpp"

namespace kernsmith::agents::simt {

enum class dialect : std::uint8_t { cuda, hip, opencl };

/// The numbers about a device that schedule decisions are made from.
struct simt_model {
  dialect language = dialect::cuda;
  std::string architecture = "sm_90a";
  std::int64_t multiprocessors = 132;
  std::int64_t warp_size = 32;
  std::int64_t threads_per_multiprocessor = 2048;
  std::int64_t registers_per_multiprocessor = 65536;
  std::int64_t shared_bytes_per_multiprocessor = 228 << 10;
  std::int64_t shared_bytes_per_block = 227 << 10;  ///< with the opt-in
  std::int64_t l2_bytes = 50 << 20;
  double memory_gb_per_s = 4800;
};

/// What `facts` leaves out has the value above.
[[nodiscard]] simt_model model_of(const memory::device_facts& facts, dialect language);

/// A grammar of the SIMT family. It knows its device, so the CPU's machine_model of the common interface stays unused.
class simt_grammar : public group_grammar {
 public:
  explicit simt_grammar(simt_model model) : model_(std::move(model)) {}

  [[nodiscard]] virtual std::vector<decision> decide(const tensor_ir& ir, const fusion_group& group) const = 0;
  /// Resets decisions that others make meaningless to their preferred value.
  virtual void tidy(const tensor_ir& ir, const fusion_group& group, assignment& chosen) const = 0;
  /// `chosen` is legal and tidy.
  [[nodiscard]] virtual emitted_group write(const tensor_ir& ir, const fusion_group& group, const assignment& chosen) const = 0;

  std::vector<decision> decisions(const tensor_ir& ir, const fusion_group& group, const machine_model&) const final {
    return decide(ir, group);
  }
  void normalise(const tensor_ir& ir, const fusion_group& group, const machine_model&, assignment& chosen) const final {
    tidy(ir, group, chosen);
  }
  emitted_group emit(const tensor_ir& ir, const fusion_group& group, const machine_model&, const assignment& chosen) const final {
    return write(ir, group, chosen);
  }

 protected:
  [[nodiscard]] const simt_model& model() const { return model_; }

 private:
  simt_model model_;
};

/// Products over a common index on the ordinary arithmetic units (contraction_simt.cpp).
[[nodiscard]] std::unique_ptr<group_grammar> make_contraction_grammar(const simt_model& model);
/// Pooling, depthwise and small convolutions, directly (window_simt.cpp).
[[nodiscard]] std::unique_ptr<group_grammar> make_window_grammar(const simt_model& model);
/// Maps, row and column reductions, map-reduce-map chains, scans, gathers over common indices (row_simt.cpp).
[[nodiscard]] std::unique_ptr<group_grammar> make_row_grammar(const simt_model& model);
/// Any single statement, one thread per output element: always accepts, always right (plain_simt.cpp).
[[nodiscard]] std::unique_ptr<group_grammar> make_plain_grammar(const simt_model& model);

/// The rules generator over all SIMT grammars. Fails (bad_request) when the problem has no definition, or for a dialect without grammar.
[[nodiscard]] result<std::unique_ptr<generator>> make_simt_rules_generator(const problem& p, const memory::device_facts& facts,
                                                                           dialect language);

}  // namespace kernsmith::agents::simt
