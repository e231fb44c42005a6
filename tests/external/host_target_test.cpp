// A target whose counter varies, on this machine's own processor: the naive C of every example is right, and blocks of runs give verdicts.
#include "external_fixtures.hpp"

#include "agents/synthesis/vector_c/vector_c_grammar.hpp"
#include "backends/external/c_source.hpp"

using namespace kernsmith;
using namespace kernsmith::fixtures;

namespace {

bool skipped() {
  if (has_program("cc") && std::filesystem::exists("/lib64/ld-linux-x86-64.so.2")) return false;
  MESSAGE("SKIPPED: no C compiler");
  return true;
}

/// The example with extents that a check gets through at once.
problem small(const std::filesystem::path& file) {
  problem p = value_of(load_problem(file));
  p.baselines = {{"naive", "naive", std::nullopt}};
  p.seed_kernels.clear();
  return p;
}

const std::vector<std::string> examples = {"softmax", "layernorm", "bucketise", "cumsum", "max_pool", "masked_mean"};

}  // namespace

TEST_CASE("counts that vary give a verdict by blocks, in the target's own unit") {
  if (skipped()) return;
  const auto target = value_of(load_external_target(host_file));
  const auto evaluator = value_of(external::open_evaluator(target, affine(), quick_options()));
  const std::string slow = "  for (int turn = 0; turn < 40; ++turn) { __asm__ volatile(\"\" ::: \"memory\");\n" + honest_body + "\n  }";
  const auto e = evaluated(*evaluator, kernel(slow), harness::effort::search);
  INFO(e.outcome, ": ", e.detail);
  REQUIRE(e.outcome == "passed");
  CHECK(e.unit == "ns");
  CHECK(e.workloads.at(0).verdict == "slower");
  CHECK(e.workloads.at(0).samples >= 16);
  CHECK(e.diagnosis.signals.at("image_bytes") > 1000);  // what the profile's command reported
  CHECK(evaluated(*evaluator, kernel(honest_body + "\n  y[B * N] = 0;"), harness::effort::quick).outcome == "out_of_bounds");
  CHECK(evaluated(*evaluator, kernel(honest_body + "\n  ((float*)x)[0] += 1;"), harness::effort::quick).outcome == "input_modified");
  CHECK(evaluated(*evaluator, kernel("  __builtin_trap();"), harness::effort::quick).outcome == "crashed");
}

TEST_CASE("naive C is what the reference says") {
  if (skipped()) return;
  const auto target = value_of(load_external_target(host_file));
  for (const std::string& name : examples) {
    CAPTURE(name);
    // Opening the evaluator admits the problem: the naive C is built, run on every workload and compared.
    const problem p = small(source_folder / "tests/external/problems" / (name + ".toml"));
    const auto opened = external::open_evaluator(target, p, quick_options());
    INFO((opened ? "" : opened.error().message));
    CHECK(opened);
  }
}

TEST_CASE("the rules' plain C is right where there are no vectors") {
  if (skipped()) return;
  const auto target = value_of(load_external_target(host_file));
  for (const std::string& name : examples) {
    CAPTURE(name);
    const problem p = small(source_folder / "tests/external/problems" / (name + ".toml"));
    const auto generator = value_of(agents::vector_c::make_vector_c_generator(p, target));
    const auto evaluator = value_of(external::open_evaluator(target, p, quick_options()));
    const auto made = value_of(generator->generate(agents::preferred_assignment(generator->space())));
    const auto e = evaluated(*evaluator, made.source, harness::effort::quick);
    INFO(e.outcome, ": ", e.detail, "\n", made.source);
    CHECK(e.outcome == "passed");
  }
}
