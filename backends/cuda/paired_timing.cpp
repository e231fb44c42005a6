#include "backends/cuda/paired_timing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "backends/cpp/unusual_pairs.hpp"

namespace kernsmith::cuda {

namespace {

/// After one block in so many comes a pair with an unusual renewal: often where writing all inputs of a batch costs next to nothing.
constexpr std::size_t cheap_renewal_bytes = std::size_t{256} << 20, dear_renewal_bytes = std::size_t{4} << 30;
constexpr std::uint64_t surprise_share = 2, dear_surprise_share = 6;
/// In one pair of this many, one set is made ready like the others but left out of the batch.
constexpr std::uint64_t left_out_share = 2;
/// An outside time can't be less than this share of what was measured, however slow an empty batch was.
constexpr double least_share = 0.05;
constexpr std::size_t flushes_of_cache = 2;
constexpr double reference_timeout_s = 120;
/// Work that goes on after the answer shows when the verifier's own trivial work waits for it: by this much in the median, and by this
/// share of the batch, over so many batches.
constexpr double least_delay_ns = 60e3, delay_share = 0.1;
constexpr std::size_t least_idle_samples = 6;

double now_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

paired_timing::paired_timing(workbench& bench, workload_state& w, kernel_process& candidate, const trusted_leg& trusted,
                             const timing_plan& plan, std::uint64_t seed)
    : bench_(bench), w_(w), candidate_(candidate), trusted_(trusted), plan_(plan), state_(seed) {
  const auto batch = std::min({static_cast<std::size_t>(plan.batch), w.timing.candidate.size(), w.timing.trusted.size()});
  for (std::size_t i = 0; i < batch; ++i) {
    candidate_sets_.push_back(w.timing.candidate[i].get());
    trusted_sets_.push_back(w.timing.trusted[i].get());
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

std::vector<device_buffers*> paired_timing::chosen(const std::vector<device_buffers*>& sets) const {
  std::vector<device_buffers*> some;
  for (const std::size_t position : batch_) some.push_back(sets[position]);
  return some;
}

double paired_timing::per_call(const harness::call_result& call, kernel_process& process) const {
  const double net = std::max(call.wall_ns - process.empty_call_ns(), call.wall_ns * least_share);
  return net / static_cast<double>(batch_.size());
}

result<harness::call_result> paired_timing::timed_call(kernel_process& process, const std::vector<device_buffers*>& sets,
                                                       std::vector<double>& idle_ns) {
  auto called = process.timed(sets, plan_.timeout_s);
  if (!called || called->status != harness::call_status::ok) return called;
  const double answered_ns = now_ns();
  if (auto done = bench_.trusted().noop(); !done) return tl::unexpected(done.error());
  idle_ns.push_back(now_ns() - answered_ns);
  process.freeze();
  return called;
}

check_result paired_timing::judge_idleness() const {
  check_result check;
  if (candidate_idle_ns_.size() < least_idle_samples || trusted_idle_ns_.size() < least_idle_samples) return check;
  const double delay_ns = harness::median(candidate_idle_ns_) - harness::median(trusted_idle_ns_);
  if (delay_ns < std::max(least_delay_ns, delay_share * harness::median(candidate_batch_ns_))) return check;
  check.outcome = "cheating";
  check.rule = "answers_early";
  check.detail = fmt::format("{}: after its answers the device is at work for another {:.0f} us", w_.main.what, delay_ns * 1e-3);
  return check;
}

result<void> paired_timing::make_ready(std::vector<device_buffers*>& sets, harness::poison pattern) {
  trusted_kernels& trusted = bench_.trusted();
  if (auto changed = contents_->apply(trusted, *w_.main.oracle, sets, renewal_); !changed) return changed;
  for (const device_buffers* set : sets) {
    for (const device_tensor& t : set->outputs) {
      if (auto ok = trusted.fill(t.address, t.bytes, pattern.word); !ok) return ok;
    }
  }
  bench_.on()->release_pinned_lines();
  if (plan_.cold) {
    const std::size_t bytes = flushes_of_cache * std::max<std::size_t>(bench_.on()->l2_bytes(), 1);
    if (flush_.address() == 0) {
      auto made = device_array::create(bench_.on(), bytes);
      if (!made) return tl::unexpected(made.error());
      flush_ = std::move(*made);
    }
    if (auto ok = trusted.fill(flush_.address(), bytes, random()); !ok) return ok;
  }
  return bench_.on()->wait();
}

result<std::optional<check_result>> paired_timing::run_candidate(harness::poison pattern, double& per_call_ns) {
  const auto failed = [&](const harness::call_result& call) {
    check_result check;
    check.outcome = outcome_of(call.status);
    check.detail = fmt::format("{}, in a timed call: {}", w_.main.what, call.detail);
    return std::optional<check_result>(check);
  };
  candidate_.thaw();
  if (plan_.warm) {
    auto warmed = candidate_.timed(candidate_sets_, plan_.timeout_s);
    if (!warmed) return tl::unexpected(warmed.error());
    if (warmed->status != harness::call_status::ok) return failed(*warmed);
  }
  if (auto ready = make_ready(candidate_sets_, pattern); !ready) return tl::unexpected(ready.error());
  if (left_out_) {
    auto before = bench_.trusted().fingerprint(candidate_sets_[*left_out_]->outputs);
    if (!before) return tl::unexpected(before.error());
    left_out_before_ = *before;
  }
  auto touched = candidate_.touch(plan_.timeout_s);
  if (!touched) return tl::unexpected(touched.error());
  if (touched->status != harness::call_status::ok) return failed(*touched);
  (void)candidate_.empty_call_ns();  // measured now: asked for later, it would set the process going
  auto called = timed_call(candidate_, chosen(candidate_sets_), candidate_idle_ns_);
  if (!called) return tl::unexpected(called.error());
  if (called->status != harness::call_status::ok) return failed(*called);
  candidate_batch_ns_.push_back(called->wall_ns);
  per_call_ns = per_call(*called, candidate_);
  if (!called->inside_ns.empty()) event_ns_ = harness::median(called->inside_ns);
  return std::optional<check_result>();
}

result<void> paired_timing::run_trusted(harness::poison pattern, double& per_call_ns) {
  const auto lost = [&](const harness::call_result& call) {
    if (trusted_.champion) return tl::unexpected(disown_champion(call.detail));
    const bool killed = call.status == harness::call_status::resource_limit;
    return fail(killed ? fault::infrastructure : fault::bad_request,
                fmt::format("the kernel that gives the expected outputs failed on {} ({}): {}", w_.main.what, outcome_of(call.status),
                            call.detail));
  };
  if (trusted_.form == output_form::wide)
    return make_ready(trusted_sets_, pattern);  // the reference is called set by set when the outputs are judged
  trusted_.process->thaw();
  if (plan_.warm && trusted_.timed) {
    auto warmed = trusted_.process->timed(trusted_sets_, plan_.timeout_s);
    if (!warmed) return tl::unexpected(warmed.error());
    if (warmed->status != harness::call_status::ok) return lost(*warmed);
  }
  if (auto ready = make_ready(trusted_sets_, pattern); !ready) return ready;
  const auto lost_on_the_way = [&](const error& e) { return tl::unexpected(trusted_.champion ? disown_champion(e.message) : e); };
  auto touched = trusted_.process->touch(plan_.timeout_s);
  if (!touched) return lost_on_the_way(touched.error());
  (void)trusted_.process->empty_call_ns();
  auto called = timed_call(*trusted_.process, chosen(trusted_sets_), trusted_idle_ns_);
  if (!called) return lost_on_the_way(called.error());
  if (called->status != harness::call_status::ok) return lost(*called);
  per_call_ns = per_call(*called, *trusted_.process);
  return {};
}

result<check_result> paired_timing::judge_inputs() {
  check_result check;
  if (left_out_) {
    auto after = bench_.trusted().fingerprint(candidate_sets_[*left_out_]->outputs);
    if (!after) return tl::unexpected(after.error());
    if (*after != left_out_before_) {
      check.outcome = "cheating";
      check.rule = "works_ahead";
      check.detail = fmt::format("{}, in a timed batch: it wrote outputs of a call that was never made", w_.main.what);
      return check;
    }
  }
  std::vector<byte_pair> pairs;
  for (const std::size_t s : batch_) {
    for (std::size_t i = 0; i < candidate_sets_[s]->inputs.size(); ++i) {
      const device_tensor& own = candidate_sets_[s]->inputs[i];
      pairs.push_back({own.address, trusted_sets_[s]->inputs[i].address, own.bytes});
    }
  }
  auto same = bench_.trusted().same(pairs);
  if (!same) return tl::unexpected(same.error());
  if (std::all_of(same->begin(), same->end(), [](bool equal) { return equal; })) return check;
  check.outcome = "input_modified";
  check.detail = fmt::format("{}, in a timed call: an input was changed", w_.main.what);
  return check;
}

error paired_timing::disown_champion(const std::string& why) {
  bench_.name_champion({});
  return {fault::infrastructure, fmt::format("{}: the fastest kernel so far can't say what timed calls must give: {}", w_.main.what, why)};
}

result<check_result> paired_timing::judge_by_reference(harness::poison pattern) {
  const judge judging = bench_.judging();
  auto process = bench_.process_of(bench_.reference());
  if (!process) return tl::unexpected(process.error());
  auto wide = bench_.reference_set(w_);
  if (!wide) return tl::unexpected(wide.error());
  constexpr double own_budget = 1;  // the reference is exact
  for (const std::size_t s : batch_) {
    for (std::size_t i = 0; i < trusted_sets_[s]->inputs.size(); ++i) {
      const device_tensor& from = trusted_sets_[s]->inputs[i];
      if (auto ok = bench_.trusted().copy((*wide)->inputs[i].address, from.address, from.bytes); !ok) return tl::unexpected(ok.error());
    }
    if (auto ok = bench_.on()->wait(); !ok) return tl::unexpected(ok.error());
    auto called = (*process)->call({*wide}, std::max(plan_.timeout_s, reference_timeout_s));
    if (!called) return tl::unexpected(called.error());
    if (called->status != harness::call_status::ok)
      return fail(fault::infrastructure, "the reference failed on contents it had managed before: " + called->detail);
    auto check = judge(judging).outputs(w_.main.specs, *candidate_sets_[s], **wide, w_.main.form, pattern, own_budget);
    if (!check) return check;
    ++checked_;
    if (check->ok()) continue;
    check->detail = fmt::format("{}, in a timed call on fresh contents: {}", w_.main.what, check->detail);
    return judge(judging).look_behind(std::move(*check), w_.main.specs, candidate_, *candidate_sets_[s], plan_.timeout_s);
  }
  return check_result{};
}

result<check_result> paired_timing::judge_pair(harness::poison pattern) {
  auto inputs = judge_inputs();
  if (!inputs || !inputs->ok()) return inputs;
  judge judging = bench_.judging();
  if (trusted_.form == output_form::wide) {
    auto check = judge_by_reference(pattern);
    if (!check || !check->ok()) return check;
  } else {
    std::vector<comparison_request> requests;
    const std::size_t outputs = candidate_sets_.front()->outputs.size();
    for (const std::size_t s : batch_) {
      for (std::size_t o = 0; o < outputs; ++o) {
        const harness::tensor_binding& bound = candidate_sets_[s]->set.outputs[o];
        requests.push_back({w_.main.specs[o], bound.type, candidate_sets_[s]->outputs[o].address, trusted_sets_[s]->outputs[o].address,
                            harness::expected_form::native, element_count(bound.shape), trusted_.budget_scale});
      }
    }
    auto verdicts = bench_.trusted().compare(requests);
    if (!verdicts) return tl::unexpected(verdicts.error());
    checked_ += static_cast<std::int64_t>(batch_.size());
    const auto wrong = std::find_if(verdicts->begin(), verdicts->end(), [](const harness::comparison& c) { return !c.match; });
    if (wrong != verdicts->end() && trusted_.champion) {
      auto check = judge_by_reference(pattern);
      if (!check || !check->ok()) return check;
      return tl::unexpected(disown_champion("it and the reference differ, where another kernel agrees with the reference"));
    }
    if (wrong != verdicts->end()) {
      const std::size_t s = batch_[static_cast<std::size_t>(wrong - verdicts->begin()) / outputs];
      auto check = judging.outputs(w_.main.specs, *candidate_sets_[s], *trusted_sets_[s], harness::expected_form::native, pattern,
                                   trusted_.budget_scale);
      if (!check) return check;
      check->detail = fmt::format("{}, in a timed call on fresh contents: {}", w_.main.what, check->detail);
      return judging.look_behind(std::move(*check), w_.main.specs, candidate_, *candidate_sets_[s], plan_.timeout_s);
    }
  }
  // It stood still since its answer, or else what was compared is not what it had when the clock was read.
  if (!candidate_.stayed_frozen())
    return judging.look_behind({}, w_.main.specs, candidate_, *candidate_sets_[batch_.front()], plan_.timeout_s);
  return check_result{};
}

result<check_result> paired_timing::pair(bool candidate_first, bool may_leave_out, harness::timing_block& out) {
  draw_batch(may_leave_out);
  auto drawn = fresh_contents::draw(bench_.on(), bench_.subject(), w_.main.axes, candidate_sets_.size(), random());
  if (!drawn) return tl::unexpected(drawn.error());
  contents_ = std::move(*drawn);
  const harness::poison pattern = harness::poison::finite(random());
  double candidate_ns = 0, trusted_ns = 0;
  for (int turn = 0; turn < 2; ++turn) {
    if ((turn == 0) == candidate_first) {
      auto ran = run_candidate(pattern, candidate_ns);
      if (!ran) return tl::unexpected(ran.error());
      if (*ran) return **ran;
    } else if (auto ran = run_trusted(pattern, trusted_ns); !ran) {
      return tl::unexpected(ran.error());
    }
  }
  auto judged = judge_pair(pattern);
  if (!judged || !judged->ok()) return judged;
  out.candidate_ns.push_back(candidate_ns);
  if (trusted_.timed) out.baseline_ns.push_back(trusted_ns);
  return judged;
}

result<check_result> paired_timing::surprise() {
  const std::size_t bytes = candidate_sets_.front()->input_bytes() * candidate_sets_.size();
  if (plan_.kept == nullptr || bytes > dear_renewal_bytes) return check_result{};
  if (random() % (bytes <= cheap_renewal_bytes ? surprise_share : dear_surprise_share) != 0) return check_result{};
  return cpp::unusual_pairs(
      *plan_.kept, plan_.stop, w_.main.what, [this] { return random(); },
      [this](harness::renewal kind, harness::timing_block& uncounted) {
        renewal_ = kind;
        auto ran = pair((random() & 1) != 0, true, uncounted);
        renewal_ = harness::renewal::part;
        return ran;
      });
}

result<check_result> paired_timing::settle() {
  judge judging = bench_.judging();
  for (const auto* side : {&candidate_sets_, &trusted_sets_}) {
    for (const device_buffers* set : *side) {
      if (auto ready = judging.prepare(*w_.main.oracle, *set, harness::poison::finite(random())); !ready)
        return tl::unexpected(ready.error());
    }
  }
  // Captured on contents that no timed call will see: pair() renews them.
  auto captured = candidate_.prepare_timed(candidate_sets_, plan_.timeout_s);
  if (!captured) return tl::unexpected(captured.error());
  if (captured->status != harness::call_status::ok) {
    check_result check;
    check.outcome = outcome_of(captured->status);
    check.detail = fmt::format("{}, before timed calls: {}", w_.main.what, captured->detail);
    return check;
  }
  if (trusted_.form != output_form::wide) {
    auto ready = trusted_.process->prepare_timed(trusted_sets_, plan_.timeout_s);
    const bool captured_too = ready && ready->status == harness::call_status::ok;
    if (!captured_too && trusted_.champion) return tl::unexpected(disown_champion(ready ? ready->detail : ready.error().message));
    if (!ready) return tl::unexpected(ready.error());
    if (!captured_too) return fail(fault::bad_request, fmt::format("the baseline on {}: {}", w_.main.what, ready->detail));
  }
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
  if (check_result early = judge_idleness(); !early.ok()) return early;
  const device_state state = device_monitor::of(bench_.on()->description().uuid).look();
  states_.push_back(state);
  if (state.slowed_down()) {
    ++discarded_;
    out.candidate_ns.clear();
    out.baseline_ns.clear();
  }
  return surprise();
}

result<check_result> paired_timing::check_slack() {
  judge judging = bench_.judging();
  for (std::size_t s = 0; s < candidate_sets_.size(); ++s) {
    auto around = judging.surroundings(*candidate_sets_[s], *candidate_sets_[s]);
    if (!around || !around->ok()) return around;
  }
  return check_result{};
}

}  // namespace kernsmith::cuda
