// The SIMT row grammar on small problems that each meet one of its ways: emitted CUDA run on the CPU, against the interpreter.
#include <doctest/doctest.h>

#include "simt_support.hpp"

namespace kernsmith::agents::testing {
namespace {

using shapes = std::vector<std::vector<std::int64_t>>;

constexpr int random_assignments = 2;

std::string source_of(const problem& p, const assignment& wanted) {
  const std::unique_ptr<generator> g = cuda_generator(p);
  assignment chosen = preferred_assignment(g->space());
  for (const auto& [name, value] : wanted) chosen[name] = value;
  return g->generate(chosen)->source;
}

TEST_CASE("maps with broadcasts, of one and of two indices") {
  check_emulated(small_problem("N=1000", "in a f32[N]\nin b bf16[N]\nout y f32[N]", "y[n] = max(a[n] * 0.5 + b[n], 0)"),
                 {{1}, {7}, {64}, {1000}, {4099}}, random_assignments);
  check_emulated(small_problem("B=6 N=40", "in x f32[B,N]\nin g f32[N]\nin s f16[B]\nout y bf16[B,N]\nout z f32[B,N]",
                               "y[b,n] = x[b,n] * g[n] + s[b]\nz[b,n] = x[b,n] - n"),
                 {{1, 1}, {3, 8}, {6, 40}, {5, 133}, {3, 259}}, random_assignments);
}

TEST_CASE("chains over rows that a block, a warp or a thread holds") {
  const char* softmax = "m[b] = max(n: x[b,n])\ne[b,n] = exp(x[b,n] - m[b])\ns[b] = sum(n: e[b,n])\ny[b,n] = e[b,n] / s[b]";
  check_emulated(small_problem("B=3 N=1024", "in x f32[B,N]\nout y f32[B,N]", softmax), {{1, 1}, {3, 1024}, {5, 1000}, {2, 1021}},
                 random_assignments);
  check_emulated(small_problem("B=70 N=12", "in x bf16[B,N]\nout y f32[B,N]", softmax), {{1, 1}, {70, 12}, {33, 8}, {9, 37}},
                 random_assignments);
  check_emulated(small_problem("B=3 N=5003", "in x f32[B,N]\nout y f32[B,N]", softmax), {{1, 3}, {3, 5003}, {2, 5001}}, random_assignments);
}

TEST_CASE("clusters of blocks share long rows") {
  const problem p = small_problem("B=2 N=9001", "in x f32[B,N]\nout y f32[B,N]",
                                  "m[b] = max(n: x[b,n])\ne[b,n] = exp(x[b,n] - m[b])\ns[b] = sum(n: e[b,n])\ny[b,n] = e[b,n] / s[b]");
  for (const assignment& wanted :
       {assignment{{"y.cluster", 4}, {"y.vectors", 1}, {"y.keep", 0}}, assignment{{"y.cluster", 2}, {"y.vectors", 2}, {"y.keep", 1}}}) {
    const std::string source = source_of(p, wanted);
    CHECK(source.find("ks_start_clusters(" + std::to_string(wanted.at("y.cluster"))) != std::string::npos);
    const result<std::filesystem::path> library = compile_emulated(source);
    REQUIRE(library.has_value());
    for (const std::vector<std::int64_t>& axes : shapes{{2, 9001}, {1, 8999}, {3, 9000}}) CHECK(check_kernel(p, *library, axes, {}) == "");
  }
}

TEST_CASE("rows in shared memory") {
  const problem p = small_problem("B=5 N=500", "in x f32[B,N]\nin r bf16[B,N]\nout ms f32[B]\nout y f32[B,N]",
                                  "t[b,n] = x[b,n] + r[b,n]\nms[b] = sum(n: t[b,n] * t[b,n])\ny[b,n] = t[b,n] * rsqrt(ms[b] + 1)");
  for (const assignment& wanted :
       {assignment{{"y.keep", 1}, {"y.vector", 4}, {"y.vectors", 1}}, assignment{{"y.keep", 1}, {"y.vector", 8}}}) {
    const std::string source = source_of(p, wanted);
    CHECK(source.find("y_shared_row_kernel<") != std::string::npos);
    const result<std::filesystem::path> library = compile_emulated(source);
    REQUIRE(library.has_value());
    for (const std::vector<std::int64_t>& axes : shapes{{5, 500}, {1, 500}, {3, 497}}) CHECK(check_kernel(p, *library, axes, {}) == "");
  }
}

TEST_CASE("row values and rows are both stored") {
  check_emulated(
      small_problem("T=5 H=260", "in x f32[T,H]\nin r f32[T,H]\nin w f32[H]\nout sum f32[T,H]\nout ms f32[T]\nout y f32[T,H]",
                    "sum[t,h] = x[t,h] + r[t,h]\nms[t] = sum(h: sum[t,h] * sum[t,h]) / H\ny[t,h] = sum[t,h] * rsqrt(ms[t] + 1e-6) * w[h]"),
      {{1, 1}, {5, 260}, {4, 131}}, random_assignments);
}

TEST_CASE("positions of extremes, with ties and NaN") {
  run_options options;
  options.special_values = true;
  const problem p = small_problem("B=4 N=300", "in x bf16[B,N]\nout at i64[B]\nout least i32[B]\nout top f32[B]",
                                  "at[b] = argmax(n: x[b,n])\nleast[b] = i32(argmin(n: x[b,n]))\ntop[b] = max(n: x[b,n])");
  for (const std::uint64_t seed : {1, 2}) {
    options.seed = seed;
    check_emulated(p, {{4, 300}, {7, 1}, {3, 65}}, 2, options);
  }
  const problem rest = small_problem("B=3 N=260", "in x f32[B,N]\nout most f32[B]\nout second f32[B]",
                                     "at[b] = argmax(n: x[b,n])\nmost[b] = max(n: x[b,n])\n"
                                     "second[b] = max(n: select(n == at[b], -3e38, x[b,n]))");
  check_emulated(rest, {{3, 260}, {2, 257}}, 0, options);
}

TEST_CASE("columns and whole tensors, in one or two passes") {
  check_emulated(
      small_problem("B=300 N=20", "in x f32[B,N]\nout y f32[N]\nout most f32[N]", "y[n] = sum(b: x[b,n])\nmost[n] = max(b: x[b,n])"),
      {{1, 1}, {300, 20}, {17, 35}}, random_assignments);
  check_emulated(small_problem("B=40 N=50", "in x f32[B,N]\nout y f32[]", "y = sum(b, n: x[b,n] * x[b,n])"), {{1, 1}, {40, 50}, {13, 77}},
                 random_assignments, {.seed = 1, .threads = 1, .allowed = {1e-3, 1e-5}});
}

TEST_CASE("scans") {
  check_emulated(small_problem("B=3 N=600", "in x f64[B,N]\nout y f64[B,N]", "y[b,i] = cumsum(i: x[b,i] * 0.5)"),
                 {{1, 1}, {3, 600}, {2, 1111}}, random_assignments);
  check_emulated(small_problem("B=3 N=40", "in x i32[B,N]\nout y i64[B,N]\nout z i32[B,N]",
                               "y[b,i] = cumsum(i: x[b,i])\nz[b,i] = i32(cummax(i: x[b,i]) - x[b,i])"),
                 {{1, 1}, {3, 40}, {2, 131}}, random_assignments);
}

TEST_CASE("gathers and masks: only what is valid is loaded") {
  const problem p = small_problem("B=9 L=5 D=24 R=50", "in table f16[R,D]\nin id i64[B,L]\nin valid bool[B,L]\nout y f32[B,D]",
                                  "y[b,d] = sum(l: select(valid[b,l], table[id[b,l],d], 0))");
  CHECK(source_of(p, {}).find("if (table_in_wanted[step]) table_in[step] =") != std::string::npos);
  check_emulated(p, {{1, 1, 1, 1}, {9, 5, 24, 50}, {4, 11, 33, 3}}, random_assignments);
}

TEST_CASE("means of what is valid are computed in floats") {
  const problem p = small_problem("B=6 L=9 D=16", "in x bf16[B,L,D]\nin valid bool[B,L]\nout y f32[B,D]",
                                  "count[b] = max(sum(l: valid[b,l]), 1)\n"
                                  "y[b,d] = sum(l: select(valid[b,l], f32(x[b,l,d]), 0)) / count[b]");
  CHECK(source_of(p, {}).find("double y_r0_part") == std::string::npos);
  check_emulated(p, {{6, 9, 16}, {2, 1, 5}}, 1);
}

TEST_CASE("borders are counted by search, whatever their order") {
  const problem p = small_problem("N=500 J=40", "in x f32[N]\nin border f32[J]\nout k i32[N]", "k[n] = i32(sum(j: border[j] <= x[n]))");
  CHECK(source_of(p, {{"k.count", 1}}).find("tree.plant") != std::string::npos);
  CHECK(source_of(p, {{"k.count", 0}}).find("tree.plant") == std::string::npos);
  run_options options;
  options.special_values = true;
  check_emulated(p, {{1, 1}, {130, 40}, {77, 64}, {13, 255}}, 1, options);
}

TEST_CASE("transposed inputs go through tiles") {
  const problem p = small_problem("M=70 N=90", "in x f32[M,N]\nin g f32[M]\nout y bf16[N,M]", "y[n,m] = 0.5 * x[m,n] + g[m]");
  CHECK(source_of(p, {}).find("y_tile_kernel") != std::string::npos);
  check_emulated(p, {{1, 1}, {70, 90}, {64, 128}, {33, 65}}, random_assignments);
  check_emulated(small_problem("A=3 M=20 N=36", "in x f16[A,M,N]\nout y f16[A,N,M]", "y[a,n,m] = x[a,m,n]"),
                 {{1, 1, 1}, {3, 20, 36}, {2, 40, 8}}, random_assignments);
}

TEST_CASE("pads, small floats, integers and quantised groups") {
  check_emulated(small_problem("B=5 N=20", "in x f32[B,N] pad = 0.0\nout y f32[B,N]", "y[b,n] = x[b,n-1] + 2 * x[b,n] + x[b,n+1]"),
                 {{1, 1}, {5, 20}, {2, 33}}, random_assignments);
  check_emulated(small_problem("T=6 G=3", "in x bf16[T,G,128]\nout scale f32[T,G]\nout q f8e4m3[T,G,128]",
                               "scale[t,g] = max(max(i: abs(x[t,g,i])), 1e-12) / 448\nq[t,g,i] = x[t,g,i] / scale[t,g]"),
                 {{1, 1}, {6, 3}}, random_assignments, {.seed = 1, .threads = 1, .allowed = {1e-9, 0.13}});
  check_emulated(small_problem("N=50 M=9", "in x i8[N,M]\nout y i16[N]\nout b bool[N]\nout e f8e5m2[N,M]",
                               "y[n] = i16(sum(m: i32(x[n,m]) * 3))\nb[n] = any(m: x[n,m] > 100)\ne[n,m] = f32(x[n,m]) * 0.01"),
                 {{1, 1}, {50, 9}, {5, 64}}, random_assignments);
}

TEST_CASE("fast functions keep infinities and NaN") {
  run_options options;
  options.special_values = true;
  options.allowed = {1e-6, 1e-4};
  check_emulated(small_problem("N=200", "in x f32[N]\nout a f32[N]\nout b f32[N]\nout c f32[N]",
                               "a[n] = erf(x[n]) + sigmoid(x[n])\nb[n] = tanh(x[n])\nc[n] = exp(min(x[n], 20))"),
                 {{200}, {1}}, random_assignments, options);
}

}  // namespace
}  // namespace kernsmith::agents::testing
