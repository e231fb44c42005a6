// A verified kernel as something that others can use: a KernelBench module, a FlashInfer solution, a PyTorch extension package, plain
// source with its header. Values in, files out.
#pragma once

#include <string>
#include <vector>

#include "config/error.hpp"
#include "config/problem.hpp"

namespace kernsmith::pytorch {

struct exported_workload {
  std::vector<std::int64_t> axes;  ///< parallel to the problem's
  double kernel_ns = 0;            ///< median
  double module_ns = 0;            ///< of the PyTorch baseline
  bool faster = false;             ///< verified, beyond the noise
};

struct verified_solution {
  std::string candidate;  ///< id; empty when there is none
  std::string language;   ///< "cpp" | "cuda"
  std::string source;
  std::string target;       ///< "cuda/sm_90a"
  std::string measured_on;  ///< device, versions
  std::string baseline;     ///< name of the PyTorch baseline that `module_ns` is of
  std::vector<exported_workload> workloads;
};

struct exported_file {
  std::string name;  ///< relative
  std::string text;
};

/// What calling the kernel from Python takes beyond the kernel: where the gain on a workload is less, the module's own forward is taken.
inline constexpr double dispatch_ns = 15'000;

/// One self-contained file with `class ModelNew`. bad_request without a [module], for a kernel in another language than C++ or CUDA, and
/// where no workload was verified faster than the module by more than dispatch_ns.
[[nodiscard]] result<std::vector<exported_file>> export_module(const problem& p, const verified_solution& solution);
/// solution.json as FlashInfer-Trace has it: the same module behind a function `run` that takes outputs last.
[[nodiscard]] result<std::vector<exported_file>> export_flashinfer(const problem& p, const verified_solution& solution);
/// A package with setup.py: the kernel as operator torch.ops.NAME.run, and the module that calls it.
[[nodiscard]] result<std::vector<exported_file>> export_extension(const problem& p, const verified_solution& solution);
/// The kernel, its header and a page that says how to build and call it. Any language.
[[nodiscard]] result<std::vector<exported_file>> export_source(const problem& p, const verified_solution& solution);

}  // namespace kernsmith::pytorch
