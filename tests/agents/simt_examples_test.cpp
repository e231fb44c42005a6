// Every example problem as CUDA: right under emulation at edge shapes, and accepted by nvcc.
#include <doctest/doctest.h>

#include "config/edge_shapes.hpp"
#include "simt_support.hpp"

namespace kernsmith::agents::testing {
namespace {

const std::vector<std::string>& examples() {
  static const std::vector<std::string> files = {
      "batched_matmul.toml",   "bucketise.toml",        "column_sum.toml",  "conv2d_bias_relu.toml", "cumsum.toml",
      "dlrm_interaction.toml", "embedding_bag.toml",    "gemv.toml",        "group_quantise.toml",   "image_normalise.toml",
      "int8_matmul.toml",      "layernorm.toml",        "linear_gelu.toml", "masked_mean.toml",      "matmul.toml",
      "max_pool.toml",         "residual_rmsnorm.toml", "rmsnorm.toml",     "softmax.toml",          "tunable_transpose.toml",
      "utility.toml"};
  return files;
}

TEST_CASE("examples are right under emulation") {
  constexpr std::size_t shapes = 4;
  for (const std::string& file : examples()) {
    CAPTURE(file);
    const problem p = example_problem(file);
    run_options options;
    options.allowed = {1e-4, 3e-3};
    if (p.tensors[static_cast<std::size_t>(p.outputs().back())].type == dtype::f8e4m3) options.allowed = {0.02, 0.13};
    if (p.tensors[static_cast<std::size_t>(p.outputs().back())].type == dtype::bf16) options.allowed = {};
    check_emulated(p, edge_axes(p, shapes), 0, options);  // other assignments: simt_row_test.cpp
  }
}

TEST_CASE("examples compile for sm_90a") {
  if (nvcc_path().empty()) {
    MESSAGE("skipped: no nvcc here");
    return;
  }
  // One for each kind of kernel: a compilation takes seconds.
  for (const char* file : {"softmax.toml", "column_sum.toml", "cumsum.toml", "embedding_bag.toml", "group_quantise.toml", "bucketise.toml",
                           "utility.toml", "max_pool.toml", "tunable_transpose.toml"}) {
    CAPTURE(file);
    const std::unique_ptr<generator> g = cuda_generator(example_problem(file));
    const result<proposal> made = g->generate(preferred_assignment(g->space()));
    REQUIRE(made.has_value());
    CHECK(compile_with_nvcc(made->source) == "");
  }
}

}  // namespace
}  // namespace kernsmith::agents::testing
