#include "search_landscapes.hpp"

#include <array>
#include <cassert>

#include "config/hash.hpp"

namespace kernsmith::agents::testing {

namespace {

std::string text_of(const assignment& chosen) {
  std::string text;
  for (const auto& [name, value] : chosen) {
    text += fmt::format("{}={} ", name, value);
  }
  return text;
}

}  // namespace

landscape::landscape(flavour of, std::uint64_t from_seed) : kind(of), seed(from_seed) {
  random_source chance(seed);
  space.name = "rules";
  space.decisions = {ordered("y.tile_m", 6, 2), ordered("y.tile_n", 6, 3), ordered("y.unroll", 4, 1), named("y.pack", 2),
                     ordered("z.rows", 6, 0),   named("z.sweeps", 3),      ordered("z.block", 4, 2),  ordered("z.prefetch", 4, 0),
                     named("fuse", 2),          ordered("threads", 2, 1)};
  for (const decision& each : space.decisions) {
    const auto count = static_cast<double>(each.values.size());
    centre.push_back(chance.unit() * (count - 1));
    importance.push_back(0.1 + 0.9 * chance.unit() * chance.unit());
    auto& own = offset.emplace_back();
    for (std::size_t value = 0; value < each.values.size(); ++value) {
      own.push_back(each.categorical() ? importance.back() * (chance.unit() - 1) : 0);
    }
  }
  if (kind != flavour::separable) {
    for (int i = 0; i < 6; ++i) {
      const std::size_t a = chance.below(space.decisions.size());
      const std::size_t b = chance.below(space.decisions.size());
      if (a != b) {
        pairs.push_back({a, b, 0.8 * (chance.unit() - 0.5)});
      }
    }
  }
  if (kind == flavour::failing) {
    fatal = {{0, 1}, {4, 6}};
  }
}

std::vector<std::size_t> landscape::positions(const assignment& chosen) const {
  std::vector<std::size_t> at;
  for (const decision& each : space.decisions) {
    at.push_back(static_cast<std::size_t>(std::find(each.values.begin(), each.values.end(), chosen.at(each.name)) - each.values.begin()));
  }
  return at;
}

double landscape::log_speedup_at(const std::vector<std::size_t>& at) const {
  double sum = 1;
  std::array<double, 16> share{};
  for (std::size_t i = 0; i < at.size(); ++i) {
    const decision& each = space.decisions[i];
    const double span = static_cast<double>(each.values.size() - 1);
    share[i] = 2 * static_cast<double>(at[i]) / span - 1;
    if (kind == flavour::collapsing && i % 3 == 2) {
      continue;  // a decision that changes nothing
    }
    const double off = (static_cast<double>(at[i]) - centre[i]) / span;
    sum += each.categorical() ? offset[i][at[i]] : -importance[i] * off * off * 2;
  }
  for (const pair& each : pairs) {
    if (kind != flavour::collapsing || (each.a % 3 != 2 && each.b % 3 != 2)) {
      sum += each.strength * share[each.a] * share[each.b];
    }
  }
  return sum;
}

bool landscape::fails_at(const std::vector<std::size_t>& at) const {
  return std::any_of(fatal.begin(), fatal.end(), [&](const auto& two) {
    return at[two.first] + at[two.second] >= space.decisions[two.first].values.size() + space.decisions[two.second].values.size() - 4;
  });
}

double landscape::log_speedup(const assignment& chosen) const {
  return log_speedup_at(positions(chosen));
}
bool landscape::fails(const assignment& chosen) const {
  return fails_at(positions(chosen));
}

double landscape::optimum() const {
  if (optimum_) {
    return *optimum_;
  }
  std::vector<std::size_t> at(space.decisions.size(), 0);
  double best = -1e9;
  while (true) {
    if (!fails_at(at)) {
      best = std::max(best, log_speedup_at(at));
    }
    std::size_t i = 0;
    while (i < at.size() && ++at[i] == space.decisions[i].values.size()) {
      at[i++] = 0;
    }
    if (i == at.size()) {
      optimum_ = best;
      return best;
    }
  }
}

move_outcome landscape::outcome(const assignment& chosen, double noise) const {
  move_outcome made;
  const auto at = positions(chosen);
  const double exact = log_speedup_at(at);
  made.passed = !fails_at(at);
  // The disturbance belongs to the candidate, so that a replay sees the same one.
  random_source chance(derive_seed(seed, text_of(chosen)));
  const double disturbance = noise * (chance.unit() + chance.unit() + chance.unit() + chance.unit() - 2) * std::sqrt(3.0);
  made.speedup = made.passed ? std::exp(exact + disturbance) : 0;
  if (kind == flavour::collapsing) {
    std::string code;
    for (std::size_t i = 0; i < at.size(); ++i) {
      code += i % 3 == 2 ? "" : fmt::format("{},", at[i]);
    }
    made.machine_code = code;
  } else {
    made.machine_code = text_of(chosen);
  }
  return made;
}

run_result run(const landscape& on, const search_settings& settings, double noise) {
  const fake_generator source(on.space);
  const generator* sources[] = {&source};
  auto made = make_search(settings, sources, {});
  assert(made);
  search& going = **made;
  run_result found;
  std::map<std::string, move_outcome> by_code;
  std::vector<std::pair<std::int64_t, move_outcome>> waiting;
  while (!going.finished()) {
    if (auto next = going.next()) {
      move_outcome seen = on.outcome(next->decisions, noise);
      if (const auto known = by_code.find(seen.machine_code); known != by_code.end()) {
        seen = known->second;
        seen.measured = false;
      } else {
        by_code.emplace(seen.machine_code, seen);
        ++found.evaluations;
      }
      waiting.emplace_back(next->id, seen);
      found.moves.push_back(std::move(*next));
    } else if (!waiting.empty()) {
      going.observe(waiting.front().first, waiting.front().second);
      waiting.erase(waiting.begin());
    }
  }
  found.stopped_by = going.stopped_by();
  found.digest = going.digest();
  if (const auto best = going.best()) {
    found.fraction = std::exp(on.log_speedup(found.moves[static_cast<std::size_t>(*best)].decisions) - on.optimum());
  }
  return found;
}

}  // namespace kernsmith::agents::testing
