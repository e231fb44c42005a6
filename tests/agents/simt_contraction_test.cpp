// Products over a common index on the ordinary arithmetic units: emitted CUDA run on the CPU, against the interpreter.
#include <doctest/doctest.h>

#include "agents/synthesis/rules_generator.hpp"
#include "agents/synthesis/simt/simt_assembly.hpp"
#include "agents/synthesis/simt/simt_grammar.hpp"
#include "simt_support.hpp"

namespace kernsmith::agents::testing {
namespace {

std::unique_ptr<rules_generator> contraction_generator(const problem& p) {
  const simt::simt_model model;
  grammar_list grammars;
  grammars.push_back(simt::make_contraction_grammar(model));
  grammars.push_back(simt::make_row_grammar(model));
  grammars.push_back(simt::make_plain_grammar(model));
  auto made = make_rules_generator(p, std::move(grammars),
                                   [model](const std::string& name, const tensor_ir& ir, const std::vector<assembled_group>& groups) {
                                     return simt::assemble_simt_source(name, model, ir, groups);
                                   });
  if (!made) FAIL(made.error().message);
  return std::move(*made);
}

void check_products(const problem& p, const std::vector<std::vector<std::int64_t>>& shapes) {
  const std::unique_ptr<rules_generator> g = contraction_generator(p);
  CHECK(grammars_of(*g).front() == "contraction");
  for (const std::uint64_t seed : {0, 1}) {
    const result<proposal> made = g->generate(seed == 0 ? preferred_assignment(g->space()) : random_assignment(*g, seed));
    REQUIRE(made.has_value());
    const result<std::filesystem::path> library = compile_emulated(made->source);
    if (!library) {
      FAIL_CHECK("does not compile:\n" << library.error().message);
      continue;
    }
    for (const std::vector<std::int64_t>& axes : shapes) CHECK(check_kernel(p, *library, axes, {}) == "");
  }
}

TEST_CASE("matrix products in f32 and f64, with what follows them") {
  check_products(small_problem("M=70 N=90 K=40", "in a f32[M,K]\nin b f32[K,N]\nin bias f32[N]\nout y f32[M,N]",
                               "h[m,n] = sum(k: a[m,k] * b[k,n])\ny[m,n] = max(h[m,n] + bias[n], 0)"),
                 {{1, 1, 1}, {70, 90, 40}, {33, 130, 17}});
  check_products(
      small_problem("H=2 M=20 N=30 K=9", "in a f64[H,K,M]\nin b f64[H,N,K]\nout c f64[H,M,N]", "c[h,m,n] = sum(k: a[h,k,m] * b[h,n,k])"),
      {{1, 1, 1, 1}, {2, 20, 30, 9}, {3, 65, 5, 33}});
}

TEST_CASE("distances and other reductions of two operands") {
  check_products(small_problem("M=20 N=30 K=9", "in a f32[M,K]\nin b f32[N,K]\nout d f32[M,N]",
                               "d[m,n] = sum(k: (a[m,k] - b[n,k]) * (a[m,k] - b[n,k]))"),
                 {{1, 1, 1}, {20, 30, 9}, {67, 65, 20}});
  check_products(small_problem("M=20 N=30 K=9", "in a f32[M,K]\nin b f32[K,N]\nout d f32[M,N]", "d[m,n] = min(k: a[m,k] + b[k,n])"),
                 {{1, 1, 1}, {20, 30, 9}});
}

TEST_CASE("nvcc accepts products") {
  if (nvcc_path().empty()) {
    MESSAGE("skipped: no nvcc here");
    return;
  }
  const problem p =
      small_problem("M=1024 N=1024 K=512", "in a f64[M,K]\nin b f64[K,N]\nout c f64[M,N]", "c[m,n] = sum(k: a[m,k] * b[k,n]) + 1");
  const std::unique_ptr<rules_generator> g = contraction_generator(p);
  CHECK(compile_with_nvcc(g->generate(preferred_assignment(g->space()))->source) == "");
}

}  // namespace
}  // namespace kernsmith::agents::testing
