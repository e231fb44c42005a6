// The SIMT rules in HIP: right under emulation with waves of 64 and of 32 threads, and accepted by AMD's compiler for gfx90a and by
// NVIDIA's through HIP's headers.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "agents/synthesis/simt/simt_hip.hpp"
#include "config/edge_shapes.hpp"
#include "simt_support.hpp"

namespace kernsmith::agents::testing {
namespace {

constexpr emulated_device wide{simt::dialect::hip, 64}, narrow{simt::dialect::hip, 32};
const char* const softmax = "m[b] = max(n: x[b,n])\ne[b,n] = exp(x[b,n] - m[b])\ns[b] = sum(n: e[b,n])\ny[b,n] = e[b,n] / s[b]";

TEST_CASE("rows that a block, a wave, a part of a wave or a thread reduces") {
  for (const emulated_device& device : {wide, narrow}) {
    CAPTURE(device.warp);
    check_emulated(small_problem("B=3 N=1024", "in x f32[B,N]\nout y f32[B,N]", softmax), {{1, 1}, {3, 1024}, {5, 1000}}, 2, {}, device);
    check_emulated(small_problem("B=70 N=12", "in x bf16[B,N]\nout y f32[B,N]", softmax), {{1, 1}, {70, 12}, {9, 37}}, 1, {}, device);
  }
  // A row longer than a block keeps, which CUDA gives to a cluster.
  check_emulated(small_problem("B=2 N=9001", "in x f32[B,N]\nout y f32[B,N]", softmax), {{2, 9001}, {1, 8999}}, 0, {}, wide);
}

TEST_CASE("each width of a row in threads, on waves of 64") {
  const problem p =
      small_problem("B=5 N=512", "in x f32[B,N]\nout s f32[B]\nout y f32[B,N]", "s[b] = sum(n: x[b,n])\ny[b,n] = x[b,n] - s[b]");
  const std::unique_ptr<generator> g = hip_generator(p);
  for (const std::int64_t vectors : {1, 2, 4, 8, 16}) {  // 128, 64, 32, 16 and 8 threads for a row
    assignment chosen = preferred_assignment(g->space());
    chosen["y.threads_lie"] = 0;
    chosen["y.vector"] = 4;
    chosen["y.vectors"] = vectors;
    const result<proposal> made = g->generate(g->normalise(chosen));
    REQUIRE(made.has_value());
    CAPTURE(describe(g->space(), made->decisions));
    const result<std::filesystem::path> library = compile_emulated(made->source, wide);
    REQUIRE(library.has_value());
    run_options options;
    options.allowed = {1e-3, 1e-4};
    CHECK(check_kernel(p, *library, {5, 512}, options) == "");
  }
}

TEST_CASE("columns, scans, positions and gathers on waves of 64") {
  check_emulated(
      small_problem("B=300 N=20", "in x f32[B,N]\nout y f32[N]\nout most f32[N]", "y[n] = sum(b: x[b,n])\nmost[n] = max(b: x[b,n])"),
      {{1, 1}, {300, 20}, {17, 35}}, 2, {}, wide);
  check_emulated(small_problem("B=40 N=50", "in x f32[B,N]\nout y f32[]", "y = sum(b, n: x[b,n] * x[b,n])"), {{1, 1}, {40, 50}}, 2,
                 {.seed = 1, .threads = 1, .allowed = {1e-3, 1e-5}}, wide);
  check_emulated(small_problem("B=3 N=600", "in x f64[B,N]\nout y f64[B,N]", "y[b,i] = cumsum(i: x[b,i] * 0.5)"), {{1, 1}, {3, 600}}, 1, {},
                 wide);
  run_options special;
  special.special_values = true;
  check_emulated(
      small_problem("B=4 N=300", "in x bf16[B,N]\nout at i64[B]\nout top f32[B]", "at[b] = argmax(n: x[b,n])\ntop[b] = max(n: x[b,n])"),
      {{4, 300}, {7, 1}, {3, 65}}, 2, special, wide);
}

TEST_CASE("narrow floats by HIP's own arithmetic") {
  run_options exact;
  exact.allowed = {};
  exact.special_values = true;
  for (const char* type : {"f16", "bf16", "f8e4m3", "f8e5m2"}) {
    CAPTURE(type);
    const std::string tensors = fmt::format("in x f32[N]\nin z {0}[N]\nout y {0}[N]\nout w f32[N]", type);
    check_emulated(small_problem("N=4000", tensors, "y[n] = x[n] * 3\nw[n] = z[n] * 2"), {{4000}, {33}}, 0, exact, wide);
  }
}

TEST_CASE("examples are right in HIP on waves of 64") {
  constexpr std::size_t shapes = 2;
  for (const char* file : {"matmul.toml", "conv2d_bias_relu.toml", "embedding_bag.toml", "group_quantise.toml", "bucketise.toml",
                           "tunable_transpose.toml", "masked_mean.toml"}) {
    CAPTURE(file);
    const problem p = example_problem(file);
    run_options options;
    options.allowed = {1e-4, 3e-3};
    if (p.tensors[static_cast<std::size_t>(p.outputs().back())].type == dtype::f8e4m3) options.allowed = {0.02, 0.13};
    check_emulated(p, edge_axes(p, shapes), 0, options, wide);
  }
}

TEST_CASE("examples compile for gfx90a and, through HIP's headers, for sm_90a") {
  const bool amd = !hipcc_path().empty(), nvidia = !nvcc_path().empty() && std::filesystem::exists("/usr/include/hip/nvidia_detail");
  if (!amd) MESSAGE("skipped for gfx90a: no hipcc here");
  if (!nvidia) MESSAGE("skipped for sm_90a: no nvcc with HIP's headers here");
  std::uint64_t seed = 1;
  for (const char* file : {"softmax.toml", "column_sum.toml", "cumsum.toml", "group_quantise.toml", "bucketise.toml", "matmul.toml"}) {
    CAPTURE(file);
    const std::unique_ptr<generator> g = hip_generator(example_problem(file));
    for (const assignment& chosen : {preferred_assignment(g->space()), random_assignment(*g, seed++)}) {
      const result<proposal> made = g->generate(chosen);
      REQUIRE(made.has_value());
      CAPTURE(describe(g->space(), made->decisions));
      if (amd) CHECK(compile_with_hipcc(made->source) == "");
      if (nvidia && seed % 2 == 0) CHECK(compile_hip_with_nvcc(made->source) == "");
    }
  }
}

TEST_CASE("HIP sources name nothing of CUDA's runtime outside of what is for NVIDIA") {
  for (const char* file : {"softmax.toml", "column_sum.toml", "bucketise.toml", "matmul.toml", "embedding_bag.toml"}) {
    CAPTURE(file);
    const std::unique_ptr<generator> g = hip_generator(example_problem(file));
    const std::string source = g->generate(preferred_assignment(g->space()))->source;
    CHECK(source.find("cudaStream") == std::string::npos);
    CHECK(source.find("cudaError") == std::string::npos);
    CHECK(source.find("ks_start_clusters") == std::string::npos);
    CHECK(source.find("rules synthesizer for hip/") != std::string::npos);
  }
  CHECK(simt::with_hip_names("cudaStream_t s; mycudaStream_t t; cudaStream_tx u; cudaMalloc(&p, 1);") ==
        "hipStream_t s; mycudaStream_t t; cudaStream_tx u; hipMalloc(&p, 1);");
}

}  // namespace
}  // namespace kernsmith::agents::testing
