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

}  // namespace
}  // namespace kernsmith::agents
