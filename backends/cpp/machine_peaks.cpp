#include "backends/cpp/machine_peaks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "backends/cpp/workbench.hpp"
#include "config/hash.hpp"

namespace kernsmith::cpp {

namespace {

constexpr std::int64_t least_copy_elements = std::int64_t{8} << 20;
constexpr std::int64_t most_copy_elements = std::int64_t{96} << 20;
// A peak is what is left when nothing disturbs: many short tries find such a moment even on a busy machine.
constexpr int large_repetitions = 8, short_repetitions = 60;
constexpr double peak_timeout_s = 60;
constexpr std::int64_t cache_rounds = 2000, cache_elements = 2048;  // 8 kB in and out per thread
constexpr std::int64_t flop_rounds = 30000, flop_accumulators = 12, flop_lanes = 16;

const char* const peak_source =
    R"kernel(// Peaks of this machine: MODE 0 copies large buffers, 1 copies within the first-level cache, 2 multiplies and adds in registers.
#include "kernsmith_kernel.h"
#include <algorithm>
#include <cstring>
#include <omp.h>

typedef float lanes __attribute__((vector_size(64)));

static void copy_large(const float* from, float* to, int64_t n) {
#pragma omp parallel
  {
    const int64_t each = (n + omp_get_num_threads() - 1) / omp_get_num_threads();
    const int64_t begin = std::min(n, each * omp_get_thread_num()), end = std::min(n, begin + each);
    std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin) * sizeof(float));
  }
}

static void copy_cached(const float* from, float* to, int64_t elements, int64_t rounds) {
#pragma omp parallel
  {
    const float* source = from + elements * omp_get_thread_num();
    float* target = to + elements * omp_get_thread_num();
    for (int64_t round = 0; round < rounds; ++round) {
      for (int64_t i = 0; i < elements; i += 16) {
        lanes v;
        std::memcpy(&v, source + i, sizeof(v));
        std::memcpy(target + i, &v, sizeof(v));
      }
      asm volatile("" ::: "memory");
    }
  }
}

static void multiply_add(float* to, int64_t rounds) {
#pragma omp parallel
  {
    lanes a[12];
    for (int i = 0; i < 12; ++i) a[i] = lanes{} + static_cast<float>(i);
    lanes x = lanes{} + 0.999f, y = lanes{} + 0.001f;
    asm volatile("" : "+m"(x), "+m"(y));
    for (int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
      for (int i = 0; i < 12; ++i) a[i] = a[i] * x + y;
    }
    lanes sum{};
    for (int i = 0; i < 12; ++i) sum += a[i];
    std::memcpy(to + 16 * omp_get_thread_num(), &sum, sizeof(sum));
  }
}

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* from = static_cast<const float*>(in[0].data);
  float* to = static_cast<float*>(out[0].data);
  switch (ctx->axes[0]) {
    case 1: copy_large(from, to, ctx->axes[1]); return 0;
    case 2: copy_cached(from, to, ctx->axes[2], ctx->axes[3]); return 0;
    default: multiply_add(to, ctx->axes[3]); return 0;
  }
}
)kernel";

/// A problem in name only: one input, one output, sizes as axes.
problem peak_problem() {
  problem p;
  p.name = "machine peaks";
  p.axes = {{"MODE", 1}, {"N", 1}, {"ELEMENTS", 1}, {"ROUNDS", 1}};
  tensor_declaration in, out;
  in.name = "from";
  in.shape = {dim{1, 0}};
  out = in;
  out.name = "to";
  out.role = tensor_role::output;
  p.tensors = {in, out};
  return p;
}

/// Least time of several calls in one process: a peak is what the machine can do, not what it does on average.
result<double> least_ns(workbench& bench, const built_kernel& built, const std::vector<std::int64_t>& axes, int repetitions) {
  auto buffers = make_buffers(peak_problem(), axes, harness::guard_side::after, output_form::native);
  if (!buffers) return tl::unexpected(buffers.error());
  std::fill_n((*buffers)->inputs[0].data(), (*buffers)->inputs[0].bytes(), std::byte{1});
  auto process = bench.start(built.library, true);
  if (!process) return tl::unexpected(process.error());
  double least = 0;
  for (int i = 0; i < repetitions; ++i) {
    auto called = process->call({buffers->get()}, peak_timeout_s);
    if (!called) return tl::unexpected(called.error());
    if (called->status != harness::call_status::ok) {
      return fail(fault::infrastructure,
                  fmt::format("measuring this machine's peaks failed ({}): {}", outcome_of(called->status), called->detail));
    }
    const double net = std::max(called->wall_ns - process->empty_call_ns(), 0.05 * called->wall_ns);
    if (i == 1 || (i > 1 && net < least)) least = net;  // the first call touches the memory
  }
  return least;
}

std::filesystem::path file_for(const workbench& bench, const machine_facts& facts, std::size_t cores) {
  const std::string key = fmt::format("{}|{}|{}|{}", facts.model, facts.last_level_cache_bytes, cores, content_hash(peak_source));
  return bench.options().cache / fmt::format("machine-peaks-{}.json", content_hash(key));
}

machine_peaks stored_peaks(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) return {};
  const auto stored = nlohmann::json::parse(in, nullptr, false);
  if (!stored.is_object()) return {};
  const auto number = [&](const char* name) {
    const auto found = stored.find(name);
    return found != stored.end() && found->is_number() ? found->get<double>() : 0.0;
  };
  return {number("copy_gb_per_s"), number("cache_gb_per_s"), number("gflop_per_s")};
}

/// Written whole and renamed, so that two processes can't leave half a file. Only a record of past measurements: losing it costs nothing.
void store_peaks(const std::filesystem::path& file, const machine_peaks& peaks, std::uint64_t unique) {
  const std::filesystem::path draft = file.string() + fmt::format(".{:x}", unique);
  std::ofstream(draft) << nlohmann::json{
      {"copy_gb_per_s", peaks.copy_gb_per_s}, {"cache_gb_per_s", peaks.cache_gb_per_s}, {"gflop_per_s", peaks.gflop_per_s}};
  std::error_code ignored;
  std::filesystem::rename(draft, file, ignored);
}

}  // namespace

result<machine_peaks> measure_machine_peaks(workbench& bench) {
  const auto threads = static_cast<std::size_t>(bench.threads());
  const std::filesystem::path file = file_for(bench, bench.facts(), threads);
  machine_peaks peaks = stored_peaks(file);
  auto built = bench.build(peak_source);
  if (!built) return tl::unexpected(built.error());
  if (!built->outcome.empty()) {
    return fail(fault::infrastructure, fmt::format("the kernel that measures this machine does not build: {}", built->detail));
  }
  const std::int64_t cache_floats = bench.facts().last_level_cache_bytes / static_cast<std::int64_t>(sizeof(float));
  const std::int64_t copy = std::clamp<std::int64_t>(cache_floats, least_copy_elements, most_copy_elements);
  const std::int64_t small = cache_elements * static_cast<std::int64_t>(threads);
  auto large = least_ns(bench, *built, {1, copy, 1, 1}, large_repetitions);
  if (!large) return tl::unexpected(large.error());
  auto cached = least_ns(bench, *built, {2, small, cache_elements, cache_rounds}, short_repetitions);
  if (!cached) return tl::unexpected(cached.error());
  auto flops = least_ns(bench, *built, {3, small, 1, flop_rounds}, short_repetitions);
  if (!flops) return tl::unexpected(flops.error());
  const auto all = static_cast<double>(threads);
  peaks.copy_gb_per_s = std::max(peaks.copy_gb_per_s, 2.0 * 4.0 * static_cast<double>(copy) / *large);
  peaks.cache_gb_per_s = std::max(peaks.cache_gb_per_s, 2.0 * 4.0 * all * static_cast<double>(cache_elements * cache_rounds) / *cached);
  peaks.gflop_per_s = std::max(peaks.gflop_per_s, 2.0 * all * static_cast<double>(flop_rounds * flop_accumulators * flop_lanes) / *flops);
  store_peaks(file, peaks, bench.entropy());
  return peaks;
}

}  // namespace kernsmith::cpp
