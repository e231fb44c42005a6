// What the rules write for OpenCL is right, whatever is decided: every value of every decision once, from the preferred ones.
#include "opencl_fixtures.hpp"

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

void check_all_decisions(const std::filesystem::path& file) {
  CAPTURE(file.string());
  const problem p = value_of(load_problem(file));
  const auto generator = value_of(agents::opencl::make_opencl_rules_generator(p, machine()));
  const auto evaluator = evaluator_of(p);
  int examined = 0;
  for (const agents::decision& d : generator->space().decisions) {
    for (const std::int64_t value : d.values) {
      agents::assignment chosen = agents::preferred_assignment(generator->space());
      if (value == chosen.at(d.name) && examined > 0) continue;
      chosen[d.name] = value;
      const auto made = value_of(generator->generate(chosen));
      const auto e = evaluated(*evaluator, made.source, harness::effort::search);
      INFO(d.name, "=", value, ": ", e.outcome, ": ", e.detail, "\n", made.source);
      CHECK(e.outcome == "passed");
      ++examined;
    }
  }
  CHECK(examined > 3);
}

std::filesystem::path own(const std::string& name) {
  return source_folder / "tests/opencl/problems" / (name + ".toml");
}

}  // namespace

TEST_CASE("every decision of every example" * doctest::skip()) {  // by hand: takes a quarter of an hour
  for (const auto& entry : std::filesystem::directory_iterator(source_folder / "docs/examples"))
    if (entry.path().extension() == ".toml" && !value_of(load_problem(entry.path())).statements.empty()) check_all_decisions(entry.path());
}
TEST_CASE("dtypes") {
  if (!skipped()) check_all_decisions(own("dtypes"));
}
TEST_CASE("rows") {
  if (!skipped()) check_all_decisions(own("rows"));
}
TEST_CASE("positions") {
  if (!skipped()) check_all_decisions(own("positions"));
}
TEST_CASE("product") {
  if (!skipped()) check_all_decisions(own("product"));
}
TEST_CASE("window") {
  if (!skipped()) check_all_decisions(own("window"));
}
TEST_CASE("wide") {
  if (!skipped()) check_all_decisions(own("wide"));
}
