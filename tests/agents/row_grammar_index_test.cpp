// Emitted row kernels against the interpreter: maps, scans, gathers, pads, integers, names; and what the row grammar must refuse.
#include <doctest/doctest.h>

#include <algorithm>

#include "agents/synthesis/ir.hpp"
#include "support.hpp"

namespace kernsmith::agents::testing {
namespace {

using shapes = std::vector<std::vector<std::int64_t>>;

void check_rows(const problem& p, const shapes& all, int random_count, const run_options& options = {}) {
  const auto g = generator_with(p, make_row_grammar());
  CHECK(grammars_of(*g) == std::vector<std::string>{"row"});
  check_generator(p, *g, all, random_count, options);
}

run_options allowing(double absolute, double relative) {
  run_options options;
  options.allowed = {absolute, relative};
  return options;
}

bool accepts_all(const problem& p) {
  const result<tensor_ir> ir = lower(p);
  REQUIRE(ir);
  fusion_group group{"y", {}};
  for (std::size_t i = 0; i < ir->statements.size(); ++i) group.statements.push_back(static_cast<int>(i));
  return make_row_grammar()->accepts(*ir, group);
}

constexpr const char* matrix = "in x f32[B,N]\nout y f32[B,N]\n";

TEST_CASE("rows: maps over contiguous tensors are flattened") {
  const problem p =
      small_problem("B=5 N=3", "in x f32[B,N]\nin z bf16[B,N]\nout y f16[B,N]\n", "y[b,n] = tanh(x[b,n]) * sigmoid(z[b,n]) + erf(x[b,n])");
  check_rows(p, {{5, 3}, {1, 1}, {1000, 7}}, 3);
}

TEST_CASE("rows: broadcasts, transposition, indices and axes as numbers") {
  check_rows(small_problem("A=37 B=50", "in x f32[A,B]\nin c f32[B]\nout y f32[B,A]\n", "y[b,a] = x[a,b] * c[b] + a - B"),
             {{37, 50}, {1, 1}, {3, 100}}, 3);
}

TEST_CASE("rows: rotary embedding and gated activation, two halves by a constant index") {
  check_rows(small_problem("T=17 H=3 J=32", "in x f32[T,H,2,J]\nin c f32[T,J]\nin s f32[T,J]\nout y f32[T,H,J]\nout z f32[T,H,J]\n",
                           "y[t,h,d] = x[t,h,0,d] * c[t,d] - x[t,h,1,d] * s[t,d]\nz[t,h,d] = x[t,h,1,d] * c[t,d] + x[t,h,0,d] * s[t,d]"),
             {{17, 3, 32}, {1, 1, 1}, {2, 2, 50}}, 2);
  check_rows(small_problem("T=17 I=50", "in x bf16[T,2,I]\nout y bf16[T,I]\n", "y[t,i] = x[t,0,i] * sigmoid(x[t,0,i]) * x[t,1,i]"),
             {{17, 50}, {1, 1}}, 2);
}

TEST_CASE("rows: loads outside a padded tensor") {
  check_rows(
      small_problem("B=7 N=45", "in x f32[B,N] pad = 0.5\nout y f32[B,N]\n", "y[b,n] = x[b,n-1] + 2.0 * x[b,n+1] - x[b-1,n] + x[b+1,n-2]"),
      {{7, 45}, {1, 1}, {2, 16}, {3, 17}}, 3);
}

TEST_CASE("rows: scans along the last and along another axis") {
  check_rows(small_problem("B=9 N=1000", matrix, "y[b,n] = cumsum(n: x[b,n])"), {{9, 1000}, {1, 1}, {3, 17}, {2, 3000}}, 4,
             allowing(1e-4, 1e-5));
  check_rows(small_problem("B=300 N=67", "in x f32[B,N]\nout y f32[B,N]\nout z f32[B,N]\n",
                           "y[b,n] = cumsum(b: x[b,n])\nz[b,n] = cummax(b: x[b,n] * 2.0) + y[b,n]"),
             {{300, 67}, {1, 1}, {700, 3}}, 4, allowing(1e-4, 1e-5));
  check_rows(small_problem("B=6 N=40", "in x i32[B,N]\nout y i32[B,N]\n", "y[b,n] = cumsum(n: x[b,n])"), {{6, 40}, {1, 1}, {2, 300}}, 2);
}

TEST_CASE("rows: embedding bags, plain and quantised") {
  check_rows(
      small_problem("B=40 L=20 V=500 D=64", "in table f32[V,D]\nin idx i64[B,L]\nout y f32[B,D]\n", "y[b,d] = sum(l: table[idx[b,l], d])"),
      {{40, 20, 500, 64}, {1, 1, 1, 1}, {3, 7, 9, 129}, {2, 300, 50, 17}}, 4, allowing(1e-5, 1e-5));
  check_rows(small_problem("B=40 L=20 V=500 D=70", "in table i8[V,D]\nin scale f32[V]\nin bias f16[V]\nin idx i32[B,L]\nout y f16[B,D]\n",
                           "y[b,d] = sum(l: f32(table[idx[b,l], d]) * scale[idx[b,l]] + bias[idx[b,l]])"),
             {{40, 20, 500, 70}, {1, 1, 1, 1}, {3, 7, 9, 129}}, 3, allowing(2e-2, 2e-3));
}

TEST_CASE("rows: gathers in maps, by row and by column") {
  check_rows(
      small_problem("B=50 V=30 D=37", "in table i8[V,D]\nin s f32[V]\nin idx i32[B]\nin col i32[D]\nout y f32[B,D]\nout z f32[B,D]\n",
                    "y[b,d] = f32(table[idx[b], d]) * s[idx[b]]\nz[b,d] = y[b,d] + f32(table[idx[b], col[d]])"),
      {{50, 30, 37}, {1, 1, 1}, {9, 200, 100}}, 3);
}

TEST_CASE("rows: bucketise counts borders, sorted or not") {
  for (const char* init : {"init = { kind = \"sorted\", of = { kind = \"normal\" } }", ""}) {
    const problem p = small_problem("N=1003 K=100", std::string("in x f32[N]\nin border f32[K] ") + init + "\nout y i32[N]\n",
                                    "y[i] = sum(j: i32(border[j] <= x[i]))");
    check_rows(p, {{1003, 100}, {1, 1}, {17, 1000}, {5000, 3}}, 3);
    run_options special;
    special.special_values = true;
    check_rows(p, {{300, 40}, {20, 200}}, 0, special);
  }
}

TEST_CASE("rows: integers wrap where they are stored") {
  check_rows(small_problem("B=21 N=145", "in x i32[B,N]\nin w i8[N]\nout y i32[B,N]\nout z i16[B,N]\nout f bool[B,N]\n",
                           "y[b,n] = x[b,n] * 3 + w[n] - b\nz[b,n] = max(w[n], 3) * 7 + n\nf[b,n] = not (x[b,n] > 5) or w[n] == 3"),
             {{21, 145}, {1, 1}, {3, 16}}, 3);
}

TEST_CASE("rows: names of the problem may be names that emitted code uses") {
  check_rows(small_problem("V=9 W=70", "in load f32[V,W]\nin lanes f32[W]\nout row f32[V,W]\nout team f32[V]\n",
                           "part[v] = sum(u: load[v,u])\nteam[v] = part[v] * 2\nrow[l,i] = load[l,i] * lanes[i] / part[l]"),
             {{9, 70}, {1, 1}}, 3, allowing(1e-5, 1e-4));
}

TEST_CASE("rows: groups that one loop nest can't compute are refused") {
  CHECK_FALSE(
      accepts_all(small_problem("B=5 N=7", "in x f32[B,N]\nout y f32[B]\nout z f32[N]\n", "y[b] = sum(n: x[b,n])\nz[n] = sum(b: x[b,n])")));
  // A neighbour's value would have to be computed before it is needed.
  CHECK_FALSE(accepts_all(
      small_problem("B=5 N=7", "in x f32[B,N]\nmid h f32[B,N]\nout y f32[B,N]\n", "h[b,n] = x[b,n] * 2\ny[b,n] = h[b,n] + h[b,N-1-n]")));
  CHECK(accepts_all(small_problem("B=5 N=7", matrix, "y[b,n] = x[b,n] * 2")));
}

}  // namespace
}  // namespace kernsmith::agents::testing
