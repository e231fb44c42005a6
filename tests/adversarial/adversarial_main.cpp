// The adversarial suite: every fixture is built and evaluated as a search would, and must get its word. Prints a table and counts what it
// examined; a suite that examined nothing, or left one out, has failed.
//
//     test_adversarial [--only TEXT] [--part usual|strict] [--repeat N] [--cache FOLDER]
//
// The strict part is the fixtures that ask for sanitizers, and every one that must pass: a sanitizer must not accuse an honest kernel.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>

#include "adversarial_fixture.hpp"

namespace {

namespace fs = std::filesystem;
using namespace kernsmith;
using adversarial::fixture;

/// For what must run into them. Short, so that what hangs does not hold the suite: the same code path as the usual limits.
constexpr double call_timeout_s = 2, build_timeout_s = 30;
/// For all others: what must run into a limit of memory or output has its time for it on a busy machine, too.
constexpr double patient_call_timeout_s = 30, patient_build_timeout_s = 180;
constexpr std::int64_t memory_limit_bytes = std::int64_t{1} << 30;

struct arguments {
  std::string only, part;
  int repeat = 1;
  fs::path cache = fs::path(KERNSMITH_BINARY_DIR) / "adversarial-cache";
};

struct verdict {
  std::string outcome, rule, detail;
  double seconds = 0;
  bool right = false;
};

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Problems are opened once and serve all their fixtures, as they do in a search: a fixture must not spoil the next one's evaluation.
class evaluators {
 public:
  explicit evaluators(fs::path cache) : cache_(std::move(cache)) {}
  result<cpp::evaluator*> of(const fixture& f) {
    const bool hangs = f.expect == "timeout" || f.expect == "build_timeout";
    auto& known = open_[f.problem + (f.strict ? " strict" : "") + (hangs ? " hangs" : "")];
    if (known) return known.get();
    auto p = load_problem(fs::path(KERNSMITH_SOURCE_DIR) / "tests/adversarial/problems" / (f.problem + ".toml"));
    if (!p) return tl::unexpected(p.error());
    cpp::evaluator_options options;
    options.cache = cache_;
    options.call_timeout_s = hangs ? call_timeout_s : patient_call_timeout_s;
    options.build_timeout_s = hangs ? build_timeout_s : patient_build_timeout_s;
    options.memory_limit_bytes = memory_limit_bytes;
    options.strict = f.strict;
    // What sanitizers are asked about does not depend on how long anything is timed.
    if (f.strict) options.until = harness::stopping_choice{harness::stopping_choice::kind::fixed_count, 1};
    auto made = cpp::open_evaluator(*p, options);
    if (!made) return tl::unexpected(made.error());
    known = std::move(*made);
    return known.get();
  }

 private:
  fs::path cache_;
  std::map<std::string, std::unique_ptr<cpp::evaluator>> open_;
};

verdict judge(evaluators& all, const fixture& f) {
  verdict v;
  const double began_s = now_s();
  const auto broken = [&](const error& why) {
    v.outcome = "ERROR";
    v.detail = why.message;
    v.seconds = now_s() - began_s;
    return v;
  };
  auto evaluator = all.of(f);
  if (!evaluator) return broken(evaluator.error());
  auto built = (*evaluator)->build(f.source);
  if (!built) return broken(built.error());
  auto evaluated = (*evaluator)->evaluate(*built, f.how);
  if (!evaluated) return broken(evaluated.error());
  v.outcome = evaluated->outcome;
  v.rule = evaluated->rule;
  v.detail = evaluated->detail;
  v.seconds = now_s() - began_s;
  v.right = v.outcome == f.expect && (v.outcome == "cheating" ? contains(f.rules, v.rule) : v.rule.empty());
  if (v.outcome != "passed" && v.detail.empty()) v.right = false;  // a refusal without a reason helps nobody
  return v;
}

void print(const fixture& f, const verdict& v) {
  constexpr std::size_t detail_width = 110;
  const std::string got = v.rule.empty() ? v.outcome : fmt::format("{}:{}", v.outcome, v.rule);
  std::string wanted = f.expect;
  if (!f.rules.empty()) wanted += fmt::format(":{}", fmt::join(f.rules, " or "));
  std::string detail = v.detail.substr(0, v.right ? detail_width : std::string::npos);
  std::replace(detail.begin(), detail.end(), '\n', ' ');
  fmt::print("{} {:<42} {:<32} {:>6.2f} s  {}\n", v.right ? "ok   " : "WRONG", f.name, got, v.seconds, detail);
  if (!v.right) fmt::print("      must get {}: {}\n", wanted, f.why);
  std::fflush(stdout);
}

/// Fixtures that docs/trust.md does not list.
std::size_t not_in_the_docs(const std::vector<fixture>& fixtures) {
  std::ifstream file(fs::path(KERNSMITH_SOURCE_DIR) / "docs/trust.md");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  std::size_t missing = 0;
  for (const fixture& f : fixtures) {
    const std::string name = f.name.substr(f.name.find('/') + 1);
    if (text.find("| `" + name + "` |") != std::string::npos) continue;
    fmt::print("{} is missing in docs/trust.md\n", f.name);
    ++missing;
  }
  return missing;
}

void choose_part(const std::string& part, std::vector<fixture>& fixtures) {
  const bool strict = part == "strict";
  for (fixture& f : fixtures) {
    if (!strict || !f.name.starts_with("must_pass/")) continue;
    f.strict = true;
    f.how = cpp::effort::final;
  }
  std::erase_if(fixtures, [strict](const fixture& f) { return f.strict != strict; });
}

}  // namespace

int main(int argc, char** argv) {
  arguments given;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view key = argv[i];
    if (key == "--only") given.only = argv[i + 1];
    if (key == "--part") given.part = argv[i + 1];
    if (key == "--repeat") given.repeat = std::max(1, std::atoi(argv[i + 1]));
    if (key == "--cache") given.cache = argv[i + 1];
  }
  auto fixtures = adversarial::load_fixtures(fs::path(KERNSMITH_SOURCE_DIR) / "tests/adversarial");
  if (!fixtures) {
    fmt::print("{}\n", fixtures.error().message);
    return 1;
  }
  const std::size_t untold = not_in_the_docs(*fixtures);
  if (!given.part.empty()) choose_part(given.part, *fixtures);
  evaluators all(given.cache);
  std::size_t examined = 0, wrong = 0, wanted = 0, failing = 0, invented = 0;
  for (int round = 0; round < given.repeat; ++round) {
    for (const fixture& f : *fixtures) {
      if (f.name.find(given.only) == std::string::npos) continue;
      ++wanted;
      const verdict v = judge(all, f);
      ++examined;
      wrong += v.right ? 0 : 1;
      failing += f.name.starts_with("must_fail/") ? 1 : 0;
      invented += f.origin == "invented" ? 1 : 0;
      print(f, v);
    }
  }
  fmt::print("{} examined ({} must fail, {} must pass; {} of our own invention) of {}, {} wrong\n", examined, failing, examined - failing,
             invented, wanted, wrong);
  return examined == 0 || examined != wanted || wrong > 0 || untold > 0 ? 1 : 0;
}
