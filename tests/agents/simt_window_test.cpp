// Convolutions and pooling for CUDA and HIP: right under emulation, whatever the layout, and on the units that they are meant for.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "agents/synthesis/simt/gemm_plan.hpp"
#include "simt_support.hpp"

namespace kernsmith::agents::testing {
namespace {

const emulated_device tensor_cores = {.architecture = "sm_80"};

problem convolution(const std::string& type = "f32", const std::string& axes = "N=2 C=9 K=70 H=9 W=11") {
  return small_problem(axes, fmt::format("in x {0}[N,C,H,W] pad = 0.0\nin w {0}[K,C,3,3]\nin bias f32[K]\nout y {0}[N,K,H,W]", type),
                       "y[n,k,p,q] = max(0, bias[k] + sum(c,r,s: x[n,c,p+r-1,q+s-1] * w[k,c,r,s]))");
}

problem channels_last(const std::string& type = "f32", const std::string& axes = "N=2 C=16 K=24 H=9 W=11 P=5 Q=6") {
  return small_problem(axes, fmt::format("in x {0}[N,H,W,C] pad = 0.0\nin w {0}[K,3,3,C]\nin r {0}[N,P,Q,K]\nout y {0}[N,P,Q,K]", type),
                       "y[n,p,q,k] = r[n,p,q,k] + sum(c,r,s: x[n,2*p+r-1,2*q+s-1,c] * w[k,r,s,c])");
}

std::string source_of(const problem& p, const std::string& architecture) {
  const std::unique_ptr<generator> g = cuda_generator(p, architecture);
  const result<proposal> made = g->generate(preferred_assignment(g->space()));
  REQUIRE(made.has_value());
  return made->source;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("convolutions are matrix products where there are tensor cores, tiles of ordinary units elsewhere") {
  const problem large = convolution("f32", "N=8 C=64 K=128 H=56 W=56");
  CHECK(holds(source_of(large, "sm_90a"), "mma.sync"));
  CHECK(holds(source_of(large, "sm_80"), "mma.sync"));
  CHECK(holds(source_of(large, "sm_75"), "product_kernel"));
  const problem few = convolution("f32", "N=8 C=3 K=8 H=56 W=56");
  CHECK(holds(source_of(few, "sm_90a"), "window_kernel"));
}

TEST_CASE("an image is packed once, by what its positions are, not by what the sum reads") {
  const std::string source = source_of(convolution("f32", "N=8 C=64 K=128 H=56 W=56"), "sm_80");
  CHECK(holds(source, "operand into [plane, t.N, (2 + t.H), (2 + t.W), stride]"));
  CHECK(holds(source, "operand into [plane, t.K, 3, 3, stride]"));
}

TEST_CASE("convolutions are right on emulated tensor cores") {
  const auto check = [](const problem& p, const std::vector<std::vector<std::int64_t>>& shapes, int random_count = 0) {
    check_emulated(p, shapes, random_count, {}, tensor_cores);
  };
  check(convolution(), {{1, 1, 1, 1, 1}, {2, 9, 70, 9, 11}});
  check(convolution("bf16", "N=2 C=9 K=20 H=9 W=11"), {{1, 1, 1, 1, 1}, {2, 9, 20, 9, 11}, {3, 40, 9, 4, 4}});
  check(channels_last("f16"), {{1, 1, 1, 1, 1, 1, 1}, {2, 16, 24, 9, 11, 5, 6}, {1, 13, 9, 7, 6, 4, 3}}, 1);
  check(channels_last("f64"), {{2, 16, 24, 9, 11, 5, 6}});
  check(channels_last("bf16"), {{2, 16, 24, 9, 11, 5, 6}, {3, 8, 24, 5, 4, 3, 2}, {2, 13, 24, 9, 11, 5, 6}}, 1);
  // Where nothing needs a pad, bf16 images whose channels are last are read where they lie.
  check(small_problem("N=2 C=16 K=24 H=9 W=11 P=7 Q=9", "in x bf16[N,H,W,C]\nin w bf16[K,3,3,C]\nout y f32[N,P,Q,K]",
                      "y[n,p,q,k] = sum(c,r,s: x[n,p+r,q+s,c] * w[k,r,s,c])"),
        {{2, 16, 24, 9, 11, 7, 9}, {1, 13, 9, 7, 6, 5, 4}});
}

TEST_CASE("dilation, groups, few channels, one and three dimensions are convolutions too") {
  const auto check = [](const problem& p, const std::vector<std::vector<std::int64_t>>& shapes) {
    check_emulated(p, shapes, 0, {}, tensor_cores);
    check_emulated(p, shapes, 0);
  };
  check(small_problem("N=2 C=9 K=20 H=9 W=11", "in x bf16[N,C,H,W] pad = 0.0\nin w bf16[K,C,3,3]\nout y f32[N,K,H,W]",
                      "y[n,k,p,q] = sum(c,r,s: x[n,c,p+2*r-2,q+3*s-3] * w[k,c,r,s])"),
        {{1, 1, 1, 1, 1}, {2, 9, 20, 9, 11}});
  check(small_problem("N=2 G=3 C=5 K=17 H=7 W=6", "in x bf16[N,G,C,H,W] pad = 0.0\nin w bf16[G,K,C,3,3]\nout y bf16[N,G,K,H,W]",
                      "y[n,g,k,p,q] = sum(c,r,s: x[n,g,c,p+r-1,q+s-1] * w[g,k,c,r,s])"),
        {{1, 1, 1, 1, 1, 1}, {2, 3, 5, 17, 7, 6}});
  check(small_problem("N=2 K=20 H=19 W=23 P=10 Q=12", "in x bf16[N,3,H,W] pad = 0.0\nin w bf16[K,3,7,7]\nout y f32[N,K,P,Q]",
                      "y[n,k,p,q] = sum(c,r,s: x[n,c,2*p+r-3,2*q+s-3] * w[k,c,r,s])"),
        {{1, 1, 1, 1, 1, 1}, {2, 20, 19, 23, 10, 12}});
  check(small_problem("N=2 C=9 K=20 W=31", "in x f16[N,C,W] pad = 0.0\nin w f16[K,C,5]\nout y f32[N,K,W]",
                      "y[n,k,q] = sum(c,s: x[n,c,q+s-2] * w[k,c,s])"),
        {{1, 1, 1, 1}, {2, 9, 20, 31}});
  check(small_problem("N=1 C=9 K=20 D=3 H=4 W=5", "in x bf16[N,C,D,H,W] pad = 0.0\nin w bf16[K,C,3,3,3]\nout y f32[N,K,D,H,W]",
                      "y[n,k,d,p,q] = sum(c,t,r,s: x[n,c,d+t-1,p+r-1,q+s-1] * w[k,c,t,r,s])"),
        {{1, 1, 1, 1, 1, 1}, {1, 9, 20, 3, 4, 5}});
  // Flipped taps, as gradients have them; and a filter that a step before the sum changes.
  check(small_problem("N=2 C=9 K=20 H=6 W=7 P=8 Q=9", "in g bf16[N,K,H,W] pad = 0.0\nin w bf16[K,C,3,3]\nout y f32[N,C,P,Q]",
                      "y[n,c,p,q] = sum(k,r,s: g[n,k,p-r,q-s] * w[k,c,r,s])"),
        {{1, 1, 1, 1, 1, 3, 3}, {2, 9, 20, 6, 7, 8, 9}});
  // Several summed indices without any window.
  check(small_problem("A=5 B=6 M=4 N=20 K=3", "in x bf16[A,K,B,M]\nin w bf16[B,N,K]\nout y f32[A,M,N]",
                      "y[a,m,n] = sum(b,k: x[a,k,b,m] * w[b,n,k])"),
        {{1, 1, 1, 1, 1}, {5, 6, 4, 20, 3}});
}

TEST_CASE("ordinary units do convolutions in f32 and f64, for HIP as well") {
  const std::vector<std::vector<std::int64_t>> shapes = {{1, 1, 1, 1, 1}, {2, 9, 70, 9, 11}};
  check_emulated(convolution(), shapes, 2);
  check_emulated(channels_last("f64"), {{2, 16, 24, 9, 11, 5, 6}}, 1);
  check_emulated(convolution(), shapes, 0, {}, {.language = simt::dialect::hip});
}

TEST_CASE("windows are right, strided, padded, along the lanes or not") {
  const auto pool = [](const std::string& x, const std::string& y, const std::string& body, const std::string& type, const char* pad) {
    return small_problem("N=2 C=5 H=9 W=11 P=5 Q=6", fmt::format("in x {0}[{1}]{2}\nout y {0}[{3}]", type, x, pad, y), body);
  };
  const std::vector<std::vector<std::int64_t>> shapes = {{1, 1, 1, 1, 1, 1}, {2, 5, 9, 11, 5, 6}, {1, 17, 13, 6, 7, 3}};
  const problem first = pool("N,C,H,W", "N,C,P,Q", "y[n,c,p,q] = max(r < 3, s < 3: x[n,c,2*p+r-1,2*q+s-1])", "f32", " pad = -inf");
  check_emulated(first, shapes, 3);
  check_emulated(first, shapes, 1, {}, {.language = simt::dialect::hip});
  check_emulated(pool("N,H,W,C", "N,P,Q,C", "y[n,p,q,c] = max(r < 3, s < 3: x[n,2*p+r-1,2*q+s-1,c])", "bf16", " pad = -inf"), shapes, 3);
  check_emulated(pool("N,C,H,W", "N,C,P,Q", "y[n,c,p,q] = 0.25 * sum(r < 2, s < 2: x[n,c,2*p+r,2*q+s])", "f16", " pad = 0.0"), shapes, 2);
  const auto depthwise = [](const char* x, const char* y, const char* body) {
    return small_problem("N=2 C=5 H=9 W=11", fmt::format("in x f32[{}] pad = 0.0\nin w f32[C,3,3]\nin b f32[C]\nout y f32[{}]", x, y),
                         body);
  };
  const std::vector<std::vector<std::int64_t>> images = {{1, 1, 1, 1}, {2, 5, 9, 11}, {1, 33, 5, 6}};
  check_emulated(depthwise("N,C,H,W", "N,C,H,W", "y[n,c,p,q] = max(b[c] + sum(r,s: x[n,c,p+r-1,q+s-1] * w[c,r,s]), 0)"), images, 2);
  check_emulated(depthwise("N,H,W,C", "N,H,W,C", "y[n,p,q,c] = max(b[c] + sum(r,s: x[n,p+r-1,q+s-1,c] * w[c,r,s]), 0)"), images, 2);
}

TEST_CASE("nvcc accepts convolutions for every family") {
  if (nvcc_path().empty()) {
    MESSAGE("skipped: no nvcc here");
    return;
  }
  const problem large = convolution("f32", "N=8 C=64 K=128 H=56 W=56"), half = channels_last("bf16", "N=8 C=64 K=128 H=56 W=56 P=28 Q=28");
  for (const problem* p : {&large, &half}) {
    CHECK(compile_with_nvcc(source_of(*p, "sm_90a")) == "");
    CHECK(compile_with_nvcc(source_of(*p, "sm_80"), "sm_80") == "");
  }
  CHECK(compile_with_nvcc(source_of(large, "sm_75"), "sm_75") == "");
}

}  // namespace
}  // namespace kernsmith::agents::testing
