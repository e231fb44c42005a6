#include "agents/search/session_core.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "config/hash.hpp"

namespace kernsmith::agents {
namespace {

constexpr std::string_view final_effort = "final";

move_outcome outcome_of(const memory::evaluation& e) {
  move_outcome o;
  o.passed = e.outcome == "passed";
  o.speedup = e.speedup;
  o.roofline_fraction = e.diagnosis.roofline_fraction;
  o.machine_code = e.machine_code;
  o.measured = e.duplicate_of.empty();
  return o;
}

}  // namespace

session_core::session_core(memory::session session, search& policy, std::vector<const generator*> generators, session_history history)
    : session_(std::move(session)),
      search_(policy),
      generators_(std::move(generators)),
      past_(std::move(history)),
      profiles_(profile_mode_named(session_.profile).value_or(profile_mode::off), session_.profile_s) {}

std::vector<step> session_core::poll() {
  std::vector<step> steps = std::move(queue_);
  queue_.clear();
  if (finished_) return steps;
  while (searching_ && stop_reason_.empty()) {
    const auto next = search_.next();
    if (!next) break;
    begin(*next, steps);
    // A replayed move resolves at once, so the search may already have another.
  }
  steps.insert(steps.end(), std::make_move_iterator(queue_.begin()), std::make_move_iterator(queue_.end()));
  queue_.clear();
  const bool idle =
      std::all_of(moves_.begin(), moves_.end(), [](const auto& m) { return m.second.at == phase::done || m.second.at == phase::dropped; });
  if (idle && (search_.finished() || !stop_reason_.empty())) searching_ = false;
  if (!searching_ && idle)
    poll_finals(steps);
  else
    poll_profiles(steps);
  return steps;
}

void session_core::begin(const move& next, std::vector<step>& steps) {
  work& w = moves_[next.id];
  w.what = next;
  const auto stored = std::find_if(past_.evaluations.begin(), past_.evaluations.end(), [&](const memory::evaluation& e) {
    if (e.effort == final_effort) return false;
    const auto c = std::find_if(past_.candidates.begin(), past_.candidates.end(),
                                [&](const memory::candidate& x) { return x.id == e.candidate && x.move == next.id; });
    return c != past_.candidates.end() && e.id == make_id("eval", fmt::format("{}/{}", session_.id, next.id));
  });
  if (stored == past_.evaluations.end()) {
    steps.push_back(generate_step{next});
    release_waiting();  // the budget may be allotted already
    return;
  }
  w.evaluation = *stored;
  w.candidate =
      *std::find_if(past_.candidates.begin(), past_.candidates.end(), [&](const memory::candidate& x) { return x.move == next.id; });
  if (const auto source = past_.sources.find(w.candidate.id); source != past_.sources.end()) w.source = source->second;
  w.build.machine_code = w.evaluation.machine_code;
  w.replayed = true;
  ++replayed_;
  settle(w);
}

void session_core::on_generated(std::int64_t move_id, const result<proposal>& made) {
  work& w = moves_.at(move_id);
  if (w.at == phase::dropped) return;
  assert(w.at == phase::generating);
  memory::candidate& c = w.candidate;
  c.session = session_.id;
  c.move = move_id;
  c.problem = session_.problem;
  c.target = session_.target;
  const decision_space& space = generators_.at(w.what.generator)->space();
  c.synthesizer = space.name;
  c.kind = name_of(w.what.kind);
  c.memory_mode = name_of(w.what.memory);
  for (const std::int64_t parent : w.what.parents) c.parents.push_back(moves_.at(parent).candidate.id);
  c.parameters = w.what.decisions;
  c.decisions_text = describe(space, c.parameters);
  if (!made) {
    c.id = make_id("cand", fmt::format("{}/{}/{}", session_.id, move_id, made.error().message));
    w.evaluation.outcome = made.error().kind == fault::bug ? "infrastructure" : "refused";
    w.evaluation.detail = made.error().message;
    w.evaluation.stage = "generate";
    w.at = phase::waiting_for_turn;
    release_waiting();
    return;
  }
  w.source = made->source;
  c.parameters = made->decisions;
  c.decisions_text = describe(space, c.parameters);
  c.rationale = w.what.rationale.empty() ? made->rationale : w.what.rationale + "; " + made->rationale;
  c.notes = made->notes;
  c.language = session_.language;
  c.id = make_id("cand", fmt::format("{}\n{}\n{}\n{}", session_.problem, session_.target, c.language, w.source));
  w.at = phase::building;
  queue_.push_back(build_step{move_id, w.source, false});
}

session_core::work* session_core::twin_of(const work& w) {
  for (auto& [id, other] : moves_) {
    if (id >= w.what.id) break;
    if (other.at == phase::generating || other.at == phase::building) continue;
    if (!other.build.machine_code.empty() && other.build.machine_code == w.build.machine_code && other.evaluation.duplicate_of.empty())
      return &other;
  }
  return nullptr;
}

void session_core::on_built(std::int64_t move_id, bool final_round, const build_report& report) {
  work& w = final_round ? finals_.at(move_id) : moves_.at(move_id);
  if (w.at == phase::dropped) return;
  assert(w.at == phase::building);
  w.build = report;
  if (!report.outcome.empty()) {
    w.evaluation.outcome = report.outcome;
    w.evaluation.detail = report.detail;
    w.evaluation.stage = "build";
    if (final_round) {
      conclude(w, queue_);
      return;
    }
  } else if (final_round) {
    w.at = phase::evaluating;
    queue_.push_back(evaluate_step{move_id, true});
    return;
  }
  w.at = phase::waiting_for_turn;
  release_waiting();
}

// Earlier moves must be built before it is known whether a later one is a twin, and whether the budget covers it: deciding by what happened
// to be ready would make the outcome depend on timing.
void session_core::release_waiting() {
  std::int64_t costing = 0;
  for (auto& [id, w] : moves_) {
    if (costing >= session_.budget) return drop_from(id);
    if (w.at == phase::generating || w.at == phase::building) return;
    if (w.at == phase::waiting_for_turn) {
      const work* const twin = w.evaluation.outcome.empty() ? twin_of(w) : nullptr;
      if (twin != nullptr) {
        if (twin->at != phase::done && twin->at != phase::recording) continue;
        adopt_twin(w, *twin);
      } else if (!w.evaluation.outcome.empty()) {
        conclude(w, queue_);  // has failed before there was anything to measure
      } else {
        w.at = phase::evaluating;
        queue_.push_back(evaluate_step{id, false});
      }
    }
    costing += w.evaluation.duplicate_of.empty() ? 1 : 0;
  }
}

/// The moves before this one use up the budget.
void session_core::drop_from(std::int64_t move_id) {
  for (auto at = moves_.lower_bound(move_id); at != moves_.end(); ++at) {
    work& w = at->second;
    if (w.at == phase::dropped) continue;
    assert(w.at == phase::generating || w.at == phase::building || w.at == phase::waiting_for_turn);
    w.at = phase::dropped;
    move_outcome none;
    none.passed = none.measured = false;
    search_.observe(at->first, none);
  }
}

void session_core::adopt_twin(work& w, const work& twin) {
  const std::string own_code = w.build.machine_code;
  w.evaluation = twin.evaluation;
  w.evaluation.duplicate_of = twin.candidate.id;
  w.evaluation.machine_code = own_code;
  w.evaluation.cost = {};
  conclude(w, queue_);
}

void session_core::on_evaluated(std::int64_t move_id, bool final_round, const memory::evaluation& evaluation) {
  work& w = final_round ? finals_.at(move_id) : moves_.at(move_id);
  assert(w.at == phase::evaluating);
  w.evaluation = evaluation;
  if (w.evaluation.machine_code.empty()) w.evaluation.machine_code = w.build.machine_code;
  conclude(w, queue_);
}

void session_core::conclude(work& w, std::vector<step>& steps) {
  const bool final_round = finals_.count(w.what.id) != 0 && &finals_.at(w.what.id) == &w;
  memory::evaluation& e = w.evaluation;
  e.id = make_id("eval", fmt::format("{}/{}{}", session_.id, w.what.id, final_round ? "/final" : ""));
  e.session = session_.id;
  e.candidate = w.candidate.id;
  e.problem = session_.problem;
  e.target = session_.target;
  e.effort = final_round ? final_effort : "search";
  if (e.cost.build_s <= 0) e.cost.build_s = w.build.build_s;
  w.at = phase::recording;
  steps.push_back(record_step{w.what.id, final_round, w.candidate, w.source, e, w.build.log});
}

void session_core::on_recorded(std::int64_t move_id, bool final_round, const memory::candidate& candidate,
                               const memory::evaluation& evaluation) {
  work& w = final_round ? finals_.at(move_id) : moves_.at(move_id);
  assert(w.at == phase::recording);
  if (!final_round) w.candidate = candidate;
  w.evaluation = evaluation;
  if (final_round) {
    w.at = phase::done;
    if (w.evaluation.outcome == "passed") ++finals_passed_;
    final_now_.reset();
    return;
  }
  settle(w);
  for (auto& [id, other] : moves_) {
    if (other.at != phase::waiting_for_turn) continue;
    if (work* twin = twin_of(other); twin == &w) adopt_twin(other, *twin);
  }
}

void session_core::settle(work& w) {
  w.at = phase::done;
  const move_outcome o = outcome_of(w.evaluation);
  if (o.measured) ++counted_;
  if (o.passed && o.speedup > best_speedup_) {
    best_speedup_ = o.speedup;
    best_since_ = counted_;
  }
  search_.observe(w.what.id, o);
}

void session_core::on_control(const memory::control_result& control) {
  session_.control = control;
  control_known_ = true;
}

void session_core::on_abandoned(std::int64_t move_id, bool final_round) {
  stop("interrupted");
  if (final_round) {
    finals_.erase(move_id);
    final_now_.reset();
    return;
  }
  moves_.erase(move_id);
  release_waiting();
}

void session_core::stop(const std::string& reason) {
  if (stop_reason_.empty() || reason == "interrupted") stop_reason_ = reason;
}

void session_core::poll_finals(std::vector<step>& steps) {
  if (stop_reason_ == "interrupted") {
    if (!final_now_ && !profiling_) finish(steps);
    return;
  }
  if (!ranked_) {
    ranked_ = true;
    for (const auto& [id, w] : moves_)
      if (w.evaluation.outcome == "passed" && w.evaluation.duplicate_of.empty()) final_order_.push_back(id);
    std::stable_sort(final_order_.begin(), final_order_.end(),
                     [&](std::int64_t a, std::int64_t b) { return moves_.at(a).evaluation.speedup > moves_.at(b).evaluation.speedup; });
  }
  while (!final_now_ && finals_passed_ < finalists && finals_.size() < std::min(max_finalists_tried, final_order_.size())) {
    const std::int64_t id = final_order_[finals_.size()];
    work& w = finals_[id];
    w.what = moves_.at(id).what;
    w.candidate = moves_.at(id).candidate;
    w.source = moves_.at(id).source;
    const std::string evaluation_id = make_id("eval", fmt::format("{}/{}/final", session_.id, id));
    const auto stored =
        std::find_if(past_.evaluations.begin(), past_.evaluations.end(), [&](const auto& e) { return e.id == evaluation_id; });
    if (stored != past_.evaluations.end()) {
      w.evaluation = *stored;
      w.replayed = true;
      w.at = phase::done;
      if (w.evaluation.outcome == "passed") ++finals_passed_;
      continue;
    }
    w.at = phase::building;
    final_now_ = id;
    steps.push_back(build_step{id, w.source, true});
  }
  if (final_now_) return;
  if (!control_asked_) {
    control_asked_ = true;
    steps.push_back(control_step{});
    return;
  }
  if (control_known_ && !profiles_before_end(steps)) finish(steps);
}

void session_core::finish(std::vector<step>& steps) {
  if (finished_) return;
  finished_ = true;
  session_.state = stop_reason_ == "interrupted" ? "interrupted" : "finished";
  // Ahead of the evaluations the search may have come to the end of its spaces; it was the budget that ended the session.
  const std::string ended_by =
      search_.stopped_by() == "exhausted" && counted_ >= session_.budget ? std::string("budget") : search_.stopped_by();
  session_.stopped_by = stop_reason_.empty() ? ended_by : stop_reason_;
  if (const work* winner = final_winner()) {
    session_.best_speedup = winner->evaluation.speedup;
    session_.best = winner->candidate.id;
  }
  steps.push_back(finish_step{session_});
}

std::vector<memory::evaluation> session_core::history() const {
  std::vector<memory::evaluation> all;
  for (const auto& [id, w] : moves_)
    if (w.at == phase::done) all.push_back(w.evaluation);
  for (const std::int64_t id : final_order_)
    if (const auto f = finals_.find(id); f != finals_.end() && f->second.at == phase::done) all.push_back(f->second.evaluation);
  return all;
}

std::optional<memory::candidate> session_core::candidate_of(std::int64_t move_id) const {
  const auto w = moves_.find(move_id);
  if (w == moves_.end() || w->second.at == phase::dropped) return std::nullopt;
  return w->second.candidate;
}

const memory::candidate* session_core::best_so_far() const {
  const memory::candidate* best = nullptr;
  for (const auto& [id, w] : moves_)
    if (w.at == phase::done && w.evaluation.outcome == "passed" && w.evaluation.speedup >= best_speedup_) best = &w.candidate;
  return best;
}

std::string session_core::source_of(const std::string& candidate_id) const {
  for (const auto& [id, w] : moves_)
    if (w.candidate.id == candidate_id) return w.source;
  return {};
}

}  // namespace kernsmith::agents
