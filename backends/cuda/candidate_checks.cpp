#include "backends/cuda/candidate_checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/conduct.hpp"

namespace kernsmith::cuda {

namespace {

constexpr std::size_t first_shapes = 1, search_shapes = 3, all_shapes = 100;
constexpr double most_check_timeout_s = 60;
constexpr double check_timeout_factor = 20;  // of the baseline's own time

}  // namespace

double candidate_checks::check_timeout_s(const workload_state& w) const {
  const double baseline_s = w.baselines.front().call_ns * 1e-9, least_s = bench_.options().call_timeout_s;
  return std::clamp(least_s + check_timeout_factor * baseline_s, least_s, std::max({most_check_timeout_s, least_s, 2 * baseline_s}));
}

result<bool> candidate_checks::took_too_much(std::size_t free_before, memory::evaluation& e) {
  auto now = bench_.on()->free_bytes();
  if (!now) return tl::unexpected(now.error());
  const auto limit = static_cast<std::size_t>(bench_.options().memory_limit_bytes);
  // The next candidate's runner may have been set up meanwhile.
  if (free_before <= *now || free_before - *now <= limit + bench_.runner_bytes()) return false;
  e.outcome = "resource_limit";
  e.detail = fmt::format("took {} MiB of device memory; the limit is {} MiB", (free_before - *now) >> 20, limit >> 20);
  return true;
}

result<check_result> candidate_checks::conduct(kernel_process& process, const built_kernel& kernel) {
  workload_state& w = *bench_.workloads().front();
  return check_conduct(bench_.subject(), bench_.language(), process, kernel.library, bench_.trusted(), *w.verified, check_timeout_s(w));
}

bool candidate_checks::took_failure(const check_result& check, memory::evaluation& e) {
  e.verification.max_error = std::max(e.verification.max_error, check.max_error);
  if (check.ok()) return false;
  e.outcome = check.outcome;
  e.detail = check.detail;
  e.rule = check.rule;
  e.verification.first_failure = check.detail;
  return true;
}

result<bool> candidate_checks::check_case(kernel_process& process, const test_case& c, device_buffers& buffers, bool twice,
                                          double timeout_s, memory::evaluation& e) {
  for (int run = 0; run < (twice ? 2 : 1); ++run) {
    const harness::poison pattern = run == 0 ? harness::poison::not_a_number() : harness::poison::finite(bench_.entropy());
    auto check = bench_.judging().kernel(c, process, buffers, pattern, timeout_s);
    if (!check) return tl::unexpected(check.error());
    check->max_error /= c.budget_scale;
    if (took_failure(*check, e)) return false;
  }
  ++e.verification.cases;
  return true;
}

result<bool> candidate_checks::check_edges(kernel_process& process, const std::vector<edge_case*>& list, std::size_t from,
                                           memory::evaluation& e) {
  for (std::size_t i = from; i < list.size(); ++i) {
    auto right = check_case(process, list[i]->c, *list[i]->buffers, true, bench_.options().call_timeout_s, e);
    if (!right || !*right) return right;
  }
  return true;
}

result<bool> candidate_checks::check_stream_order(kernel_process& process, edge_case& edge, memory::evaluation& e) {
  if (!edge.second) {
    auto made = make_device_buffers(bench_.on(), bench_.subject(), edge.c.axes, harness::guard_side::after, output_form::native);
    if (!made) return tl::unexpected(made.error());
    edge.second = std::move(*made);
  }
  auto check = bench_.judging().stream_order(edge.c, process, *edge.second, *edge.buffers, bench_.options().call_timeout_s);
  if (!check) return tl::unexpected(check.error());
  if (took_failure(*check, e)) return false;
  ++e.verification.cases;
  return true;
}

/// Small before large, cheap before dear: each stage only for what the one before let through.
result<void> candidate_checks::verify_cases(kernel_process& process, effort how, memory::evaluation& e) {
  const auto ended = [](const result<bool>& right) -> result<void> { return right ? result<void>() : tl::unexpected(right.error()); };
  auto first = bench_.edge_shapes(first_shapes);
  if (!first) return tl::unexpected(first.error());
  if (auto right = check_edges(process, *first, 0, e); !right || !*right) return ended(right);
  if (!first->empty()) {
    if (auto right = check_stream_order(process, *first->front(), e); !right || !*right) return ended(right);
  }
  for (const auto& w : bench_.workloads()) {
    if (bench_.stopped()) return fail(fault::interrupted, "stopped while a candidate was verified");
    auto right = check_case(process, w->main, *w->verified, how == effort::final, check_timeout_s(*w), e);
    if (!right || !*right) return ended(right);
    if (how == effort::quick) return {};
  }
  auto more = bench_.edge_shapes(how == effort::final ? all_shapes : search_shapes);
  if (!more) return tl::unexpected(more.error());
  if (auto right = check_edges(process, *more, first->size(), e); !right || !*right) return ended(right);
  if (how != effort::final) return {};
  auto contents = bench_.hard_contents();
  if (!contents) return tl::unexpected(contents.error());
  if (auto right = check_edges(process, *contents, 0, e); !right || !*right) return ended(right);
  auto hidden = bench_.hidden_shape(bench_.entropy());
  if (!hidden) return tl::unexpected(hidden.error());
  if (*hidden == nullptr) return {};
  return ended(check_edges(process, {*hidden}, 0, e));
}

result<void> candidate_checks::verify(kernel_process& process, effort how, memory::evaluation& e) {
  auto free_before = bench_.on()->free_bytes();
  if (!free_before) return tl::unexpected(free_before.error());
  if (auto verified = verify_cases(process, how, e); !verified || !e.outcome.empty()) return verified;
  auto greedy = took_too_much(*free_before, e);
  return greedy ? result<void>() : tl::unexpected(greedy.error());
}

}  // namespace kernsmith::cuda
