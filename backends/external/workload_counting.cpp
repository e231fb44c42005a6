#include "backends/external/workload_counting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "config/hash.hpp"

namespace kernsmith::external {

using harness::effort;

namespace {

constexpr double reference_timeout_s = 600;
/// Blocks of ABBA runs where counts vary from run to run.
constexpr int quick_blocks = 3, search_blocks = 4, final_blocks = 10;

std::size_t contents_for(effort how) {
  return how == effort::quick ? 1 : how == effort::search ? 2 : 4;
}

int blocks_for(effort how) {
  return how == effort::quick ? quick_blocks : how == effort::search ? search_blocks : final_blocks;
}

}  // namespace

/// New contents, and what must come out of them.
result<void> workload_counting::refill(cpp::test_case& c) {
  const problem& p = bench_.subject();
  const std::vector<int> inputs = p.inputs();
  const std::uint64_t seed = bench_.entropy();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::uint64_t own = derive_seed(seed, p.tensors[static_cast<std::size_t>(inputs[i])].name);
    if (auto filled = fill_input(p, inputs[i], c.axes, own, c.kind, c.oracle->inputs[i].data()); !filled) return filled;
  }
  auto process = bench_.process_of(bench_.reference());
  if (!process) return tl::unexpected(process.error());
  auto called = (*process)->call({c.oracle.get()}, reference_timeout_s);
  if (!called) return tl::unexpected(called.error());
  if (called->status == harness::call_status::ok) return {};
  return fail(fault::infrastructure, fmt::format("the reference failed on new contents of {}: {}", c.what, called->detail));
}

result<void> workload_counting::draw_contents(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (i < fresh_.size()) {
      if (auto filled = refill(fresh_[i]); !filled) return filled;
      continue;
    }
    auto made = bench_.make_case(workload_.main.what + " (counted)", workload_.main.axes, content::as_declared, bench_.entropy());
    if (!made) return tl::unexpected(made.error());
    made->precision_limit = workload_.main.precision_limit;
    fresh_.push_back(std::move(*made));
  }
  return {};
}

/// One call on the verification contents, which isn't counted, then one on each of the fresh contents in `order`. Counts are of the latter,
/// by content.
result<run_outcome> workload_counting::count(const harness::built_kernel& kernel, const std::vector<std::size_t>& order) {
  const auto poison = [this] { return harness::poison::finite(bench_.entropy()); };
  std::vector<device_call> calls = {{&workload_.main, poison()}};
  for (const std::size_t content : order) calls.push_back({&fresh_[content], poison()});
  auto ran = runs_.run(kernel, calls);
  if (!ran || !ran->check.ok()) return ran;
  if (ran->counts.size() != calls.size()) {
    ran->check.outcome = "unmeasured";
    ran->check.detail =
        fmt::format("the run reported the counter '{}' for {} of {} calls", objective_.counter, ran->counts.size(), calls.size());
    return ran;
  }
  std::vector<double> by_content(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) by_content[order[i]] = ran->counts[i + 1];
  ran->counts = std::move(by_content);
  return ran;
}

result<bool> workload_counting::count_candidate(const harness::built_kernel& kernel, const std::vector<std::size_t>& order,
                                                std::vector<double>& into, workload_count& so_far) {
  auto ran = count(kernel, order);
  if (!ran) return tl::unexpected(ran.error());
  so_far.unexplained = ran->unexplained;
  if (!ran->check.ok()) {
    so_far.failure = std::move(ran->check);
    return false;
  }
  so_far.failure.max_error = std::max(so_far.failure.max_error, ran->check.max_error);
  so_far.checked += static_cast<std::int64_t>(ran->counts.size());
  so_far.counters = std::move(ran->counters);
  into.insert(into.end(), ran->counts.begin(), ran->counts.end());
  return true;
}

result<void> workload_counting::count_baseline(const harness::built_kernel& baseline, const std::vector<std::size_t>& order,
                                               std::vector<double>& into) {
  auto ran = count(baseline, order);
  if (!ran) return tl::unexpected(ran.error());
  // Its values may be a little further off than a candidate's may be; that was settled when the problem was admitted.
  if (ran->counts.size() != order.size())
    return fail(fault::infrastructure, fmt::format("the baseline failed where it had been right: {}", ran->check.detail));
  into.insert(into.end(), ran->counts.begin(), ran->counts.end());
  return {};
}

/// Both legs on the same contents; in final measurements the candidate once more, since an exact counter has to repeat.
result<void> workload_counting::measure_exactly(const harness::built_kernel& kernel, const harness::built_kernel& baseline, effort how,
                                                std::vector<std::size_t> order, workload_count& so_far) {
  std::shuffle(order.begin(), order.end(), std::mt19937_64(bench_.entropy()));
  if (auto drawn = draw_contents(order.size()); !drawn) return drawn;
  harness::timing_block block;
  auto counted = count_candidate(kernel, order, block.candidate_ns, so_far);
  if (!counted || !*counted) return counted ? result<void>() : tl::unexpected(counted.error());
  if (how == effort::final) {
    std::vector<double> again;
    counted = count_candidate(kernel, order, again, so_far);
    if (!counted || !*counted) return counted ? result<void>() : tl::unexpected(counted.error());
    if (again != block.candidate_ns) {
      so_far.failure.outcome = "unmeasured";
      so_far.failure.detail = fmt::format("{}: the counter '{}' is declared deterministic and gave {:.0f}, then {:.0f} for the same call",
                                          workload_.main.what, objective_.counter, block.candidate_ns.front(), again.front());
      return {};
    }
  }
  if (auto done = count_baseline(baseline, order, block.baseline_ns); !done) return done;
  so_far.ratio = exact_ratio({block.candidate_ns, block.baseline_ns});
  so_far.blocks.push_back(std::move(block));
  return {};
}

result<void> workload_counting::measure_in_blocks(const harness::built_kernel& kernel, const harness::built_kernel& baseline, effort how,
                                                  std::vector<std::size_t> order, workload_count& so_far) {
  std::mt19937_64 engine(bench_.entropy());
  for (int number = 0; number < blocks_for(how); ++number) {
    if (auto drawn = draw_contents(order.size()); !drawn) return drawn;
    std::shuffle(order.begin(), order.end(), engine);
    harness::timing_block block;
    block.launch = number;
    const bool candidate_outside = engine() % 2 == 0;
    for (int run = 0; run < 4; ++run) {  // ABBA or BAAB
      const bool outside = run == 0 || run == 3;
      if (outside == candidate_outside) {
        auto counted = count_candidate(kernel, order, block.candidate_ns, so_far);
        if (!counted || !*counted) return counted ? result<void>() : tl::unexpected(counted.error());
      } else if (auto done = count_baseline(baseline, order, block.baseline_ns); !done) {
        return done;
      }
    }
    so_far.blocks.push_back(std::move(block));
  }
  so_far.ratio = harness::estimate_ratio(so_far.blocks, bench_.options().seed);
  return {};
}

result<workload_count> workload_counting::measure(const harness::built_kernel& kernel, const harness::built_kernel& baseline, effort how) {
  workload_count counted;
  std::vector<std::size_t> order(contents_for(how));
  std::iota(order.begin(), order.end(), std::size_t{0});
  auto done = objective_.deterministic ? measure_exactly(kernel, baseline, how, order, counted)
                                       : measure_in_blocks(kernel, baseline, how, order, counted);
  if (!done) return tl::unexpected(done.error());
  if (counted.failure.ok() && counted.ratio.ratio <= 0) {
    counted.failure.outcome = "unmeasured";
    counted.failure.detail = fmt::format("{}: the counter '{}' counted nothing", workload_.main.what, objective_.counter);
  }
  return counted;
}

}  // namespace kernsmith::external
