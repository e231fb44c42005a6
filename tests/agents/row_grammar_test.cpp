// Emitted row kernels against the interpreter: maps, row and column reductions, map-reduce-map chains, over shapes, dtypes and decisions.
#include <doctest/doctest.h>

#include "support.hpp"

namespace kernsmith::agents::testing {
namespace {

using shapes = std::vector<std::vector<std::int64_t>>;

/// The whole definition must become one row group, right for every shape with the preferred and some random decisions.
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

run_options with_special_values() {
  run_options options;
  options.special_values = true;
  return options;
}

constexpr const char* matrix = "in x f32[B,N]\nout y f32[B,N]\n";
const shapes rows_and_tails = {{1, 1}, {3, 16}, {2, 17}, {65, 130}, {3, 8200}, {1, 40001}};

TEST_CASE("rows: softmax, named and with its exponentials kept or recomputed") {
  const problem p = small_problem("B=37 N=257", matrix,
                                  "m[b] = max(n: x[b,n])\ne[b,n] = exp(x[b,n] - m[b])\ns[b] = sum(n: e[b,n])\ny[b,n] = e[b,n] / s[b]");
  check_rows(p, rows_and_tails, 6);
  check_rows(p, {{3, 70}, {40, 5}}, 0, with_special_values());
}

TEST_CASE("rows: softmax in one statement, reductions hoisted") {
  check_rows(small_problem("B=3 N=37", matrix, "y[b,n] = exp(x[b,n] - max(k: x[b,k])) / sum(j: exp(x[b,j] - max(k: x[b,k])))"),
             {{3, 37}, {1, 1}, {5, 16}}, 2);
}

TEST_CASE("rows: log-softmax from bf16 to f16") {
  check_rows(small_problem("B=5 N=300", "in x bf16[B,N]\nout y f16[B,N]\n",
                           "m[b] = max(n: x[b,n])\ns[b] = sum(n: exp(x[b,n] - m[b]))\ny[b,n] = x[b,n] - m[b] - log(s[b])"),
             {{5, 300}, {1, 1}, {2, 33}}, 3);
}

TEST_CASE("rows: layer norm") {
  check_rows(small_problem("B=33 N=250", "in x f32[B,N]\nin w f32[N]\nin c f32[N]\nout y f32[B,N]\n",
                           "mean[b] = sum(n: x[b,n]) / N\nvar[b] = sum(n: (x[b,n] - mean[b]) * (x[b,n] - mean[b])) / N\n"
                           "y[b,n] = (x[b,n] - mean[b]) * rsqrt(var[b] + 1e-5) * w[n] + c[n]"),
             rows_and_tails, 4, allowing(1e-5, 1e-5));
}

TEST_CASE("rows: batch norm, whose statements name the same positions differently") {
  check_rows(small_problem("B=3 C=5 H=7 W=9", "in x f32[B,C,H,W]\nin w f32[C]\nout y f32[B,C,H,W]\n",
                           "mean[i] = sum(r, s, u: x[r,i,s,u]) / (B * H * W)\n"
                           "var[i] = sum(r, s, u: (x[r,i,s,u] - mean[i]) * (x[r,i,s,u] - mean[i])) / (B * H * W)\n"
                           "y[i,j,k,l] = (x[i,j,k,l] - mean[j]) * rsqrt(var[j] + 1e-5) * w[j]"),
             {{3, 5, 7, 9}, {2, 3, 16, 33}, {1, 1, 2, 1}}, 4, allowing(1e-5, 1e-5));
}

TEST_CASE("rows: residual and RMS norm, two outputs, in bf16; the stored sum is read unrounded") {
  check_rows(small_problem("T=33 H=250", "in x bf16[T,H]\nin r bf16[T,H]\nin w bf16[H]\nout q bf16[T,H]\nout y bf16[T,H]\n",
                           "q[t,h] = x[t,h] + r[t,h]\ns[t] = sum(h: q[t,h] * q[t,h]) / H\ny[t,h] = q[t,h] * rsqrt(s[t] + 1e-6) * w[h]"),
             {{1, 1}, {3, 64}, {5, 1023}, {1, 33000}}, 4);
}

TEST_CASE("rows: product over a short axis") {
  const problem p =
      small_problem("N=1003 T=8",
                    "in p f32[N,T] init = { kind = \"uniform\", lo = 0.01, hi = 1.0 }\n"
                    "in b f32[T] init = { kind = \"uniform\", lo = 0.01, hi = 0.5 }\nin a f32[T]\nin boost f32[N]\nout y f32[N]\n",
                    "y[n] = prod(t: pow(p[n,t] + b[t], a[t])) * boost[n]");
  check_rows(p, {{1, 8}, {17, 8}, {1003, 8}, {33, 5}, {100, 1}}, 6, allowing(1e-6, 1e-4));
}

TEST_CASE("rows: column reductions, few columns and many rows too") {
  check_rows(
      small_problem("B=333 N=70", "in x f32[B,N]\nout y f32[N]\nout z f32[N]\n", "y[n] = sum(b: x[b,n])\nz[n] = max(b: x[b,n] * 2.0)"),
      {{1, 1}, {9000, 3}, {17, 1025}, {2000, 130}}, 4, allowing(1e-5, 1e-5));
}

TEST_CASE("rows: softmax along a middle axis") {
  check_rows(small_problem(
                 "A=3 B=50 N=37", "in x f32[A,B,N]\nout y f32[A,B,N]\n",
                 "m[a,n] = max(b: x[a,b,n])\ne[a,b,n] = exp(x[a,b,n] - m[a,n])\ns[a,n] = sum(b: e[a,b,n])\ny[a,b,n] = e[a,b,n] / s[a,n]"),
             {{3, 50, 37}, {1, 1, 1}, {1, 3000, 5}, {2, 7, 300}}, 4);
}

TEST_CASE("rows: batch norm, several reduced axes") {
  check_rows(small_problem("N=4 C=9 H=7 W=11", "in x f32[N,C,H,W]\nin g f32[C]\nout y f32[N,C,H,W]\n",
                           "mean[c] = sum(n, h, w: x[n,c,h,w]) / (N * H * W)\nvar[c] = sum(n, h, w: (x[n,c,h,w] - mean[c]) * (x[n,c,h,w] - "
                           "mean[c])) / (N * H * W)\n"
                           "y[n,c,h,w] = (x[n,c,h,w] - mean[c]) * rsqrt(var[c] + 1e-5) * g[c]"),
             {{4, 9, 7, 11}, {1, 1, 1, 1}, {3, 2, 60, 50}, {2, 33, 5, 3}}, 3, allowing(1e-5, 1e-5));
}

TEST_CASE("rows: one long row shared by all threads") {
  const problem p = small_problem("N=300000", "in x f32[N]\nout y f32[N]\nout t f32[1]\n", "t[i] = sum(n: abs(x[n]))\ny[n] = x[n] / t[0]");
  check_generator(p, *generator_with(p, make_row_grammar()), {{300000}, {1}, {16385}}, 2, allowing(1e-6, 1e-5));
}

TEST_CASE("rows: factorisation machine, a reduction over values that are reductions") {
  check_rows(
      small_problem("B=50 F=40 K=24", "in v f32[B,F,K]\nout y f32[B]\n",
                    "s[b,k] = sum(f: v[b,f,k])\nq[b,k] = sum(f: v[b,f,k] * v[b,f,k])\ny[b] = 0.5 * sum(k: s[b,k] * s[b,k] - q[b,k])"),
      {{50, 40, 24}, {1, 1, 1}, {3, 300, 17}, {70, 7, 128}}, 3, allowing(1e-4, 1e-4));
}

TEST_CASE("rows: argmax with ties and NaN, any, all") {
  const problem rows = small_problem("B=30 N=300", "in x f32[B,N]\nin i i16[B,N]\nout y i64[B]\nout u bool[B]\nout z i32[B]\n",
                                     "y[b] = argmax(n: x[b,n])\nu[b] = any(n: x[b,n] > 3.0)\nz[b] = argmin(n: i[b,n])");
  check_rows(rows, {{30, 300}, {1, 1}, {3, 17}, {1, 40000}}, 2);
  check_rows(rows, {{30, 20}, {9, 3}}, 0, with_special_values());
  const problem columns =
      small_problem("B=30 N=300", "in x f32[B,N]\nout z i64[N]\nout a bool[N]\n", "z[n] = argmin(b: x[b,n])\na[n] = all(b: x[b,n] < 1.0)");
  check_rows(columns, {{30, 300}, {1, 1}, {400, 5}}, 2);
  check_rows(columns, {{10, 30}, {2, 90}}, 0, with_special_values());
}

TEST_CASE("rows: row quantisation decides in double what float could round the wrong way") {
  check_rows(small_problem("B=17 N=145", "in x f32[B,N]\nout q i8[B,N]\nout s f32[B]\n",
                           "s[b] = max(n: abs(x[b,n])) / 127.0\nq[b,n] = i8(round(x[b,n] / s[b]))"),
             {{17, 145}, {1, 1}, {40, 1000}}, 3);
}

TEST_CASE("rows: doubles and 64-bit integers") {
  check_rows(
      small_problem(
          "B=17 N=145", "in x f64[B,N]\nin k i64[N]\nout y f64[B,N]\nout j i64[B]\n",
          "m[b] = sum(n: x[b,n]) / N\ny[b,n] = tanh(x[b,n] - m[b]) + log(abs(x[b,n]) + 1.0)\nj[b] = sum(n: i64(x[b,n] > m[b]) * k[n])"),
      {{17, 145}, {1, 1}, {2, 9}}, 3);
}

TEST_CASE("rows: intermediates with a declared dtype are rounded to it") {
  check_rows(small_problem("B=37 N=75", "in x f32[B,N]\nmid h bf16[B,N]\nmid m f32[B]\nout y f32[B,N]\n",
                           "h[b,n] = x[b,n] * 2.0\nm[b] = max(n: h[b,n])\ny[b,n] = h[b,n] * m[b] + bf16(x[b,n])"),
             {{37, 75}, {1, 1}, {2, 33}}, 3);
}

}  // namespace
}  // namespace kernsmith::agents::testing
