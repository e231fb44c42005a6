// What the rules write for OpenCL is right, whatever is decided: every value of every decision once, from the preferred ones.
#include "opencl_fixtures.hpp"

#include <cstdlib>

#include "agents/synthesis/opencl/opencl_grammar.hpp"

using namespace kernsmith;
using namespace kernsmith::fixtures;

namespace {

/// The same decisions on every machine.
agents::machine_model machine() {
  agents::machine_model model;
  model.cores = 2;
  return model;
}

class checked_problem {
 public:
  explicit checked_problem(const std::filesystem::path& file)
      : problem_(value_of(load_problem(file))), rules_(value_of(agents::opencl::make_opencl_rules_generator(problem_, machine()))) {}

  [[nodiscard]] const std::vector<agents::decision>& decisions() const { return rules_->space().decisions; }
  [[nodiscard]] agents::assignment preferred() const { return agents::preferred_assignment(rules_->space()); }
  void check(const agents::assignment& chosen) {
    if (!evaluator_) evaluator_ = evaluator_of(problem_);
    const auto made = value_of(rules_->generate(chosen));
    const auto e = evaluated(*evaluator_, made.source, harness::effort::search);
    INFO(agents::describe(rules_->space(), made.decisions), ": ", e.outcome, ": ", e.detail, "\n", made.source);
    CHECK(e.outcome == "passed");
  }

 private:
  problem problem_;
  std::unique_ptr<agents::generator> rules_;
  std::unique_ptr<harness::evaluator> evaluator_;
};

/// The preferred decisions, and others in two different mixtures.
void check_mixtures(const std::filesystem::path& file) {
  CAPTURE(file.string());
  checked_problem p(file);
  p.check(p.preferred());
  for (const std::size_t mixture : {1, 2}) {
    agents::assignment chosen = p.preferred();
    for (std::size_t k = 0; k < p.decisions().size(); ++k) {
      const agents::decision& d = p.decisions()[k];
      chosen[d.name] = d.values[(d.preferred + mixture + k) % d.values.size()];
    }
    p.check(chosen);
  }
}

void check_all_decisions(const std::filesystem::path& file) {
  CAPTURE(file.string());
  checked_problem p(file);
  p.check(p.preferred());
  for (const agents::decision& d : p.decisions())
    for (const std::int64_t value : d.values) {
      agents::assignment chosen = p.preferred();
      if (value == chosen.at(d.name)) continue;
      chosen[d.name] = value;
      p.check(chosen);
    }
}

std::filesystem::path own(const std::string& name) {
  return source_folder / "tests/opencl/problems" / (name + ".toml");
}

}  // namespace

// By hand: a quarter of an hour each.
TEST_CASE("every decision of every example" * doctest::skip()) {
  for (const auto& entry : std::filesystem::directory_iterator(source_folder / "docs/examples"))
    if (entry.path().extension() == ".toml" && !value_of(load_problem(entry.path())).statements.empty()) check_all_decisions(entry.path());
}
TEST_CASE("every decision of every problem" * doctest::skip()) {
  for (const auto& entry : std::filesystem::directory_iterator(source_folder / "tests/opencl/problems")) check_all_decisions(entry.path());
}

TEST_CASE("vectors of all dtypes") {
  if (!skipped()) check_mixtures(own("dtypes"));
}
TEST_CASE("rows in vectors, and in work-groups; names that mean something in OpenCL C") {
  if (!skipped()) check_mixtures(own("rows"));
}
TEST_CASE("positions, counts, scans; two reductions over one index in a statement") {
  if (!skipped()) check_mixtures(own("positions"));
}
TEST_CASE("products") {
  if (!skipped()) check_mixtures(own("product"));
}
TEST_CASE("windows, gathers, transposed operands") {
  if (!skipped()) check_mixtures(own("window"));
}
TEST_CASE("arithmetic in double") {
  if (!skipped()) check_mixtures(own("wide"));
}

TEST_CASE("what the rules write for softmax, word by word") {
  const problem p = value_of(load_problem(source_folder / "docs/examples/softmax.toml"));
  const auto rules = value_of(agents::opencl::make_opencl_rules_generator(p, machine()));
  agents::assignment chosen = agents::preferred_assignment(rules->space());
  chosen["y.items"] = 16;
  const std::string source = value_of(rules->generate(chosen)).source;
  const std::filesystem::path golden = source_folder / "tests/opencl/golden/softmax.cl";
  if (std::getenv("KERNSMITH_WRITE_GOLDEN") != nullptr) std::ofstream(golden) << source;
  CHECK(source == text_of(golden));
}
