// Decisions of row kernels that reorder work for the memory's sake: each way on, off, and together, right for awkward shapes and NaN.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "support.hpp"

namespace kernsmith::agents::testing {
namespace {

using shapes = std::vector<std::vector<std::int64_t>>;
using choices = std::vector<std::pair<std::string, std::int64_t>>;

const decision* find_decision(const generator& g, const std::string& what) {
  for (const decision& d : g.space().decisions)
    if (d.name.ends_with("." + what)) return &d;
  return nullptr;
}

/// The preferred decisions but for `changed`, each of which must exist and keep its value; the source.
std::string source_with(const generator& g, const choices& changed) {
  assignment wanted = preferred_assignment(g.space());
  for (const auto& [what, value] : changed) {
    const decision* d = find_decision(g, what);
    REQUIRE_MESSAGE(d != nullptr, what);
    wanted[d->name] = value;
  }
  const result<proposal> made = g.generate(wanted);
  if (!made) FAIL(made.error().message);
  for (const auto& [what, value] : changed) CHECK(made->decisions.at(find_decision(g, what)->name) == value);
  return made->source;
}

void check_choice(const problem& p, const generator& g, const choices& changed, const shapes& all, const run_options& options = {},
                  const std::string& march = "native") {
  std::string text;
  for (const auto& [what, value] : changed) text += fmt::format("{}={} ", what, value);
  CAPTURE(text);
  const result<std::filesystem::path> library = compile_kernel(source_with(g, changed), march);
  if (!library) FAIL(library.error().message);
  for (const std::vector<std::int64_t>& axes : all) {
    const std::string shape = fmt::format("{}", fmt::join(axes, " "));
    CAPTURE(shape);
    CHECK(check_kernel(p, *library, axes, options) == "");
  }
}

constexpr const char* matrix = "in x f32[B,N]\nout y f32[B,N]\n";
constexpr const char* softmax = "m[b] = max(n: x[b,n])\ne[b,n] = exp(x[b,n] - m[b])\ns[b] = sum(n: e[b,n])\ny[b,n] = e[b,n] / s[b]";
// One row, fewer rows than threads, odd numbers of rows, tails of a vector, whole vectors, rows beyond one block, a row shared by threads.
const shapes awkward = {{1, 1}, {2, 16}, {3, 17}, {5, 1040}, {37, 257}, {3, 8200}, {1, 40001}, {3, 17000}};

TEST_CASE("rows overlap: the last sweep of softmax behind the next row, with and without buffer, prefetch and late NaN") {
  const problem p = small_problem("B=37 N=257", matrix, softmax);
  const auto g = generator_with(p, make_row_grammar());
  run_options special;
  special.special_values = true;
  for (const std::int64_t behind : {0, 1})
    for (const choices& more : {choices{{"keep_e", 1}, {"next_row", 1}, {"nan", 1}, {"stores", 1}},
                                choices{{"keep_e", 0}, {"next_row", 0}, {"nan", 1}, {"stores", 0}, {"chunk", 1}},
                                choices{{"keep_e", 1}, {"next_row", 0}, {"nan", 0}, {"stores", 1}, {"chunk", 4}, {"unroll", 8}}}) {
      choices all = more;
      all.emplace_back("last_sweep", behind);
      check_choice(p, *g, all, awkward);
      check_choice(p, *g, all, {{40, 5}, {9, 70}, {16, 64}}, special);
    }
}

TEST_CASE("rows overlap: the preferred softmax defers, and says so; without the decision it does not") {
  const problem p = small_problem("B=37 N=257", matrix, softmax);
  const auto g = generator_with(p, make_row_grammar());
  CHECK(source_with(*g, {}).find("finish_row") != std::string::npos);
  CHECK(source_with(*g, {{"last_sweep", 0}}).find("finish_row") == std::string::npos);
  CHECK(source_with(*g, {{"last_sweep", 1}}).find("runs beside a sweep of the next one") != std::string::npos);
}

TEST_CASE("rows overlap: norms with two outputs, row outputs, several parallel indices, doubles and bytes") {
  const problem residual =
      small_problem("T=33 H=250", "in x bf16[T,H]\nin r f32[T,H]\nin w f32[H]\nout q f32[T,H]\nout y f32[T,H]\nout k f32[T]\n",
                    "q[t,h] = x[t,h] + r[t,h]\ns[t] = sum(h: q[t,h] * q[t,h]) / H\nk[t] = rsqrt(s[t] + 1e-6)\n"
                    "y[t,h] = q[t,h] * k[t] * w[h]");
  const auto norm = generator_with(residual, make_row_grammar());
  for (const std::int64_t keep : {0, 1}) check_choice(residual, *norm, {{"last_sweep", 1}, {"keep_q", keep}, {"stores", 1}}, awkward);
  const problem planes = small_problem("A=3 B=5 N=70", "in x f64[A,B,N]\nin w f64[B,N]\nout y f64[A,B,N]\n",
                                       "m[a,b] = sum(n: x[a,b,n]) / N\ny[a,b,n] = (x[a,b,n] - m[a,b]) * w[b,n]");
  check_choice(planes, *generator_with(planes, make_row_grammar()), {{"last_sweep", 1}},
               {{3, 5, 70}, {1, 1, 1}, {2, 3, 33}, {1, 1, 20000}});
  const problem bytes = small_problem("B=17 N=145", "in x f32[B,N]\nout q i8[B,N]\nout s f32[B]\n",
                                      "s[b] = max(n: abs(x[b,n])) / 127.0\nq[b,n] = i8(round(x[b,n] / s[b]))");
  check_choice(bytes, *generator_with(bytes, make_row_grammar()), {}, {{17, 145}, {1, 1}, {40, 1000}});
}

TEST_CASE("column reductions: blocks together and apart, threads sharing lanes or rows, sums beside maxima") {
  const problem p =
      small_problem("B=333 N=70", "in x f32[B,N]\nout y f32[N]\nout z f32[N]\n", "y[n] = sum(b: x[b,n])\nz[n] = max(b: x[b,n] * 2.0)");
  const auto g = generator_with(p, make_row_grammar());
  run_options tolerant, special;
  tolerant.allowed = {5e-5, 1e-5};  // partial sums are floats
  special.special_values = true;
  const shapes all = {{1, 1}, {11, 3}, {12, 17}, {13, 40}, {9000, 3}, {1025, 1025}, {2000, 130}, {1031, 65}};
  for (const std::int64_t apart : {0, 1})
    for (const std::int64_t split : {0, 1})
      for (const std::int64_t block : {4, 12, 32})
        check_choice(p, *g, {{"streams", apart}, {"split", split}, {"block", block}, {"unroll", block == 12 ? 1 : 4}}, all, tolerant);
  const problem extremes =
      small_problem("B=333 N=70", "in x f32[B,N]\nout y f32[N]\nout z f32[N]\n", "y[n] = min(b: x[b,n])\nz[n] = max(b: x[b,n])");
  check_choice(extremes, *generator_with(extremes, make_row_grammar()), {}, {{1100, 40}, {30, 300}, {12, 20}, {13, 5}}, special);
  check_choice(p, *g, {{"span", 64}, {"split", 1}}, {{1100, 130}, {2100, 20}}, tolerant);
}

TEST_CASE("rows overlap: the preferred decisions on AVX2, and a single sweep that asks for the next row") {
  const problem rows = small_problem("B=37 N=257", matrix, softmax);
  check_choice(rows, *generator_with(rows, make_row_grammar()), {}, awkward, {}, "x86-64-v3");
  run_options tolerant;
  tolerant.allowed = {5e-5, 1e-5};
  const problem columns = small_problem("B=333 N=70", "in x f32[B,N]\nout y f32[N]\n", "y[n] = sum(b: x[b,n])");
  check_choice(columns, *generator_with(columns, make_row_grammar()), {}, {{1, 1}, {13, 40}, {1025, 257}, {2000, 9}}, tolerant,
               "x86-64-v3");
  const problem sums =
      small_problem("B=333 N=70", "in x f32[B,N]\nout y f32[B]\nout z f32[B]\n", "y[b] = sum(n: x[b,n])\nz[b] = max(n: x[b,n])");
  const auto g = generator_with(sums, make_row_grammar());
  for (const std::int64_t next : {0, 1}) {
    check_choice(sums, *g, {{"next_row", next}}, awkward, tolerant);
    CHECK((source_with(*g, {{"next_row", next}}).find("the next row") != std::string::npos) == (next == 1));
  }
}

TEST_CASE("column reductions: positions keep their order, a total over everything lies along the rows") {
  const problem positions = small_problem("B=30 N=300", "in x f32[B,N]\nout z i64[N]\n", "z[n] = argmin(b: x[b,n])");
  const auto g = generator_with(positions, make_row_grammar());
  CHECK(find_decision(*g, "streams") == nullptr);
  check_choice(positions, *g, {}, {{30, 300}, {1, 1}, {1500, 5}});
  const problem total = small_problem("N=300000", "in x f32[N]\nout t f32[1]\n", "t[i] = sum(n: abs(x[n]))");
  const auto h = generator_with(total, make_row_grammar());
  const decision* lanes = find_decision(*h, "lanes");
  if (lanes != nullptr) CHECK(lanes->labels[lanes->preferred] == "inner");
  CHECK(source_with(*h, {}).find("Lanes lie along the swept index") != std::string::npos);
}

}  // namespace
}  // namespace kernsmith::agents::testing
