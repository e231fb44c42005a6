// Dimensions that loads take apart: what becomes of them, what stays whole, and that kernels made of them are right.
#include "agents/synthesis/split_dimensions.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "agents/synthesis/expression_tools.hpp"
#include "support.hpp"

namespace kernsmith::agents::testing {
namespace {

using lines = std::vector<std::string>;

tensor_ir lowered(const problem& p) {
  result<tensor_ir> ir = lower(p);
  if (!ir) FAIL(ir.error().message);
  return std::move(*ir);
}

lines texts(const problem& p) {
  const tensor_ir ir = lowered(p);
  lines all;
  for (const statement& s : ir.statements) {
    all.push_back(statement_text(ir.axes, ir.tensors, s));
    CHECK(s.text == all.back());
    for (std::size_t i = 0; i < s.target_indices.size(); ++i) CHECK(s.target_indices[i] == static_cast<int>(i));
  }
  return all;
}

std::vector<std::int64_t> literals(const problem& p, const std::string& name) {
  const tensor_ir ir = lowered(p);
  std::vector<std::int64_t> extents;
  for (const tensor_declaration& t : ir.tensors)
    if (t.name == name)
      for (const dim& d : t.shape) extents.push_back(d.axis < 0 ? d.constant : 0);
  return extents;
}

const char* const attention = R"(q[i, k, c] = sum(r: x[i, k, r] * w[c, r])
s[i, j, k, l] = sum(r < 32: q[i, k, 32*j + r] * q[i, l, 32*j + r + 64])
y[i, j, k, d] = sum(l: s[i, j, k, l] * q[i, l, 32*j + d + 128]))";

problem attention_problem() {
  return small_problem(
      "B=2 L=40", "in x f32[B,L,48]\nin w f32[192,48]\nmid s f32[] shape = [\"B\", 2, \"L\", \"L\"]\nout y f32[B,2,L,32]\n", attention);
}

TEST_CASE("a dimension that one load takes apart is split wherever it is whole") {
  const problem p = small_problem("B=4 N=8", "in x f32[B,48,N]\nin g f32[48]\nmid m f32[] shape = [\"B\", 6]\nout y f32[B,48,N]\n",
                                  "m[b, j] = sum(r < 8, n: x[b, 8*j + r, n])\ny[b, c, n] = x[b, c, n] * g[c]");
  CHECK(texts(p) == lines{"m[b,j] = sum(r, n: x[b,j,r,n])", "y[b,c1,c2,n] = x[b,c1,c2,n] * g[c1,c2]"});
  CHECK(literals(p, "x") == std::vector<std::int64_t>{0, 6, 8, 0});
  CHECK(literals(p, "g") == std::vector<std::int64_t>{6, 8});
  CHECK(literals(p, "y") == std::vector<std::int64_t>{0, 6, 8, 0});
}

TEST_CASE("heads of attention, with the parts of a common projection at literal places") {
  const problem p = attention_problem();
  CHECK(texts(p) == lines{"q[i,k,c1,c2,c3] = sum(r: x[i,k,r] * w[c1,c2,c3,r])", "s[i,j,k,l] = sum(r: q[i,k,0,j,r] * q[i,l,1,j,r])",
                          "y[i,j,k,d] = sum(l: s[i,j,k,l] * q[i,l,2,j,d])"});
  CHECK(lowered(p).classes == std::vector<op_class>{op_class::contraction, op_class::contraction, op_class::contraction});
}

TEST_CASE("a summed index is split as the dimension that it runs over") {
  const problem p = small_problem("B=4", "in m f32[B,6,32]\nin w f32[50,192]\nin v f32[192]\nout y f32[B,50]\nout z f32[]\n",
                                  "y[i, k] = sum(r, s: m[i, r, s] * w[k, s + 32*r])\nz = sum(k: v[k] * w[0, k])");
  CHECK(texts(p) == lines{"y[i,k] = sum(r, s: m[i,r,s] * w[k,r,s])", "z = sum(k1, k2: v[k1,k2] * w[0,k1,k2])"});
}

TEST_CASE("what stays whole") {
  const auto unchanged = [](const problem& p, const std::string& name, std::size_t rank) { CHECK(literals(p, name).size() == rank); };
  // Sliding windows, with and without overlap.
  unchanged(small_problem("B=3", "in x f32[B,34]\nin w f32[3]\nout y f32[B,32]\n", "y[b, i] = sum(r: x[b, i + r] * w[r])"), "x", 2);
  unchanged(small_problem("B=3", "in x f32[B,32]\nout y f32[B,16]\n", "y[b, i] = max(r < 2: x[b, 2*i + r])"), "x", 2);
  // Pads, gathers, axes, an index whose value counts, positions of maxima, scans.
  unchanged(small_problem("B=3", "in x f32[B,48] pad = 0.0\nout y f32[B,6,8]\n", "y[b, i, j] = x[b, 8*i + j]"), "x", 2);
  unchanged(small_problem("B=3", "in x f32[B,48]\nin n i32[B]\nout y f32[B,6,8]\nout z f32[B]\n",
                          "y[b, i, j] = x[b, 8*i + j]\nz[b] = x[b, n[b]]"),
            "x", 2);
  unchanged(
      small_problem("B=3", "in x f32[B,48]\nout y f32[B,6,8]\nout z f32[B,48]\n", "y[b, i, j] = x[b, 8*i + j]\nz[b, k] = x[b, k] * k"), "x",
      2);
  unchanged(
      small_problem("B=3", "in x f32[B,48]\nout y f32[B,6,8]\nout z i64[B]\n", "y[b, i, j] = x[b, 8*i + j]\nz[b] = argmax(k: x[b, k])"),
      "x", 2);
  unchanged(small_problem("B=3", "in x f32[B,48]\nout y f32[B,6,8]\nout z f32[B,48]\n",
                          "y[b, i, j] = x[b, 8*i + j]\nz[b, k] = cumsum(k: x[b, k])"),
            "x", 2);
  // Two ways to take it apart that don't go together, and a place that lies across the parts.
  unchanged(small_problem("B=3", "in x f32[B,48]\nout y f32[B,6,8]\nout z f32[B,3,16]\nout u f32[B,4,12]\n",
                          "y[b, i, j] = x[b, 8*i + j]\nz[b, i, j] = x[b, 16*i + j]\nu[b, i, j] = x[b, 12*i + j]"),
            "x", 2);
  unchanged(small_problem("B=3", "in x f32[B,48]\nout y f32[B,6,8]\nout z f32[B,8]\n", "y[b, i, j] = x[b, 8*i + j]\nz[b, i] = x[b, i + 4]"),
            "x", 2);
  // What stays whole keeps all whole that goes with it.
  unchanged(small_problem("B=3", "in x f32[B,48]\nin g f32[48] pad = 1.0\nout y f32[B,6,8]\nout z f32[B,48]\n",
                          "y[b, i, j] = x[b, 8*i + j]\nz[b, k] = x[b, k] * g[k]"),
            "x", 2);
  // Nothing takes it apart: slices alone are no reason.
  unchanged(small_problem("B=3", "in x f32[B,48]\nout y f32[B,24]\n", "y[b, i] = x[b, i + 0] * x[b, i + 24]"), "x", 2);
}

TEST_CASE("a slice by an index that is split is split as well, or keeps it whole") {
  const auto with = [](const char* extent, const char* from) {
    return small_problem("B=3", std::string("in x f32[B,48]\nin w f32[B,") + extent + "]\nout y f32[B,6,8]\nout z f32[B,48]\n",
                         std::string("y[b, i, j] = x[b, 8*i + j]\nz[b, k] = x[b, k] * w[b, k + ") + from + "]");
  };
  CHECK(texts(with("96", "48")) == lines{"y[b,i,j] = x[b,i,j]", "z[b,k1,k2] = x[b,k1,k2] * w[b,1,k1,k2]"});
  CHECK(literals(with("100", "24"), "x").size() == 2);
  CHECK(literals(with("96", "20"), "x").size() == 2);
}

TEST_CASE("two ways to take a dimension apart that go together make three parts") {
  const problem p = small_problem("B=3", "in x f32[B,48]\nout y f32[B,6,8]\nout z f32[B,3,16]\n",
                                  "y[b, i, j] = x[b, 8*i + j]\nz[b, k, l] = x[b, 16*k + l]");
  CHECK(texts(p) == lines{"y[b,i1,i2,j] = x[b,i1,i2,j]", "z[b,k,l1,l2] = x[b,k,l1,l2]"});
}

void check_all(const problem& p, const std::vector<std::vector<std::int64_t>>& shapes, const run_options& options = {}) {
  const auto made = make_rules_generator(p, small_machine());
  REQUIRE(made);
  check_generator(p, **made, shapes, 3, options);
}

TEST_CASE("kernels of split dimensions are right") {
  run_options options;
  options.allowed = {5e-2, 1e-4};  // sums of 48 by 32 by 40 products
  check_all(attention_problem(), {{2, 40}, {1, 1}, {3, 7}}, options);
  options.allowed = {1e-3, 1e-4};
  check_all(small_problem("B=4 N=50", "in x f32[B,48,N]\nin g f32[48]\nmid m f32[] shape = [\"B\", 6]\nout y f32[B,6,8,N]\n",
                          "m[b, j] = sum(r < 8, n: x[b, 8*j + r, n]) / (8 * N)\n"
                          "v[b, j] = sum(r < 8, n: (x[b, 8*j + r, n] - m[b, j]) * (x[b, 8*j + r, n] - m[b, j])) / (8 * N)\n"
                          "y[b, j, k, n] = (x[b, 8*j + k, n] - m[b, j]) * rsqrt(v[b, j] + 1e-5) * g[8*j + k]"),
            {{4, 50}, {1, 1}, {2, 129}}, options);
}

TEST_CASE("a sum that leaves the row it is computed in is a loop nest of its own") {
  // softmax times values, of which the columns lie at computed places: it was left out of the kernel once.
  run_options options;
  options.allowed = {1e-3, 1e-4};
  check_all(small_problem("B=2 L=30", "in m f32[B,L,L]\nin x f32[B,L,100]\nout y f32[B,L,32]\n",
                          "t[i, k] = max(r: m[i, k, r])\ne[i, k, l] = exp(m[i, k, l] - t[i, k])\nz[i, k] = sum(r: e[i, k, r])\n"
                          "y[i, k, l] = sum(r: e[i, k, r] / z[i, k] * x[i, r, l + 65])"),
            {{2, 30}, {1, 1}, {1, 70}}, options);
}

}  // namespace
}  // namespace kernsmith::agents::testing
