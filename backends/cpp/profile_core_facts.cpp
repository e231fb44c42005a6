#include "backends/cpp/profile_core_facts.hpp"

#include "backends/harness/profile_run.hpp"
#include "config/problem.hpp"

namespace kernsmith::cpp {

namespace {

constexpr std::int64_t fork_join_regions = 200;

const char* const fork_join_source = R"kernel(#include "kernsmith_kernel.h"
extern "C" int launch(const ks_tensor*, int, ks_tensor*, int, ks_launch* ctx) {
  for (int64_t i = 0; i < ctx->axes[0]; ++i) {
#pragma omp parallel
    { asm volatile("" ::: "memory"); }
  }
  return 0;
}
)kernel";

/// Products that wait for each other: three cycles each on all x86-64 cores of the last fifteen years, whatever else they do.
const char* const clock_source = R"kernel(#include "kernsmith_kernel.h"
extern "C" int launch(const ks_tensor*, int, ks_tensor* out, int, ks_launch* ctx) {
  uint64_t x = 3;
  for (int64_t i = 0; i < ctx->axes[0]; ++i) {
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) {
      x *= x;
      asm volatile("" : "+r"(x));
    }
  }
  static_cast<float*>(out[0].data)[0] = static_cast<float>(x);
  return 0;
}
)kernel";
constexpr double clock_cycles_per_round = 8 * 3;

/// A problem in name only: no inputs, one number out.
problem empty_problem() {
  problem p;
  p.name = "core facts";
  p.axes = {{"ROUNDS", 1}};
  tensor_declaration out;
  out.name = "nothing";
  out.role = tensor_role::output;
  out.shape = {dim{1, 0}};
  p.tensors = {out};
  return p;
}

/// Time of one call of `source`, which runs `rounds` rounds.
result<double> call_ns(const toolchain& compiler, const char* source, std::int64_t rounds, const std::vector<int>& cores,
                       const std::filesystem::path& scratch) {
  auto built = compiler.build(source);
  if (!built) return tl::unexpected(built.error());
  if (!built->outcome.empty())
    return fail(fault::infrastructure, "a kernel that measures this machine's cores does not build: " + built->detail);
  auto folder = harness::profile_folder::create(empty_problem(), {rounds}, 1, scratch);
  if (!folder) return tl::unexpected(folder.error());
  harness::profile_run_spec spec;
  spec.library = built->library;
  spec.cores = cores;
  spec.calls = 20;
  spec.seconds = 0.1;
  auto report = harness::run_for_profile(*folder, spec);
  if (!report) return tl::unexpected(report.error());
  return report->call_ns;
}

}  // namespace

result<core_facts> measure_core_facts(const toolchain& compiler, const std::vector<int>& cores, const std::filesystem::path& scratch) {
  core_facts facts;
  const auto regions_ns = call_ns(compiler, fork_join_source, fork_join_regions, cores, scratch);
  if (!regions_ns) return tl::unexpected(regions_ns.error());
  facts.fork_join_ns = *regions_ns / static_cast<double>(fork_join_regions);
#if defined(__x86_64__)
  constexpr std::int64_t rounds = 100000;
  const auto chain_ns = call_ns(compiler, clock_source, rounds, {cores.front()}, scratch);
  if (!chain_ns) return tl::unexpected(chain_ns.error());
  facts.clock_ghz = clock_cycles_per_round * static_cast<double>(rounds) / *chain_ns;
#endif
  return facts;
}

}  // namespace kernsmith::cpp
