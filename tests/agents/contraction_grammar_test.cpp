// Emitted contractions against the interpreter: transpositions, batches, odd shapes, dtypes, prologues, epilogues, random decisions.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "support.hpp"

namespace kernsmith::agents {
namespace {

using testing::check_generator;
using testing::generator_with;
using testing::problem_from;

struct tensor_text {
  std::string name, shape;
  std::string type = "f32";
  std::string more = {};
};

std::string declare(const std::string& axes, const std::vector<tensor_text>& inputs, const std::vector<tensor_text>& outputs) {
  std::string text = "[axes]\n" + axes + "\n";
  for (const auto* list : {&inputs, &outputs})
    for (const tensor_text& t : *list)
      text += fmt::format("[{}.{}]\nshape = [{}]\ndtype = \"{}\"\n{}\n", list == &inputs ? "inputs" : "outputs", t.name, t.shape, t.type,
                          t.more);
  return text;
}

using shapes = std::vector<std::vector<std::int64_t>>;
// M, N, K
const shapes matrix_shapes = {{1, 1, 1}, {7, 13, 5}, {64, 64, 64}, {65, 97, 131}, {3, 200, 77}, {130, 5, 300}};

void check_fused(const problem& p, const shapes& all, int random_count, std::uint64_t seed = 1) {
  const auto g = generator_with(p, make_contraction_grammar());
  CHECK(testing::grammars_of(*g) == std::vector<std::string>{"contraction"});
  testing::run_options options;
  options.seed = seed;
  options.allowed = {2e-4, 2e-4};
  check_generator(p, *g, all, random_count, options);
}

TEST_CASE("contraction: plain matrix product with random decisions") {
  const problem p = problem_from(declare("M = 64\nN = 64\nK = 64", {{"a", "\"M\", \"K\""}, {"b", "\"K\", \"N\""}}, {{"y", "\"M\", \"N\""}}),
                                 "y[m,n] = sum(k: a[m,k] * b[k,n])");
  check_fused(p, matrix_shapes, 12);
}

TEST_CASE("contraction: all transpositions, output transposed too") {
  struct layout {
    const char *a, *b, *y, *text;
  };
  const std::vector<layout> layouts = {
      {R"("M", "K")", R"("N", "K")", R"("M", "N")", "y[m,n] = sum(k: a[m,k] * b[n,k])"},
      {R"("K", "M")", R"("K", "N")", R"("M", "N")", "y[m,n] = sum(k: a[k,m] * b[k,n])"},
      {R"("K", "M")", R"("N", "K")", R"("M", "N")", "y[m,n] = sum(k: a[k,m] * b[n,k])"},
      {R"("M", "K")", R"("K", "N")", R"("N", "M")", "y[n,m] = sum(k: a[m,k] * b[k,n])"},
  };
  std::uint64_t seed = 10;
  for (const layout& l : layouts) {
    CAPTURE(l.text);
    check_fused(problem_from(declare("M = 64\nN = 64\nK = 64", {{"a", l.a}, {"b", l.b}}, {{"y", l.y}}), l.text), matrix_shapes, 3, seed++);
  }
}

TEST_CASE("contraction: batched, one operand broadcast, several depth indices") {
  const std::string axes = "B = 2\nM = 8\nN = 9\nK = 10";
  const shapes all = {{1, 1, 1, 1}, {3, 7, 33, 18}, {2, 40, 5, 70}, {5, 1, 17, 3}};
  check_fused(problem_from(declare(axes, {{"a", R"("B", "M", "K")"}, {"b", R"("B", "K", "N")"}}, {{"y", R"("B", "M", "N")"}}),
                           "y[b,m,n] = sum(k: a[b,m,k] * b[b,k,n])"),
              all, 4, 20);
  check_fused(problem_from(declare(axes, {{"a", R"("B", "M", "K")"}, {"b", R"("K", "N")"}}, {{"y", R"("B", "M", "N")"}}),
                           "y[b,m,n] = sum(k: a[b,m,k] * b[k,n])"),
              all, 3, 21);
  check_fused(
      problem_from(declare(axes, {{"x", R"("B", "M", "K")"}}, {{"y", R"("B", "M", "M")"}}), "y[b,i,j] = sum(k: x[b,i,k] * x[b,j,k])"), all,
      4, 22);
  check_fused(problem_from(declare(axes, {{"a", R"("B", "K", "M")"}, {"b", R"("K", "B", "N")"}}, {{"y", R"("M", "N")"}}),
                           "y[m,n] = sum(b, k: a[b,k,m] * b[k,b,n])"),
              all, 4, 23);
}

TEST_CASE("contraction: matrix times vector, either way round") {
  const shapes all = {{1, 1}, {5, 33}, {130, 257}, {64, 16}};
  check_fused(
      problem_from(declare("M = 8\nK = 9", {{"a", R"("M", "K")"}, {"x", R"("K")"}}, {{"y", R"("M")"}}), "y[m] = sum(k: a[m,k] * x[k])"),
      all, 6, 30);
  check_fused(
      problem_from(declare("M = 8\nK = 9", {{"a", R"("K", "M")"}, {"x", R"("K")"}}, {{"y", R"("M")"}}), "y[m] = sum(k: a[k,m] * x[k])"),
      all, 6, 31);
}

TEST_CASE("contraction: prologue, bias, activation, residual, several outputs") {
  const problem p =
      problem_from(declare("M = 8\nN = 9\nK = 10",
                           {{"x", R"("M", "K")"}, {"w", R"("N", "K")", "bf16"}, {"s", R"("N")"}, {"bias", R"("N")"}, {"r", R"("M", "N")"}},
                           {{"h", R"("M", "N")"}, {"y", R"("M", "N")", "f16"}}),
                   "q[n,k] = w[n,k] * s[n]\n"
                   "c[m,n] = sum(k: max(x[m,k], 0) * q[n,k])\n"
                   "h[m,n] = c[m,n] + bias[n]\n"
                   "y[m,n] = 0.5 * h[m,n] * (1 + erf(h[m,n] * 0.7071067811865476)) + select(r[m,n] > 0, r[m,n], tanh(r[m,n]))");
  const auto g = generator_with(p, make_contraction_grammar());
  CHECK(testing::grammars_of(*g) == std::vector<std::string>{"contraction"});
  testing::run_options options;
  options.allowed = {5e-3, 5e-3};
  check_generator(p, *g, {{1, 1, 1}, {17, 35, 66}, {40, 130, 9}}, 5, options);
}

TEST_CASE("contraction: doubles") {
  const problem p =
      problem_from(declare("M = 8\nN = 9\nK = 10", {{"a", R"("M", "K")", "f64"}, {"b", R"("N", "K")", "f64"}, {"c", R"("M")"}},
                           {{"y", R"("M", "N")", "f64"}}),
                   "t[m,n] = sum(k: a[m,k] * b[n,k])\ny[m,n] = exp(t[m,n] * 0.01) * c[m]");
  const auto g = generator_with(p, make_contraction_grammar());
  testing::run_options options;
  options.allowed = {1e-11, 1e-11};
  check_generator(p, *g, {{1, 1, 1}, {17, 35, 66}, {40, 130, 9}}, 5, options);
}

TEST_CASE("contraction: bytes with exact sums and scales") {
  const shapes all = {{1, 1, 1}, {17, 35, 66}, {40, 130, 9}, {3, 16, 301}};
  const std::string axes = "M = 8\nN = 9\nK = 10";
  check_fused(problem_from(declare(axes, {{"a", R"("M", "K")", "i8"}, {"b", R"("K", "N")", "i8"}, {"sa", R"("M")"}, {"sb", R"("N")"}},
                                   {{"y", R"("M", "N")"}}),
                           "c[m,n] = sum(k: i32(a[m,k]) * i32(b[k,n]))\ny[m,n] = f32(c[m,n]) * sa[m] * sb[n] * 0.001"),
              all, 4, 40);
  check_fused(problem_from(declare(axes, {{"a", R"("K", "M")", "u8"}, {"b", R"("N", "K")", "i8"}}, {{"y", R"("M", "N")", "i32"}}),
                           "y[m,n] = sum(k: i32(a[k,m]) * i32(b[n,k]))"),
              all, 4, 41);
}

TEST_CASE("contraction: bf16 operands, widened or in pairs") {
  const problem p =
      problem_from(declare("M = 8\nN = 9\nK = 10", {{"a", R"("M", "K")", "bf16"}, {"b", R"("N", "K")", "bf16"}}, {{"y", R"("M", "N")"}}),
                   "y[m,n] = sum(k: a[m,k] * b[n,k])");
  check_fused(p, {{1, 1, 1}, {17, 35, 66}, {40, 130, 9}, {20, 70, 129}}, 5, 50);
}

TEST_CASE("contraction: AVX2") {
  machine_model machine = testing::small_machine();
  machine.isa = "x86-64-v3";
  machine.vector_bytes = 32;
  machine.vector_registers = 16;
  machine.avx512_bf16 = machine.avx512_vnni = false;
  const auto check = [&](const problem& p, std::uint64_t seed) {
    const auto g = generator_with(p, make_contraction_grammar(), machine);
    for (const assignment& chosen : {preferred_assignment(g->space()), testing::random_assignment(*g, seed)}) {
      const result<proposal> made = g->generate(chosen);
      REQUIRE(made.has_value());
      const auto library = testing::compile_kernel(made->source, "x86-64-v3");
      if (!library) FAIL(library.error().message);
      testing::run_options options;
      options.allowed = {2e-4, 2e-4};
      CHECK(testing::check_kernel(p, *library, {17, 35, 66}, options) == "");
    }
  };
  const std::string axes = "M = 8\nN = 9\nK = 10";
  check(
      problem_from(declare(axes, {{"a", R"("K", "M")"}, {"b", R"("N", "K")"}}, {{"y", R"("M", "N")"}}), "y[m,n] = sum(k: a[k,m] * b[n,k])"),
      1);
  check(problem_from(declare(axes, {{"a", R"("M", "K")", "i8"}, {"b", R"("N", "K")", "i8"}}, {{"y", R"("M", "N")", "i32"}}),
                     "y[m,n] = sum(k: i32(a[m,k]) * i32(b[n,k]))"),
        2);
  check(problem_from(declare(axes, {{"a", R"("M", "K")", "f64"}, {"b", R"("N", "K")", "f64"}}, {{"y", R"("M", "N")", "f64"}}),
                     "y[m,n] = sum(k: a[m,k] * b[n,k])"),
        3);
}

TEST_CASE("contraction: what isn't one is left to other grammars") {
  const auto grammar = [](const std::string& tensors, const std::string& text) {
    return testing::grammars_of(*generator_with(problem_from(tensors, text), make_contraction_grammar())).front();
  };
  const std::string axes = "M = 8\nK = 9";
  CHECK(grammar(declare(axes, {{"a", R"("M", "K")"}, {"b", R"("M", "K")"}}, {{"y", R"("M")"}}), "y[m] = sum(k: a[m,k] * b[m,k])") ==
        "plain");
  CHECK(grammar(declare(axes, {{"a", R"("M", "K")"}, {"b", R"("M")"}}, {{"y", R"("M")"}}), "y[m] = sum(k: a[m,k] * b[m])") == "plain");
  CHECK(grammar(declare(axes, {{"a", R"("M", "K")"}, {"b", R"("K")"}}, {{"y", R"("M")"}}), "y[m] = max(k: a[m,k] * b[k])") == "plain");
}

}  // namespace
}  // namespace kernsmith::agents
