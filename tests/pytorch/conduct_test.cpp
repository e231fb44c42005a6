// Candidates in Python that are wrong or misbehave, and right ones that look odd: each gets its word. The first lines of a fixture say
// which, for which of tests/pytorch/problems, and why.
#include <algorithm>
#include <map>
#include <sstream>
#include <vector>

#include "tests/pytorch/pytorch_fixtures.hpp"

using namespace kernsmith;
using namespace kernsmith::fixtures;

namespace {

struct fixture {
  std::string name, expect, problem, rule, source;
};

fixture fixture_in(const std::filesystem::path& file) {
  fixture f;
  f.name = file.parent_path().filename().string() + "/" + file.stem().string();
  f.source = text_of(file);
  std::map<std::string, std::string> head;
  std::istringstream lines(f.source);
  for (std::string line; std::getline(lines, line) && line.starts_with("# ");)
    if (const std::size_t colon = line.find(": "); colon != std::string::npos) head[line.substr(2, colon - 2)] = line.substr(colon + 2);
  CAPTURE(file.string());
  for (const char* needed : {"expect", "problem", "why"}) REQUIRE(!head[needed].empty());
  f.expect = head["expect"];
  f.problem = head["problem"];
  f.rule = head["rule"];
  REQUIRE((f.expect == "passed") == f.name.starts_with("must_pass/"));
  return f;
}

std::vector<fixture> all_fixtures() {
  std::vector<fixture> all;
  for (const char* side : {"must_fail", "must_pass"})
    for (const auto& entry : std::filesystem::directory_iterator(source_folder / "tests/pytorch/conduct" / side))
      if (entry.path().extension() == ".py") all.push_back(fixture_in(entry.path()));
  std::sort(all.begin(), all.end(), [](const fixture& a, const fixture& b) { return a.name < b.name; });
  return all;
}

}  // namespace

TEST_CASE("every fixture gets its word, one after the other on the same evaluator") {
  const std::vector<fixture> all = all_fixtures();
  CHECK(all.size() > 15);
  if (skipped()) return;
  std::map<std::string, std::unique_ptr<harness::evaluator>> open;
  for (const fixture& f : all) {
    std::unique_ptr<harness::evaluator>& evaluator = open[f.problem];
    if (!evaluator) evaluator = python_evaluator_of(problem_named(f.problem));
    const memory::evaluation e = evaluated(*evaluator, f.source, harness::effort::search);
    MESSAGE(f.name, ": ", e.outcome, e.rule.empty() ? "" : ":" + e.rule, ": ", e.detail.substr(0, 160));
    CHECK_MESSAGE(e.outcome == f.expect, f.name);
    CHECK_MESSAGE(e.rule == f.rule, f.name);
    if (e.outcome != "passed") CHECK(!e.detail.empty());
  }
}
