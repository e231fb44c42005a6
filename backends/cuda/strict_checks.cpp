#include "backends/cuda/strict_checks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>

#include "backends/cpp/work_model.hpp"
#include "backends/harness/profile_run.hpp"
#include "config/edge_shapes.hpp"

namespace kernsmith::cuda {

namespace fs = std::filesystem;

namespace {

/// Instrumented kernels run some hundred times slower; a case of this many operations takes about a second.
constexpr double most_operations = 4e6;
constexpr std::size_t edge_shapes = 3;
constexpr double case_timeout_s = 40;

// Kernels with the one fault that a tool has to find. They need no tensors.
constexpr const char* past_the_end = R"(#include "kernsmith_kernel.h"
#include <cuda_runtime.h>
__global__ void faulty(int* table, int n) { table[n] = 1; }
extern "C" int launch(const ks_tensor*, int, ks_tensor*, int, ks_launch* ctx) {
  int* table = nullptr;
  if (cudaMalloc(&table, 16) != cudaSuccess) return 1;
  faulty<<<1, 1, 0, static_cast<cudaStream_t>(ctx->stream)>>>(table, 4);
  return 0;
})";
constexpr const char* racing_warps = R"(#include "kernsmith_kernel.h"
#include <cuda_runtime.h>
__global__ void faulty(int* table) {
  __shared__ int shared[128];
  shared[threadIdx.x] = static_cast<int>(threadIdx.x);
  table[threadIdx.x] = shared[127 - threadIdx.x];
}
extern "C" int launch(const ks_tensor*, int, ks_tensor*, int, ks_launch* ctx) {
  int* table = nullptr;
  if (cudaMalloc(&table, 512) != cudaSuccess) return 1;
  faulty<<<1, 128, 0, static_cast<cudaStream_t>(ctx->stream)>>>(table);
  return 0;
})";
constexpr const char* reads_unwritten = R"(#include "kernsmith_kernel.h"
#include <cuda_runtime.h>
__global__ void faulty(int* table) { table[0] = table[1]; }
extern "C" int launch(const ks_tensor*, int, ks_tensor*, int, ks_launch* ctx) {
  int* table = nullptr;
  if (cudaMalloc(&table, 16) != cudaSuccess) return 1;
  faulty<<<1, 1, 0, static_cast<cudaStream_t>(ctx->stream)>>>(table);
  return 0;
})";
constexpr const char* divergent_barrier = R"(#include "kernsmith_kernel.h"
#include <cuda_runtime.h>
__global__ void faulty(int* table) {
  if (threadIdx.x < 40) __syncthreads();
  table[threadIdx.x] = 1;
}
extern "C" int launch(const ks_tensor*, int, ks_tensor*, int, ks_launch* ctx) {
  int* table = nullptr;
  if (cudaMalloc(&table, 512) != cudaSuccess) return 1;
  faulty<<<1, 64, 0, static_cast<cudaStream_t>(ctx->stream)>>>(table);
  return 0;
})";

const char* kernel_with_fault(sanitizer_tool tool) {
  switch (tool) {
    case sanitizer_tool::memcheck:
      return past_the_end;
    case sanitizer_tool::racecheck:
      return racing_warps;
    case sanitizer_tool::initcheck:
      return reads_unwritten;
    case sanitizer_tool::synccheck:
      break;
  }
  return divergent_barrier;
}

/// "========= Invalid __global__ write of size 4 bytes" -> what stands behind the bar.
std::string_view without_bar(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of("= "), line.size()));
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  return line;
}

/// The word for a line that opens a report, or null. As TSan's races on CPUs, a race may be right today: it is no fixed answer.
const char* outcome_of_line(std::string_view line) {
  const auto says = [line](std::string_view words) { return line.find(words) != std::string_view::npos; };
  if (says("Invalid __") || says("out-of-bounds") || says("Address")) return says("misaligned") ? "crashed" : "out_of_bounds";
  if (says("Misaligned")) return "crashed";
  if (says("Race reported") || says("hazard detected") || says("hazard at")) return "nondeterministic";
  if (says("Uninitialized __")) return "nondeterministic";
  if (says("Barrier error") || says("Divergent thread")) return "crashed";
  return nullptr;
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::optional<fs::path> find_sanitizer(const fs::path& nvcc) {
  const char* const set = std::getenv("PATH");
  std::istringstream folders(nvcc.parent_path().string() + ":" + (set != nullptr ? set : "") + ":/usr/local/cuda/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path candidate = fs::path(folder) / "compute-sanitizer";
    if (candidate.is_absolute() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(sanitizer_tool tool) {
  constexpr std::array<std::string_view, 4> names = {"memcheck", "racecheck", "initcheck", "synccheck"};
  return names[static_cast<std::size_t>(tool)];
}

sanitizer_output read_sanitizer_output(sanitizer_tool tool, std::string_view output) {
  sanitizer_output read;
  std::string place;
  while (!output.empty()) {
    const std::size_t end = std::min(output.find('\n'), output.size());
    const std::string_view raw = output.substr(0, end), line = without_bar(raw);
    output.remove_prefix(std::min(end + 1, output.size()));
    if (!raw.starts_with("=====")) continue;
    if (line.find("SUMMARY:") != std::string_view::npos) read.complete = true;
    if (read.finding && place.empty() && line.starts_with("at ")) place = line;
    if (read.finding) continue;
    if (const char* outcome = outcome_of_line(line)) read.finding = device_finding{outcome, std::string(line)};
  }
  if (read.finding) {
    std::string& text = read.finding->text;
    text = fmt::format("{}: {}{}{}", name_of(tool), text, place.empty() ? "" : " ", place);
    for (std::size_t at = 0; (at = text.find("/build/")) != std::string::npos;) text.erase(at, std::string_view("/build/").size());
  }
  return read;
}

result<std::optional<sanitizer_output>> strict_checks::examine(sanitizer_tool tool, const fs::path& library,
                                                               const std::vector<std::int64_t>& axes) {
  auto folder = harness::profile_folder::create(bench_.subject(), axes, bench_.options().seed, bench_.options().cache / "strict");
  if (!folder) return tl::unexpected(folder.error());
  harness::profile_run_spec spec;
  spec.library = library;
  spec.cores = bench_.options().cores;
  spec.wrapper = {program_.string(), "--tool", std::string(name_of(tool)), "--report-api-errors", "no", "--target-processes", "all"};
  spec.accelerator = bench_.on()->access();
  spec.environment = bench_.on()->environment();
  std::error_code failed;
  const fs::path real = fs::canonical(program_, failed);
  if (!real.string().starts_with("/usr/")) spec.readable.push_back(real.parent_path());
  spec.warm_calls = 0;
  spec.calls = 1;
  spec.timeout_s = case_timeout_s;
  spec.stop = bench_.options().stop;
  std::string printed;
  spec.output = &printed;
  auto ran = harness::run_for_profile(*folder, spec);
  // A run that memcheck ends early leaves no report of times, but has printed what there is to know.
  if (!ran && ran.error().kind != fault::bad_request) return tl::unexpected(ran.error());
  const sanitizer_output read = read_sanitizer_output(tool, printed);
  if (read.finding || read.complete) return std::optional(read);
  if (!ran && ran.error().message.find("it ran for more than") != std::string::npos) return std::optional<sanitizer_output>();
  return fail(fault::missing_here, fmt::format("compute-sanitizer's {} does not work here: {}", name_of(tool),
                                               ran ? printed.substr(0, 400) : ran.error().message));
}

result<void> strict_checks::prepare() {
  const auto found = find_sanitizer(bench_.compiler().program());
  if (!found) {
    return fail(
        fault::missing_here,
        "--strict needs compute-sanitizer, which comes with the CUDA toolkit and is not beside nvcc or on the PATH; install it, or leave "
        "--strict out");
  }
  program_ = *found;
  for (const sanitizer_tool tool : all_sanitizer_tools) {
    auto built = bench_.build(kernel_with_fault(tool));
    if (!built) return tl::unexpected(built.error());
    if (!built->outcome.empty()) return fail(fault::bug, "a kernel for trying compute-sanitizer does not build: " + built->log);
    const auto small = edge_axes(bench_.subject(), 1);
    auto read = examine(tool, built->library, small.empty() ? bench_.subject().workloads.front().axes : small.front());
    if (!read) return tl::unexpected(read.error());
    if (!*read || !(*read)->finding) {
      return fail(fault::missing_here,
                  fmt::format("compute-sanitizer's {} did not find the fault in a kernel made for its trial, so that its "
                              "silence would prove nothing; leave --strict out",
                              name_of(tool)));
    }
  }
  return {};
}

/// Edge shapes, and the workloads as far as they must be shrunk.
std::vector<std::vector<std::int64_t>> strict_checks::cases() const {
  const problem& p = bench_.subject();
  std::vector<std::vector<std::int64_t>> all = edge_axes(p, edge_shapes);
  for (const workload& w : p.workloads) {
    const double operations = p.statements.empty() ? most_operations * 4 : cpp::work_of(p, w.axes).flops;
    const auto axes =
        cpp::shrink_axes(p, w.axes, [&](const std::vector<std::int64_t>&, double share) { return operations * share <= most_operations; });
    if (std::find(all.begin(), all.end(), axes) == all.end()) all.push_back(axes);
  }
  return all;
}

result<void> strict_checks::run(const built_kernel& kernel, memory::evaluation& e) {
  for (const sanitizer_tool tool : all_sanitizer_tools) {
    memory::sanitizer_run record;
    record.name = name_of(tool);
    const double began_s = now_s();
    for (const std::vector<std::int64_t>& axes : cases()) {
      if (bench_.stopped()) return fail(fault::interrupted, "stopped while a candidate ran under compute-sanitizer");
      auto read = examine(tool, kernel.library, axes);
      if (!read) return tl::unexpected(read.error());
      if (!*read) {
        ++record.left_out;
        continue;
      }
      ++record.cases;
      if (!(*read)->finding) continue;
      e.outcome = (*read)->finding->outcome;
      e.detail = fmt::format("{}: {}", axes_text(bench_.subject(), axes), (*read)->finding->text);
      e.verification.first_failure = e.detail;
      record.finding = (*read)->finding->text;
      break;
    }
    record.seconds = now_s() - began_s;
    e.sanitizers.push_back(record);
    if (!record.finding.empty()) return {};
    if (record.cases == 0)
      return fail(fault::infrastructure,
                  fmt::format("compute-sanitizer's {} came to the end of no case: nothing was examined", name_of(tool)));
  }
  return {};
}

}  // namespace kernsmith::cuda
