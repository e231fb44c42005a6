#include <doctest/doctest.h>

#include "agents/synthesis/rules_grammar.hpp"

namespace kernsmith::agents {
namespace {

source_file seed_of(const std::string& text) {
  return {"cpp", "kernels/mine.cpp", text, "mine"};
}

std::unique_ptr<generator> generator_of(const std::string& text) {
  result<std::unique_ptr<generator>> made = make_seed_generator(seed_of(text));
  if (!made) FAIL(made.error().message);
  return std::move(*made);
}

std::string refusal_of(const std::string& text) {
  const result<std::unique_ptr<generator>> made = make_seed_generator(seed_of(text));
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error().kind == fault::bad_request);
  return made.error().message;
}

constexpr const char* kernel = R"(#include "kernsmith_kernel.h"
KS_PARAM(TILE_M, 64, 16, 32, 64, 128);  // rows of a tile
  KS_PARAM( UNROLL ,
            0x4 /* why not */, 8, 1, 2);
int f() { return TILE_M * UNROLL; }
)";

TEST_CASE("a seed's parameters become a space") {
  const auto g = generator_of(kernel);
  const decision_space& space = g->space();
  CHECK(space.name == "mine");
  REQUIRE(space.decisions.size() == 2);
  CHECK(space.decisions[0].name == "TILE_M");
  CHECK(space.decisions[0].values == std::vector<std::int64_t>{16, 32, 64, 128});
  CHECK(space.decisions[0].preferred == 2);
  CHECK(space.decisions[0].meaning == "rows of a tile");
  CHECK(space.decisions[1].values == std::vector<std::int64_t>{1, 2, 4, 8});
  CHECK(space.decisions[1].preferred == 2);
}

TEST_CASE("generate rewrites the second argument and nothing else") {
  const auto g = generator_of(kernel);
  CHECK(g->generate({})->source == kernel);
  const result<proposal> made = g->generate({{"TILE_M", 128}, {"UNROLL", 1}});
  REQUIRE(made.has_value());
  std::string expected = kernel;
  expected.replace(expected.find("64,"), 2, "128");
  expected.replace(expected.find("0x4"), 3, "1");
  CHECK(made->source == expected);
  CHECK(made->rationale.find("TILE_M=128 UNROLL=1") != std::string::npos);
}

TEST_CASE("illegal values move to the nearest legal one, unknown names are dropped") {
  const auto g = generator_of(kernel);
  CHECK(g->normalise({{"TILE_M", 100}, {"OTHER", 3}}) == assignment{{"TILE_M", 128}, {"UNROLL", 4}});
}

TEST_CASE("comments, strings and the macro's own definition declare nothing") {
  const auto g = generator_of(R"x(
// KS_PARAM(A, 1, 2)
/* KS_PARAM(B, 1, 2) */
#define KS_PARAM(name, value, ...) static constexpr long long name = (value)
const char* text = "KS_PARAM(C, 1, 2)\" KS_PARAM(D)";
const char* raw = R"(KS_PARAM(E, 1, 2) ")";
char quote = '"';
int MY_KS_PARAM(int);
int big = 1'000'000;
)x");
  CHECK(g->space().decisions.empty());
  CHECK(g->generate({{"A", 2}})->rationale == "The seed kernel 'mine' as written.");
}

TEST_CASE("the default needs no repetition, negative values are values") {
  const auto g = generator_of("KS_PARAM(A, -1, 3, 3, -5);");
  CHECK(g->space().decisions[0].values == std::vector<std::int64_t>{-5, -1, 3});
  CHECK(g->generate({{"A", -5}})->source == "KS_PARAM(A, -5, 3, 3, -5);");
}

TEST_CASE("a malformed declaration is refused with its place") {
  CHECK(refusal_of("\n\n  KS_PARAM(A);").starts_with("kernels/mine.cpp:3:13: KS_PARAM 'A' has no default; write KS_PARAM("));
  CHECK(refusal_of("KS_PARAM(A, N, 2);").starts_with("kernels/mine.cpp:1:13: the default of KS_PARAM 'A' is not an integer literal"));
  CHECK(
      refusal_of("KS_PARAM(A, 1, 2.5);").starts_with("kernels/mine.cpp:1:17: KS_PARAM 'A' lacks a comma or its closing parenthesis here"));
  CHECK(refusal_of("KS_PARAM(A, 1, x);").starts_with("kernels/mine.cpp:1:16: a value of KS_PARAM 'A' is not an integer literal"));
  CHECK(refusal_of("KS_PARAM(A, 1, 2").find("closing parenthesis") != std::string::npos);
  CHECK(refusal_of("KS_PARAM(A, 1);\nKS_PARAM(A, 2);").starts_with("kernels/mine.cpp:2:10: KS_PARAM 'A' is declared twice"));
  CHECK(refusal_of("KS_PARAM(7, 1);").find("needs a name") != std::string::npos);
  CHECK(refusal_of("int KS_PARAM;").find("without its arguments") != std::string::npos);
  CHECK(refusal_of("KS_PARAM(A, 99999999999999999999);").find("not an integer literal") != std::string::npos);
}

}  // namespace
}  // namespace kernsmith::agents
