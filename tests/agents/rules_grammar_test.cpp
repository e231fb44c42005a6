// The whole rules synthesizer: every example that ships, and definitions that mix the classes, through all grammars.
#include "agents/synthesis/rules_grammar.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "support.hpp"

namespace kernsmith::agents::testing {
namespace {

std::unique_ptr<rules_generator> rules_for(const problem& p) {
  grammar_list grammars;
  grammars.push_back(make_contraction_grammar());
  grammars.push_back(make_window_grammar());
  grammars.push_back(make_row_grammar());
  grammars.push_back(make_plain_grammar());
  result<std::unique_ptr<rules_generator>> made = make_rules_generator(p, small_machine(), std::move(grammars));
  if (!made) FAIL(made.error().message);
  return std::move(*made);
}

/// The problem's axes, none larger than a cap: shapes that the interpreter can follow.
std::vector<std::vector<std::int64_t>> small_shapes(const problem& p) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const std::int64_t cap : {1, 3, 7, 18}) {
    std::vector<std::int64_t> axes;
    for (const axis& a : p.axes) axes.push_back(std::min(a.extent, cap));
    if (check_axes(p, axes)) shapes.push_back(std::move(axes));
  }
  return shapes;
}

void check_example(const std::string& name, const std::string& grammars, int random_count) {
  CAPTURE(name);
  const result<problem> p = load_problem(std::string(KERNSMITH_SOURCE_DIR) + "/docs/examples/" + name + ".toml");
  if (!p) FAIL(p.error().message);
  const auto g = rules_for(*p);
  std::string used;
  for (const std::string& grammar : grammars_of(*g)) used += (used.empty() ? "" : " ") + grammar;
  CHECK(used == grammars);
  const std::vector<std::vector<std::int64_t>> shapes = small_shapes(*p);
  REQUIRE_FALSE(shapes.empty());
  check_generator(*p, *g, shapes, random_count);
}

TEST_CASE("examples: rows") {
  for (const char* name : {"softmax", "layernorm", "rmsnorm", "residual_rmsnorm", "cumsum", "bucketise", "embedding_bag", "column_sum",
                           "group_quantise", "image_normalise", "masked_mean", "utility"})
    check_example(name, "row", 2);
}

TEST_CASE("examples: contractions") {
  for (const char* name : {"matmul", "linear_gelu", "batched_matmul", "gemv", "dlrm_interaction", "int8_matmul"})
    check_example(name, "contraction", 3);
}

TEST_CASE("examples: windows") {
  for (const char* name : {"conv2d_bias_relu", "max_pool"}) check_example(name, "window", 3);
}

TEST_CASE("mixtures") {
  // A normalisation ahead of a product, an epilogue with a residual, and a reduction of the result.
  const problem block =
      small_problem("T=6 D=40 H=24", "in x f32[T,D]\nin g f32[D]\nin w f32[H,D]\nin v f32[D,H]\nout y f32[T,D]\nout top f32[T]",
                    "n[t,d] = x[t,d] * rsqrt(sum(k: x[t,k] * x[t,k]) / D + 0.00001) * g[d]\nh[t,j] = sum(d: n[t,d] * w[j,d])\na[t,j] = "
                    "h[t,j] * sigmoid(h[t,j])\n"
                    "y[t,d] = x[t,d] + sum(j: a[t,j] * v[d,j])\ntop[t] = max(d: y[t,d])");
  const auto g = rules_for(block);
  const std::vector<std::string> used = grammars_of(*g);
  CHECK(std::count(used.begin(), used.end(), "contraction") == 2);
  CHECK(std::count(used.begin(), used.end(), "plain") == 0);
  check_generator(block, *g, {{6, 40, 24}, {1, 1, 1}, {33, 70, 50}}, 6);

  const problem attention = small_problem(
      "S=9 D=16", "in q f32[S,D]\nin k f32[S,D]\nin v f32[S,D]\nout o f32[S,D]",
      "l[i,j] = sum(d: q[i,d] * k[j,d]) * 0.25\np[i,j] = exp(l[i,j] - max(t: l[i,t]))\no[i,d] = sum(j: p[i,j] * v[j,d]) / sum(t: p[i,t])");
  check_generator(attention, *rules_for(attention), {{9, 16}, {1, 1}, {50, 33}}, 4);
}

TEST_CASE("what no grammar knows still gets a right candidate, and the report says so") {
  // A scan of a gather whose index is computed, next to a histogram-like count.
  const problem p = small_problem("N=20 R=9", "in x f32[N]\nin at i64[N]\nin table f32[R]\nout y f64[N]\nout c i64[R]",
                                  "y[n] = cumprod(n: 1 + 0.01 * table[at[n]] * f64(x[n]))\nc[r] = sum(n: i64(at[n] == r))");
  check_generator(p, *rules_for(p), {{20, 9}, {1, 1}, {333, 5}}, 2);
}

TEST_CASE("the public maker uses all grammars") {
  const problem p = small_problem("M=8 K=8 N=8", "in a f32[M,K]\nin b f32[K,N]\nout c f32[M,N]", "c[i,j] = sum(k: a[i,k] * b[k,j])");
  const result<std::unique_ptr<generator>> made = make_rules_generator(p, small_machine());
  REQUIRE(made.has_value());
  const result<proposal> first = (*made)->generate(preferred_assignment((*made)->space()));
  REQUIRE(first.has_value());
  CHECK(first->notes.empty());
  CHECK(first->rationale.starts_with("c: one contraction loop nest computes c ["));
  CHECK(first->source == rules_for(p)->generate(first->decisions)->source);
}

TEST_CASE("a problem without a definition is refused") {
  problem p;
  p.name = "opaque";
  const auto made = make_rules_generator(p, small_machine());
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error().kind == fault::bad_request);
}

}  // namespace
}  // namespace kernsmith::agents::testing
