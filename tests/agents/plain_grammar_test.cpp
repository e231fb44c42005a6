// The plain grammar computes everything that the definition language can say.
#include <doctest/doctest.h>

#include "support.hpp"

namespace kernsmith::agents::testing {
namespace {

void check_plain(const problem& p, const std::vector<std::vector<std::int64_t>>& shapes, const run_options& options = {}) {
  const auto g = generator_with(p, nullptr);
  check_generator(p, *g, shapes, 1, options);
}

run_options with_special_values() {
  run_options options;
  options.special_values = true;
  return options;
}

constexpr const char* matrix = "in x f32[B,N]\nout y f32[B,N]\n";

TEST_CASE("softmax, with nested reductions hoisted") {
  check_plain(small_problem("B=5 N=7", matrix, "y[b,n] = exp(x[b,n] - max(k: x[b,k])) / sum(k: exp(x[b,k] - max(j: x[b,j])))"),
              {{5, 7}, {1, 1}, {3, 130}});
}

TEST_CASE("every function, with NaN and infinities") {
  std::string tensors = "in v f32[N]\n", text;
  int count = 0;
  for (const char* f : {"exp(v[n])",
                        "log(v[n])",
                        "log1p(v[n])",
                        "expm1(v[n])",
                        "sqrt(v[n])",
                        "rsqrt(v[n])",
                        "tanh(v[n])",
                        "erf(v[n])",
                        "sigmoid(v[n])",
                        "sin(v[n])",
                        "cos(v[n])",
                        "floor(v[n])",
                        "ceil(v[n])",
                        "round(v[n])",
                        "abs(v[n])",
                        "-v[n]",
                        "pow(v[n], 2.5)",
                        "fma(v[n], v[n], 1)",
                        "max(v[n], 0)",
                        "min(0.5, v[n])",
                        "select(v[n] > 0, v[n], 1 / v[n])",
                        "select(v[n] > 0 and not (v[n] >= 1) or v[n] == 3, 1, 2)",
                        "v[n] - (v[n] - 2) - -1 * (3 - v[n] / (2 / v[n]))"}) {
    const std::string name = "y" + std::to_string(count++) + "_out";
    tensors += "out " + name + " f32[N]\n";
    text += name + "[n] = " + f + "\n";
  }
  check_plain(small_problem("N=40", tensors, text), {{40}, {1}, {500}}, with_special_values());
}

TEST_CASE("reductions of every kind, to rows and to one value") {
  for (const std::string op : {"sum", "max", "min", "prod", "argmax", "argmin"}) {
    CAPTURE(op);
    const std::string type = op.starts_with("arg") ? "i64" : "f32";
    const problem p = small_problem(
        "B=5 N=7", "in x f32[B,N] init = { kind = \"uniform\", lo = 0.9, hi = 1.1 }\nout y " + type + "[B]\nout z " + type + "[1]",
        "y[b] = " + op + "(n: x[b,n])\nz[o] = " + op + "(b, n: x[b,n])");
    check_plain(p, {{5, 7}, {1, 1}, {33, 65}});
    if (op != "prod") check_plain(p, {{9, 7}}, with_special_values());
  }
}

TEST_CASE("scans") {
  const problem p =
      small_problem("B=3 N=9", "in x f32[B,N]\nout a f32[B,N]\nout b f32[N]", "a[b,n] = cumsum(n: x[b,n])\nb[n] = cummax(n: x[0,n] * 2)");
  check_plain(p, {{3, 9}, {1, 1}, {2, 300}});
}

TEST_CASE("a window over padding") {
  const problem p =
      small_problem("B=3 N=9 W=4", "in x f32[B,N] pad = 0.0\nin w f32[W]\nout y bf16[B,N]", "y[b,n] = sum(k: w[k] * x[b, n - k])");
  check_plain(p, {{3, 9, 4}, {1, 1, 1}, {2, 50, 7}});
}

TEST_CASE("gathers") {
  const problem p =
      small_problem("B=3 L=4 R=20 D=8", "in table f16[R,D]\nin at i32[B,L]\nout y f32[B,D]", "y[b,d] = sum(l: table[at[b,l], d]) / L");
  check_plain(p, {{3, 4, 20, 8}, {1, 1, 1, 1}});
}

TEST_CASE("casts and mixed arithmetic") {
  const problem p = small_problem(
      "N=40",
      "in x f32[N] init = { kind = \"normal\", mean = 0.0, std = 200.0 }\nin q i8[N]\nin keep bool[N]\n"
      "out a i8[N]\nout b f32[N]\nout c bool[N]\nout d i64[N]\nout e f8e4m3[N]\nout f f64[N]\nout g f8e5m2[N]\nout h f16[N]\n",
      "a[n] = i8(x[n])\nb[n] = f32(f16(x[n])) + bf16(x[n]) + f8e5m2(x[n])\nc[n] = keep[n] and x[n] > 0\n"
      "d[n] = i32(q[n]) * q[n] + n * N - i64(max(x[n], -1000000))\ne[n] = x[n]\nf[n] = exp(f64(x[n]) / 100)\ng[n] = x[n]\nh[n] = q[n] / 3");
  check_plain(p, {{40}, {1}, {333}});
  check_plain(p, {{200}}, with_special_values());
}

TEST_CASE("any and all, integer matmul, names that C++ reserves") {
  const problem p = small_problem(
      "M=4 K=6", "in float i8[M,K]\nin class i8[K,M]\nout acc i32[M,M]\nout some bool[M]\nout every bool[1]",
      "acc[i,j] = sum(k: i32(float[i,k]) * i32(class[k,j]))\nsome[i] = any(k: float[i,k] > 5)\nevery[o] = all(i, k: float[i,k] < 7)");
  check_plain(p, {{4, 6}, {1, 1}, {20, 300}});
}

TEST_CASE("intermediates: stored with and without a workspace, rounded when declared") {
  const problem p = small_problem("B=5 N=7", std::string(matrix) + "mid h bf16[B,N]",
                                  "h[b,n] = x[b,n] * 3\nm[b] = sum(n: h[b,n]) / N\ny[b,n] = h[b,n] - m[b]");
  check_plain(p, {{5, 7}, {64, 100}});
  run_options options;
  options.give_workspace = true;
  check_plain(p, {{5, 7}, {64, 100}}, options);
}

}  // namespace
}  // namespace kernsmith::agents::testing
