#include "backends/cpp/paired_timing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "backends/cpp/fresh_contents.hpp"
#include "backends/cpp/unusual_pairs.hpp"

namespace kernsmith::cpp {

namespace {

/// Inputs are compared whole up to here after each timed call, and in a window that moves at random above: a modification is found within a
/// few calls.
constexpr std::size_t input_window_bytes = std::size_t{2} << 20;
/// After one block in so many comes a pair with an unusual renewal: often where writing all inputs of a batch costs next to nothing, seldom
/// where it takes longer than the calls, not at all beyond.
constexpr std::size_t cheap_renewal_bytes = std::size_t{8} << 20, dear_renewal_bytes = std::size_t{128} << 20;
constexpr std::uint64_t surprise_share = 2, dear_surprise_share = 6;
/// In one pair of this many, one set is made ready like the others but left out of the batch: a kernel that works ahead gives itself away.
constexpr std::uint64_t left_out_share = 2;
/// Of the outputs that must stay untouched, so much is looked at.
constexpr std::size_t left_out_window_bytes = std::size_t{1} << 20;
/// An outside time can't be less than this share of what was measured, however slow an empty batch was.
constexpr double least_share = 0.05;
/// References are exact, and slow.
constexpr double arbiter_timeout_s = 600;
/// Idle pools spin for a while before they sleep. One that spins for longer than this spins for ever, and has its own timings to blame.
constexpr double rest_timeout_s = 0.05;

std::vector<kernel_buffers*> chosen(const std::vector<kernel_buffers*>& sets, const std::vector<std::size_t>& positions) {
  std::vector<kernel_buffers*> some;
  for (const std::size_t position : positions) some.push_back(sets[position]);
  return some;
}

}  // namespace

paired_timing::paired_timing(const problem& p, const test_case& c, timing_buffers& buffers, kernel_process& candidate,
                             const trusted_leg& trusted, const timing_plan& plan, std::uint64_t seed)
    : p_(p), case_(c), candidate_(candidate), trusted_(trusted), plan_(plan), state_(seed) {
  const auto batch = std::min({static_cast<std::size_t>(plan.batch), buffers.candidate.size(), buffers.trusted.size()});
  for (std::size_t i = 0; i < batch; ++i) {
    candidate_sets_.push_back(buffers.candidate[i].get());
    trusted_sets_.push_back(buffers.trusted[i].get());
    copy_inputs(*c.oracle, *candidate_sets_[i], plan.threads);
    copy_inputs(*c.oracle, *trusted_sets_[i], plan.threads);
  }
}

std::uint64_t paired_timing::random() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

void paired_timing::draw_batch(bool may_leave_out) {
  batch_.resize(candidate_sets_.size());
  std::iota(batch_.begin(), batch_.end(), std::size_t{0});
  for (std::size_t i = batch_.size(); i > 1; --i) std::swap(batch_[i - 1], batch_[random() % i]);
  left_out_.reset();
  if (!may_leave_out || batch_.size() < 2 || random() % left_out_share != 0) return;
  left_out_ = batch_.back();
  batch_.pop_back();
}

check_result paired_timing::judge_left_out() const {
  check_result check;
  if (!left_out_) return check;
  if (fingerprint_of_outputs(*candidate_sets_[*left_out_], left_out_where_, left_out_window_bytes) == left_out_before_) return check;
  check.outcome = "cheating";
  check.rule = "works_ahead";
  check.detail = fmt::format("{}, in a timed batch: it wrote outputs of a call that was never made", case_.what);
  return check;
}

void paired_timing::await_rest() {
  (void)candidate_.settle(rest_timeout_s);
  if (trusted_.process != nullptr) (void)trusted_.process->settle(rest_timeout_s);
}

double paired_timing::per_call(const harness::call_result& call, kernel_process& process) const {
  const double net = std::max(call.wall_ns - process.empty_call_ns(), call.wall_ns * least_share);
  return net / static_cast<double>(batch_.size());
}

result<void> paired_timing::refresh(std::vector<kernel_buffers*>& sets, std::uint64_t contents) {
  for (kernel_buffers* set : sets) {
    const auto change = renewal_ == harness::renewal::part ? freshen : renewal_ == harness::renewal::whole ? renew : freshen_rewriting;
    if (auto changed = change(p_, *case_.oracle, *set, contents); !changed) return changed;
    contents = contents * 6364136223846793005ull + 1442695040888963407ull;
  }
  return {};
}

void paired_timing::fill_outputs(const std::vector<kernel_buffers*>& sets, harness::poison pattern, std::uint64_t where) {
  for (kernel_buffers* set : sets) {
    for (harness::shared_buffer& b : set->outputs) harness::fill_poison_sampled(b.data(), b.bytes(), pattern, where);
  }
}

result<std::optional<check_result>> paired_timing::run_candidate(std::uint64_t contents, harness::poison pattern, double& per_call_ns) {
  const auto failed = [&](const harness::call_result& call) {
    check_result check;
    check.outcome = outcome_of(call.status);
    check.detail = fmt::format("{}, in a timed call: {}", case_.what, call.detail);
    return std::optional<check_result>(check);
  };
  candidate_.thaw();
  if (plan_.warm) {
    auto warmed = candidate_.call(candidate_sets_, plan_.timeout_s);
    if (!warmed) return tl::unexpected(warmed.error());
    if (warmed->status != harness::call_status::ok) return failed(*warmed);
  }
  if (auto changed = refresh(candidate_sets_, contents); !changed) return tl::unexpected(changed.error());
  fill_outputs(candidate_sets_, pattern, contents);
  if (plan_.evict != nullptr) {
    for (std::size_t line = 0; line < plan_.evict->size(); line += 64) (*plan_.evict)[line] = static_cast<std::byte>(contents + line);
  }
  if (left_out_) {
    left_out_where_ = contents;
    left_out_before_ = fingerprint_of_outputs(*candidate_sets_[*left_out_], left_out_where_, left_out_window_bytes);
  }
  await_rest();
  auto called = candidate_.call(chosen(candidate_sets_, batch_), plan_.timeout_s, after_call::stands_still);
  if (!called) return tl::unexpected(called.error());
  if (called->status != harness::call_status::ok) return failed(*called);
  per_call_ns = per_call(*called, candidate_);
  if (!called->inside_ns.empty()) inside_ns_ = harness::median(called->inside_ns);
  return std::optional<check_result>();
}

result<void> paired_timing::run_trusted(std::uint64_t contents, harness::poison pattern, double& per_call_ns) {
  const auto lost = [&](const harness::call_result& call) {
    // Killed by the system or from outside: no fault of the kernel, which did other contents before.
    const bool killed = call.status == harness::call_status::resource_limit;
    return fail(
        killed ? fault::infrastructure : fault::bad_request,
        fmt::format("the kernel that gives the expected outputs failed on {} ({}): {}", case_.what, outcome_of(call.status), call.detail));
  };
  if (trusted_.form == output_form::wide) return refresh(trusted_sets_, contents);  // called set by set when the outputs are judged
  trusted_.process->thaw();
  if (plan_.warm && trusted_.timed) {
    auto warmed = trusted_.process->call(trusted_sets_, plan_.timeout_s);
    if (!warmed) return tl::unexpected(warmed.error());
    if (warmed->status != harness::call_status::ok) return lost(*warmed);
  }
  if (auto changed = refresh(trusted_sets_, contents); !changed) return changed;
  // Nothing needs finding there, but lines that another core has written cost the kernel time: both legs or neither.
  fill_outputs(trusted_sets_, pattern, contents);
  // For nothing but the time it takes: how long a processor has idled decides how soon its threads wake, 3 us a batch.
  if (left_out_) (void)fingerprint_of_outputs(*trusted_sets_[*left_out_], contents, left_out_window_bytes);
  await_rest();
  auto called = trusted_.process->call(chosen(trusted_sets_, batch_), plan_.timeout_s, after_call::stands_still);
  if (!called) return tl::unexpected(called.error());
  if (called->status != harness::call_status::ok) return lost(*called);
  per_call_ns = per_call(*called, *trusted_.process);
  return {};
}

result<check_result> paired_timing::ask_arbiter(kernel_buffers& got, const kernel_buffers& same, harness::poison pattern) {
  auto reference = plan_.arbiter();
  if (!reference) return tl::unexpected(reference.error());
  copy_inputs(same, *reference->wide, plan_.threads);
  auto called = reference->process->call({reference->wide}, std::max(plan_.timeout_s, arbiter_timeout_s));
  if (!called) return tl::unexpected(called.error());
  if (called->status != harness::call_status::ok)
    return fail(fault::infrastructure, "the reference failed on contents it had managed before");
  return check_outputs(p_, case_.specs, got, *reference->wide, case_.form, pattern, reference->budget_scale, plan_.threads, std::nullopt);
}

result<check_result> paired_timing::judge(harness::poison pattern) {
  if (check_result ahead = judge_left_out(); !ahead.ok()) return ahead;
  for (const std::size_t s : batch_) {
    kernel_buffers& got = *candidate_sets_[s];
    kernel_buffers& same = *trusted_sets_[s];
    for (std::size_t i = 0; i < got.inputs.size(); ++i) {
      const std::size_t bytes = got.inputs[i].bytes(), window = std::min(bytes, input_window_bytes);
      const std::size_t from = bytes > window ? random() % (bytes - window) : 0;
      if (harness::same_bytes(got.inputs[i].data() + from, same.inputs[i].data() + from, window, plan_.threads)) continue;
      check_result check;
      check.outcome = "input_modified";
      check.detail = fmt::format("{}, in a timed call: an input was changed", case_.what);
      return check;
    }
    const kernel_buffers* expected = &same;
    harness::expected_form form = harness::expected_form::native;
    if (trusted_.form == output_form::wide) {
      copy_inputs(same, *trusted_.wide, plan_.threads);
      auto called = trusted_.process->call({trusted_.wide}, plan_.timeout_s);
      if (!called) return tl::unexpected(called.error());
      if (called->status != harness::call_status::ok)
        return fail(fault::infrastructure, "the reference failed on contents it had managed before");
      expected = trusted_.wide;
      form = case_.form;
    }
    const std::optional<std::uint64_t> sample = plan_.samples_outputs ? std::optional(random()) : std::nullopt;
    check_result check = check_outputs(p_, case_.specs, got, *expected, form, pattern, trusted_.budget_scale, plan_.threads, sample);
    ++checked_;
    if (check.outcome == "wrong_values" && trusted_.form == output_form::native && plan_.arbiter) {
      auto last_word = ask_arbiter(got, same, pattern);
      if (!last_word) return last_word;
      check = std::move(*last_word);
    }
    if (check.ok()) continue;
    check.detail = fmt::format("{}, in a timed call on fresh contents: {}", case_.what, check.detail);
    return look_behind(std::move(check), case_.specs, candidate_, got, plan_.timeout_s);
  }
  // It stood still since its answer, or else what was compared is not what it had when the clock was read.
  if (!candidate_.stayed_frozen()) return look_behind({}, case_.specs, candidate_, *candidate_sets_[batch_.front()], plan_.timeout_s);
  return check_result{};
}

result<check_result> paired_timing::pair(bool candidate_first, bool may_leave_out, harness::timing_block& out) {
  draw_batch(may_leave_out);
  const std::uint64_t contents = random();
  const harness::poison pattern = harness::poison::finite(random());
  double candidate_ns = 0, trusted_ns = 0;
  for (int turn = 0; turn < 2; ++turn) {
    if ((turn == 0) == candidate_first) {
      auto ran = run_candidate(contents, pattern, candidate_ns);
      if (!ran) return tl::unexpected(ran.error());
      if (*ran) return **ran;
    } else if (auto ran = run_trusted(contents, pattern, trusted_ns); !ran) {
      return tl::unexpected(ran.error());
    }
  }
  auto judged = judge(pattern);
  if (!judged || !judged->ok()) return judged;
  out.candidate_ns.push_back(candidate_ns);
  if (trusted_.timed) out.baseline_ns.push_back(trusted_ns);
  return judged;
}

result<check_result> paired_timing::surprise() {
  const std::size_t bytes = candidate_sets_.front()->input_bytes() * candidate_sets_.size();
  if (plan_.kept == nullptr || bytes > dear_renewal_bytes) return check_result{};
  if (random() % (bytes <= cheap_renewal_bytes ? surprise_share : dear_surprise_share) != 0) return check_result{};
  return unusual_pairs(
      *plan_.kept, plan_.stop, case_.what, [this] { return random(); },
      [this](harness::renewal kind, harness::timing_block& uncounted) {
        renewal_ = kind;
        auto ran = pair((random() & 1) != 0, true, uncounted);
        renewal_ = harness::renewal::part;
        return ran;
      });
}

result<check_result> paired_timing::settle() {
  harness::timing_block unused;
  return pair(true, false, unused);
}

result<check_result> paired_timing::block(int launch, harness::timing_block& out) {
  out.launch = launch;
  const bool candidate_first = (random() & 1) != 0;
  auto first = pair(candidate_first, true, out);
  if (!first || !first->ok()) return first;
  auto second = pair(!candidate_first, true, out);
  if (!second || !second->ok()) return second;
  return surprise();
}

}  // namespace kernsmith::cpp
