// A PyTorch module in a file (class Model, get_inputs, get_init_inputs, as KernelBench has them) becomes a problem; so does a
// FlashInfer-Trace definition (.json, with its workloads in a .jsonl of the same name beside it).
//
// The file runs in the sandbox: no network, nothing to write but a private /tmp, limits on time and memory. A tracer (trace/*.py) follows
// its forward call by call and gives back one JSON document: the definition, which module constants its sizes follow, and samples of what
// the module itself computes in float64 on small inputs of several kinds. The definition is held against the samples here, by the
// interpreter; where they differ the file is refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/problem.hpp"

namespace kernsmith::pytorch {

/// Of one trace, import of PyTorch included.
inline constexpr double trace_timeout_s = 200;
/// What the file's own functions may take of a processor; twice that by the clock.
inline constexpr double module_timeout_s = 60;
inline constexpr std::int64_t max_trace_memory_bytes = std::int64_t{8} << 30;
inline constexpr std::int64_t max_trace_document_bytes = std::int64_t{256} << 20;

struct trace_options {
  std::map<std::string, std::int64_t> constants;  ///< module constants to use instead of the file's own
  std::int64_t memory_bytes = 0;                  ///< what a workload may take; 0: no question of it
  bool fit = false;                               ///< halve the largest axes until a workload fits into memory_bytes
  double module_time_s = module_timeout_s;
};

struct traced_module {
  problem task;
  std::string text;                  ///< the problem as a problem file that stands beside the module's file
  std::vector<std::string> notes;    ///< what a user should know: sizes that were reduced
  int samples = 0;                   ///< on which definition and module agreed
  double largest_difference = 0;     ///< relative, over all samples
  double import_s = 0, trace_s = 0;  ///< inside of Python
};

/// Whether a file is given to trace_module rather than to load_problem: by its name (.py, .json).
[[nodiscard]] bool is_module_file(const std::filesystem::path& file);

/// bad_request with "file:line: ..." for a file that can't become a problem, missing_here without PyTorch or a sandbox.
[[nodiscard]] result<traced_module> trace_module(const std::filesystem::path& file, const trace_options& options = {});

/// Bytes that one workload takes here: inputs, outputs and a float64 reference of the outputs.
[[nodiscard]] double workload_bytes(const problem& p, const std::vector<std::int64_t>& axes);

}  // namespace kernsmith::pytorch
