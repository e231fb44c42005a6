// References and baselines that are PyTorch modules or functions, beside C++ candidates.
#include "tests/pytorch/pytorch_fixtures.hpp"

using namespace kernsmith;
using namespace kernsmith::fixtures;

namespace {

const char* const affine_kernel = R"(#include "kernsmith_kernel.h"
extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int n_out, ks_launch*) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
#pragma omp parallel for
  for (long i = 0; i < in[0].shape[0]; ++i) {
    y[i] = 2 * x[i] + OFFSET;
    if (n_out > 1) static_cast<bool*>(out[1].data)[i] = x[i] > 0;
  }
  return 0;
}
)";

std::string kernel_with(const std::string& offset) {
  std::string text = affine_kernel;
  return text.replace(text.find("OFFSET"), 6, offset);
}

std::unique_ptr<harness::evaluator> cpp_evaluator_of(const problem& p) {
  return value_of(cpp::open_evaluator(p, quick_options()));
}

}  // namespace

TEST_CASE("the eager module is a baseline for C++ candidates") {
  if (skipped()) return;
  const auto evaluator = cpp_evaluator_of(problem_named("affine"));
  const auto baselines = evaluator->baselines();
  REQUIRE(baselines.size() == 1);
  CHECK(baselines.front().name == "eager");
  CHECK(baselines.front().workloads.front().median_ns > 0);
  CHECK(evaluator->machine().flags.find("eager: PyTorch") != std::string::npos);
  const memory::evaluation right = evaluated(*evaluator, kernel_with("1"), harness::effort::search);
  CHECK_MESSAGE(right.outcome == "passed", right.detail);
  CHECK(right.speedup > 0);
  CHECK(right.verification.timed_outputs > 0);
  CHECK(evaluated(*evaluator, kernel_with("1.01f"), harness::effort::search).outcome == "wrong_values");
}

TEST_CASE("parameters are the problem's inputs, and constants of the module's file follow the axes") {
  if (skipped()) return;
  // Admission holds the module against the definition on the workload, edge shapes with other axes do when a candidate is verified.
  const auto evaluator = python_evaluator_of(problem_named("linear"));
  const memory::evaluation e =
      evaluated(*evaluator, text_of(source_folder / "tests/pytorch/conduct/must_pass/model_new.py"), harness::effort::final);
  CHECK_MESSAGE(e.outcome == "passed", e.detail);
  CHECK(e.verification.cases > 5);
}

TEST_CASE("a Python function is a reference, in float64, with several outputs") {
  if (skipped()) return;
  const auto evaluator = cpp_evaluator_of(problem_named("affine_function"));
  CHECK(evaluator->baselines().front().name == "reference");
  const memory::evaluation right = evaluated(*evaluator, kernel_with("1"), harness::effort::search);
  CHECK_MESSAGE(right.outcome == "passed", right.detail);
  // An error below single precision is seen: what must come out was not rounded.
  CHECK(right.verification.max_error > 0);
  CHECK(evaluated(*evaluator, kernel_with("2"), harness::effort::search).outcome == "wrong_values");
}

TEST_CASE("torch.compile names what it lacks") {
  if (skipped()) return;
  const auto python = value_of(pytorch::find_python());
  problem p = problem_named("affine");
  p.baselines = {{"compiled", "torch.compile max-autotune", std::nullopt}};
  const auto options = quick_options();
  const auto made = options.hosted->baseline(p, p.baselines.front(), false);
  if (python.packages.at("torch").starts_with("1.")) {
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error().kind == fault::missing_here);
    CHECK(made.error().message.find("torch.compile, which came with PyTorch 2.0") != std::string::npos);
  } else {
    CHECK(made.has_value());
  }
}

TEST_CASE("a baseline without a module is refused with what it needs") {
  if (skipped()) return;
  problem p = problem_named("affine");
  p.module.reset();
  const auto made = quick_options().hosted->baseline(p, p.baselines.front(), false);
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error().kind == fault::bad_request);
  CHECK(made.error().message.find("give [module]") != std::string::npos);
}
