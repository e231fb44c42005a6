// What the rules write for the emulated core is right, whatever is decided: every value of every decision once, from the preferred ones.
#include "external_fixtures.hpp"

#include "agents/synthesis/vector_c/vector_c_grammar.hpp"

using namespace kernsmith;
using namespace kernsmith::fixtures;

namespace {

bool skipped() {
  if (has_riscv()) return false;
  MESSAGE("SKIPPED: the emulated core is missing; scripts/setup --with external installs it");
  return true;
}

void check_all_decisions(const std::string& name, const std::string& in_source) {
  CAPTURE(name);
  const auto target = value_of(load_external_target(riscv_file));
  const problem p = value_of(load_problem(source_folder / "tests/external/problems" / (name + ".toml")));
  const auto generator = value_of(agents::vector_c::make_vector_c_generator(p, target));
  const auto evaluator = value_of(external::open_evaluator(target, p, quick_options()));
  int examined = 0;
  for (const agents::decision& d : generator->space().decisions) {
    for (const std::int64_t value : d.values) {
      agents::assignment chosen = agents::preferred_assignment(generator->space());
      if (value == chosen.at(d.name) && examined > 0) continue;
      chosen[d.name] = value;
      const auto made = value_of(generator->generate(chosen));
      CHECK(made.source.find(in_source) != std::string::npos);
      const auto e = evaluated(*evaluator, made.source, harness::effort::search);
      INFO(d.name, "=", value, ": ", e.outcome, ": ", e.detail, "\n", made.source);
      CHECK(e.outcome == "passed");
      ++examined;
    }
  }
  CHECK(examined > 3);
}

}  // namespace

TEST_CASE("rows in vectors: softmax") {
  if (!skipped()) check_all_decisions("softmax", "_rows(");
}
TEST_CASE("rows in vectors: masks, maxima, a reduction that is an output") {
  if (!skipped()) check_all_decisions("gated", "_rows(");
}
TEST_CASE("products and column sums in vectors") {
  if (!skipped()) check_all_decisions("product", "_across(");
}
TEST_CASE("what has no vector form is plain C, vectorised by the compiler where it can") {
  if (!skipped()) check_all_decisions("layernorm", "_plain(");
}
