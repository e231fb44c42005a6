// The engine around a policy: the opening, the fixed lag between moves and outcomes, the budget, the end.
#include "agents/search/search.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <deque>
#include <map>

#include <fmt/format.h>

#include "agents/search/expander.hpp"
#include "agents/search/history.hpp"
#include "agents/search/policy.hpp"
#include "agents/search/random_source.hpp"
#include "agents/search/stopping.hpp"
#include "config/hash.hpp"
#include "config/text.hpp"

namespace kernsmith::agents {

namespace {

class policy_search final : public search {
 public:
  policy_search(const search_settings& settings, std::vector<indexed_space> spaces, const std::vector<warm_start>& starts)
      : settings_(settings), rules_(settings), past_(std::move(spaces)), chance_(settings.seed), makes_(past_, chance_) {
    policy_ = make_policy(settings.policy, {&past_, &makes_, &chance_, settings.budget});
    assert(policy_);
    plan_opening(starts);
    drafts_left_ = policy_->opening_drafts();
  }

  std::optional<move> next() override {
    advance();
    if (!may_decide()) {
      return std::nullopt;
    }
    std::optional<candidate_point> made;
    if (issued() < max_moves(settings_.budget)) {
      made = decide();
    }
    if (!made) {
      rules_.exhausted();
      advance();  // outcomes that were held back for the lag are due now
      return std::nullopt;
    }
    move given{.id = issued(),
               .generator = made->generator,
               .decisions = past_.space(made->generator).to_assignment(made->where),
               .kind = made->kind,
               .memory = made->memory,
               .parents = made->parents,
               .rationale = made->why};
    past_.give_out(std::move(*made));
    policy_->given_out(given.id);
    return given;
  }

  void observe(std::int64_t move_id, const move_outcome& outcome) override {
    assert(move_id >= 0 && move_id < issued());
    assert(move_id >= past_.applied_count() && !waiting_.contains(move_id));
    waiting_.emplace(move_id, outcome);
    advance();
  }

  bool finished() const override { return !rules_.reason().empty() && past_.outstanding() == 0; }
  std::string stopped_by() const override { return rules_.reason(); }
  std::optional<std::int64_t> best() const override { return past_.best(); }
  std::string digest() const override;

 private:
  [[nodiscard]] std::int64_t issued() const { return static_cast<std::int64_t>(past_.nodes().size()); }

  void plan_opening(const std::vector<warm_start>& starts) {
    const auto as_it_stands = [&](std::size_t generator, const char* why) {
      const indexed_space& space = past_.space(generator);
      opening_.push_back({generator, space.normalised(space.preferred()), move_kind::draft, memory_mode::clean_slate, {}, why});
    };
    as_it_stands(0, "the analytical first guess");
    for (const warm_start& start : starts) {
      opening_.push_back({start.generator,
                          past_.space(start.generator).normalised(start.decisions),
                          move_kind::warm_start,
                          memory_mode::clean_slate,
                          {},
                          fmt::format("warm start from {}", start.from)});
    }
    for (std::size_t i = 1; i < past_.spaces().size(); ++i) {
      as_it_stands(i, "as it stands");
    }
  }

  /// What the next decision must know, and no more: all moves but the last `lookahead`. Two exceptions wait for everything: a budget that
  /// the outstanding moves may use up (one that turns out to be free makes room again), unless it speculates, and the end.
  [[nodiscard]] bool wants_more() const {
    const bool used_up = !settings_.speculates && !rules_.affords(past_.outstanding());
    return past_.outstanding() > settings_.lookahead || used_up || !rules_.reason().empty();
  }

  void advance() {
    while (past_.outstanding() > 0 && wants_more()) {
      const auto ready = waiting_.find(past_.applied_count());
      if (ready == waiting_.end()) {
        return;
      }
      apply(ready->first, ready->second);
      waiting_.erase(ready);
    }
  }

  void apply(std::int64_t id, const move_outcome& outcome) {
    const auto before = past_.best();
    const double reached = before ? past_.at(*before).log_speedup : 0;
    const bool new_best = past_.apply(id, outcome);
    const node& seen = past_.at(id);
    policy_->applied(id, new_best && before ? seen.log_speedup - reached : 0);
    rules_.applied(outcome, seen.passed, new_best);
  }

  /// Everything that wants_more() asks for is there, and no rule has ended the search.
  [[nodiscard]] bool may_decide() const { return rules_.reason().empty() && !(past_.outstanding() > 0 && wants_more()); }

  std::optional<candidate_point> decide() {
    while (!opening_.empty()) {
      candidate_point planned = std::move(opening_.front());
      opening_.pop_front();
      if (!past_.tried(planned.generator, planned.where)) {
        return planned;
      }
    }
    while (drafts_left_ > 0) {
      --drafts_left_;
      if (auto made = makes_.diverse_draft(0)) {
        return made;
      }
    }
    for (auto open = makes_.open_generators(); std::find(open.begin(), open.end(), true) != open.end(); open = makes_.open_generators()) {
      if (auto made = policy_->propose()) {
        return made;
      }
      // The policy's neighbourhoods are used up: anything new will do, and a generator without anything new is closed by this.
      const auto first_open = static_cast<std::size_t>(std::find(open.begin(), open.end(), true) - open.begin());
      if (auto made = makes_.anything(first_open)) {
        return made;
      }
    }
    return std::nullopt;
  }

  search_settings settings_;
  stopping_rules rules_;
  history past_;
  random_source chance_;
  expander makes_;
  std::unique_ptr<policy> policy_;
  std::deque<candidate_point> opening_;
  std::int64_t drafts_left_ = 0;
  std::map<std::int64_t, move_outcome> waiting_;  ///< observed, but not yet to be known
};

std::string bits_text(double value) {
  return fmt::format("{:016x}", std::bit_cast<std::uint64_t>(value));
}

std::string policy_search::digest() const {
  std::string text = fmt::format("{} {} {} {} {} {}\n", settings_.policy, settings_.seed, settings_.budget, bits_text(settings_.stop_at),
                                 settings_.stall, settings_.lookahead);
  text += fmt::format("{} {} {}\n", fmt::join(chance_.state(), ","), opening_.size(), drafts_left_);
  for (const node& each : past_.nodes()) {
    text += fmt::format("{} [{}] {} {} [{}] {}{}{} {} {}\n", each.made.generator, fmt::join(each.made.where, ","), name_of(each.made.kind),
                        name_of(each.made.memory), fmt::join(each.made.parents, ","), each.applied ? 'a' : '-', each.passed ? 'p' : '-',
                        each.duplicate ? 'd' : '-', bits_text(each.log_speedup), bits_text(each.roofline_fraction));
  }
  for (const auto& [id, outcome] : waiting_) {
    text += fmt::format("waiting {} {} {} {} {} {}\n", id, outcome.passed, bits_text(outcome.speedup), bits_text(outcome.roofline_fraction),
                        outcome.machine_code, outcome.measured);
  }
  text += makes_.state_text() + "\n" + policy_->state_text() + "\n" + rules_.state_text();
  return content_hash(text);
}

}  // namespace

std::string_view name_of(memory_mode mode) {
  switch (mode) {
    case memory_mode::clean_slate:
      return "clean_slate";
    case memory_mode::parent:
      return "parent";
    case memory_mode::siblings:
      return "siblings";
    case memory_mode::both:
      return "both";
  }
  return "";
}

std::string_view name_of(move_kind kind) {
  switch (kind) {
    case move_kind::draft:
      return "draft";
    case move_kind::warm_start:
      return "warm_start";
    case move_kind::mutate:
      return "mutate";
    case move_kind::crossover:
      return "crossover";
    case move_kind::tune:
      return "tune";
  }
  return "";
}

result<std::unique_ptr<search>> make_search(const search_settings& settings, std::span<const generator* const> generators,
                                            std::vector<warm_start> starts) {
  const std::vector<std::string>& known = policy_names();
  if (std::find(known.begin(), known.end(), settings.policy) == known.end()) {
    return fail(fault::bad_request, fmt::format("unknown search policy '{}'{}; there are {}", settings.policy,
                                                did_you_mean(settings.policy, known), fmt::join(known, ", ")));
  }
  if (settings.lookahead < 0 || settings.lookahead > max_lookahead) {
    return fail(fault::bad_request, fmt::format("lookahead {} is outside 0 .. {}", settings.lookahead, max_lookahead));
  }
  if (settings.budget > max_budget) {
    return fail(fault::bad_request, fmt::format("a budget of {} evaluations is above the limit of {}", settings.budget, max_budget));
  }
  if (generators.empty()) {
    return fail(fault::bad_request, "nothing to search: no synthesizer has anything to offer for this problem");
  }
  std::vector<indexed_space> spaces;
  for (const generator* each : generators) {
    spaces.emplace_back(*each);
  }
  // A champion whose generator this session lacks is no reason to refuse the session.
  std::erase_if(starts, [&](const warm_start& start) { return start.generator >= generators.size(); });
  return std::make_unique<policy_search>(settings, std::move(spaces), starts);
}

}  // namespace kernsmith::agents
