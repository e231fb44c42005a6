// The rules as data, and the engine on made-up signals: none of the numbers here was measured.
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "agents/diagnosis/diagnose.hpp"

using namespace kernsmith;
using namespace kernsmith::agents;

namespace {

/// A signal that makes `c` hold, or fail.
memory::signal made_up(const condition& c, bool hold) {
  const double step = std::max(0.01, 0.05 * std::abs(c.threshold));
  return {c.threshold + ((c.op == comparison::above) == hold ? step : -step), "made up", "test"};
}

/// Signals under which all needs of a rule hold, and its severity is complete.
std::map<std::string, memory::signal> signals_for(const rule& r) {
  std::map<std::string, memory::signal> signals;
  signals[std::string(r.explains.signal)] = {r.explains.to, "made up", "test"};
  for (const condition& c : r.needs) {
    if (c.signal != r.explains.signal) signals[std::string(c.signal)] = made_up(c, true);
  }
  return signals;
}

memory::profile profile_of(std::map<std::string, memory::signal> signals, const char* target = "cpp/x86-64-v4") {
  memory::profile p;
  p.target = target;
  p.signals = std::move(signals);
  return p;
}

}  // namespace

TEST_CASE("each rule fires on its own needs, and is silent without any one of them") {
  for (const auto& [name, rules] : {std::pair{"cpu", cpu_rules()}, std::pair{"nvidia", nvidia_rules()}}) {
    CAPTURE(name);
    REQUIRE(rules.size() > 10);
    for (const rule& r : rules) {
      CAPTURE(name_of(r.which));
      CAPTURE(r.explains.signal);
      const std::span<const rule> alone(&r, 1);
      auto signals = signals_for(r);
      const auto found = findings_of(signals, alone);
      REQUIRE(found.size() == 1);
      CHECK(found.front().strength > 0.9);
      CHECK(found.front().evidence.size() >= r.needs.size());
      for (const condition& c : r.needs) {
        CAPTURE(c.signal);
        auto failing = signals;
        failing[std::string(c.signal)] = made_up(c, false);
        CHECK(findings_of(failing, alone).empty());
        failing.erase(std::string(c.signal));
        CHECK(findings_of(failing, alone).empty());
      }
    }
  }
}

TEST_CASE("rules are well-formed") {
  for (const auto rules : {cpu_rules(), nvidia_rules()}) {
    for (const rule& r : rules) {
      CAPTURE(name_of(r.which));
      CHECK(r.which != bottleneck::unclear);
      CHECK(r.explains.from != r.explains.to);
      CHECK_FALSE(r.needs.empty());
      CHECK(std::abs(r.preference) < 0.3);
      for (const auto list : {r.needs, r.supports, r.contradicts}) {
        std::set<std::string_view> seen;
        for (const condition& c : list) {
          CHECK_FALSE(c.says.empty());
          CHECK(seen.insert(c.signal).second);
        }
      }
    }
  }
}

TEST_CASE("every word of the vocabulary but unclear has a rule somewhere") {
  std::set<bottleneck> with_rule;
  for (const auto rules : {cpu_rules(), nvidia_rules()}) {
    for (const rule& r : rules) with_rule.insert(r.which);
  }
  CHECK(with_rule.size() == bottleneck_count - 1);
}

TEST_CASE("names of bottlenecks go there and back") {
  for (std::size_t i = 0; i < bottleneck_count; ++i) {
    const auto which = static_cast<bottleneck>(i);
    CHECK(bottleneck_named(name_of(which)) == which);
    CHECK_FALSE(meaning_of(which).empty());
  }
  CHECK_FALSE(bottleneck_named("memory"));
}

TEST_CASE("no signals give no bottleneck") {
  const auto d = diagnose(profile_of({}));
  CHECK(d.bottleneck == "unclear");
  CHECK(d.confidence == "unclear");
  CHECK(d.evidence.empty());
}

TEST_CASE("a target without rules is unclear, whatever the signals") {
  CHECK(diagnose(profile_of({{"memory_fraction", {0.9, "", ""}}, {"cache_resident", {0, "", ""}}}, "verilog/x")).bottleneck == "unclear");
}

TEST_CASE("a strong signal alone is clear, a weak one likely, a hint unclear") {
  const auto at = [](double fraction) {
    return diagnose(profile_of({{"memory_fraction", {fraction, "fraction", "roofline"}}, {"cache_resident", {0, "", "roofline"}}}));
  };
  CHECK(at(0.8).bottleneck == "memory_bandwidth");
  CHECK(at(0.8).confidence == "clear");
  CHECK(at(0.45).bottleneck == "memory_bandwidth");
  CHECK(at(0.45).confidence == "likely");
  const auto hint = at(0.36);
  CHECK(hint.bottleneck == "unclear");
  CHECK(hint.also == std::vector<std::string>{"memory_bandwidth"});
  CHECK(hint.evidence.size() == 2);
}

TEST_CASE("two strong findings are not clear, and contradictions are shown") {
  std::map<std::string, memory::signal> both = {
      {"memory_fraction", {0.8, "", ""}}, {"cache_resident", {0, "", ""}}, {"compute_fraction", {0.8, "", ""}}};
  const auto d = diagnose(profile_of(both));
  CHECK(d.confidence == "likely");
  CHECK(d.also.size() == 1);
  std::map<std::string, memory::signal> against = {
      {"spill_bytes", {1000, "", "ptxas"}}, {"roofline_fraction", {0.1, "", ""}}, {"spill_share", {0, "", "ncu"}}};
  const auto spills = diagnose(profile_of(against, "cuda/sm_90a"));
  CHECK(spills.bottleneck == "spills");
  CHECK(spills.confidence == "likely");
  CHECK(spills.evidence.back().against);
}

TEST_CASE("what was missing goes into the diagnosis") {
  auto p = profile_of({});
  p.missing.push_back({"ncu", "no permission", "ask"});
  CHECK(diagnose(p).missing.size() == 1);
}

TEST_CASE("half-used sectors at the memory's limit are no fault when nothing is moved in vain") {
  // What a sum over 256 Mi floats showed on an H200: each lane's 16 values arrive in pieces, the first-level cache keeps the rest.
  std::map<std::string, memory::signal> sum = {
      {"dram_throughput", {0.894, "", ""}},     {"worst_sector_use", {0.5, "", ""}},      {"busiest_memory_level", {0.915, "", ""}},
      {"global_access_share", {0.095, "", ""}}, {"stall_global_memory", {0.948, "", ""}}, {"issue_active", {0.09, "", ""}},
      {"cache_resident", {0, "", ""}}};
  CHECK(diagnose(profile_of(sum, "cuda/sm_90a")).bottleneck == "memory_bandwidth");
  sum["memory_fraction"] = {0.91, "", ""};
  const auto d = diagnose(profile_of(sum, "cuda/sm_90a"));
  CHECK(d.bottleneck == "memory_bandwidth");
  CHECK(d.confidence == "clear");
  sum["worst_sector_use"] = {0.125, "", ""};
  sum["memory_fraction"] = {0.12, "", ""};
  CHECK(diagnose(profile_of(sum, "cuda/sm_90a")).bottleneck == "uncoalesced_access");
}
