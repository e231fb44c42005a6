// Products over a common index on the ordinary arithmetic units: emitted CUDA run on the CPU, against the interpreter.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "agents/synthesis/rules_generator.hpp"
#include "agents/synthesis/simt/simt_assembly.hpp"
#include "agents/synthesis/simt/simt_grammar.hpp"
#include "simt_support.hpp"

namespace kernsmith::agents::testing {
namespace {

std::unique_ptr<rules_generator> contraction_generator(const problem& p, const std::string& architecture = "sm_90a") {
  simt::simt_model model;
  model.architecture = architecture;
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

using decisions = std::map<std::string, std::int64_t>;

/// Preferred but for `changes`, whose names begin with the group's.
assignment with(const generator& g, const decisions& changes) {
  assignment chosen = preferred_assignment(g.space());
  for (const auto& [name, value] : changes) {
    REQUIRE(chosen.contains(name));
    chosen[name] = value;
  }
  return g.normalise(chosen);
}

void check_source(const problem& p, const generator& g, const assignment& chosen, const std::vector<std::vector<std::int64_t>>& shapes,
                  const run_options& options = {}) {
  CAPTURE(describe(g.space(), chosen));
  const result<proposal> made = g.generate(chosen);
  REQUIRE(made.has_value());
  CHECK(made->source.find('@') == std::string::npos);
  const result<std::filesystem::path> library = compile_emulated(made->source);
  if (!library) {
    FAIL_CHECK("does not compile:\n" << library.error().message);
    return;
  }
  for (const std::vector<std::int64_t>& axes : shapes) {
    const std::string shape = fmt::format("{}", fmt::join(axes, " "));
    CAPTURE(shape);
    CHECK(check_kernel(p, *library, axes, options) == "");
  }
}

void check_products(const problem& p, const std::vector<std::vector<std::int64_t>>& shapes) {
  const std::unique_ptr<rules_generator> g = contraction_generator(p);
  CHECK(grammars_of(*g).front() == "contraction");
  check_source(p, *g, preferred_assignment(g->space()), shapes);
  check_source(p, *g, random_assignment(*g, 1), shapes);
}

problem layout(char left, char right, const char* type = "f32") {
  return small_problem(
      "M=70 N=90 K=40",
      fmt::format("in a {2}[{0}]\nin b {2}[{1}]\nout c {2}[M,N]", left == 'n' ? "M,K" : "K,M", right == 'n' ? "K,N" : "N,K", type),
      fmt::format("c[m,n] = sum(k: a[{}] * b[{}])", left == 'n' ? "m,k" : "k,m", right == 'n' ? "k,n" : "n,k"));
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

TEST_CASE("tails: extents of 1, 17, 129 and 1027 along each side and the depth") {
  const std::vector<std::vector<std::int64_t>> shapes = {{17, 129, 1}, {129, 17, 1027}, {1, 1027, 17}, {1027, 1, 129}};
  // f32 sums of a thousand products of size one, in any order.
  const run_options options = {.allowed = {.absolute = 5e-4, .relative = 1e-4}};
  const problem p = layout('n', 'n');
  const std::unique_ptr<rules_generator> g = contraction_generator(p);
  check_source(p, *g, with(*g, {{"c.tile", 128128}, {"c.own", 8008}, {"c.depth", 8}, {"c.slots", 4}, {"c.splits", 1}}), shapes, options);
  check_source(p, *g, with(*g, {{"c.tile", 64128}, {"c.own", 16008}, {"c.depth", 16}, {"c.slots", 2}, {"c.splits", 3}}), shapes, options);
}

TEST_CASE("operands lie along either index, and come in the background or through registers") {
  const std::vector<std::vector<std::int64_t>> shapes = {{33, 50, 17}, {68, 132, 72}};  // the second: whole pieces of 16 bytes
  for (const char* sides : {"nn", "nt", "tn", "tt"}) {
    CAPTURE(sides);
    const problem p = layout(sides[0], sides[1]);
    const std::unique_ptr<rules_generator> g = contraction_generator(p);
    const assignment copies = with(*g, {{"c.tile", 64128}, {"c.own", 8008}, {"c.copies", 1}, {"c.slots", 3}}),
                     registers = with(*g, {{"c.tile", 64064}, {"c.own", 8004}, {"c.copies", 0}});
    CHECK(g->generate(copies)->source.find("ks_copy<") != std::string::npos);
    CHECK(g->generate(registers)->source.find("ks_copy<") == std::string::npos);
    check_source(p, *g, copies, shapes);
    check_source(p, *g, registers, shapes);
  }
  const problem wide = layout('t', 'n', "f64");
  const std::unique_ptr<rules_generator> g = contraction_generator(wide);
  check_source(wide, *g, with(*g, {{"c.copies", 1}}), shapes);
}

TEST_CASE("narrow types, integers and several matrices go through registers") {
  check_products(small_problem("B=2 S=20 T=40 H=3 D=24", "in q bf16[B,S,H,D]\nin k f16[B,T,H,D]\nin r f32[B,H,S,T]\nout c f32[B,H,S,T]",
                               "s[b,h,s,t] = 0.125 * sum(d: q[b,s,h,d] * k[b,t,h,d])\nc[b,h,s,t] = s[b,h,s,t] + r[b,h,s,t]"),
                 {{1, 1, 1, 1, 1}, {2, 20, 40, 3, 24}});
  check_products(small_problem("M=40 N=50 K=30", "in a i32[M,K]\nin b i32[K,N]\nout c i64[M,N]", "c[m,n] = max(k: a[m,k] - b[k,n])"),
                 {{1, 1, 1}, {40, 50, 30}});
}

TEST_CASE("infinities and NaNs beyond a tile's edge stay there") {
  const problem p = small_problem("M=20 N=30 K=9", "in a f32[M,K]\nin b f32[N,K]\nout d f32[M,N]", "d[m,n] = min(k: a[m,k] + b[n,k])");
  const std::unique_ptr<rules_generator> g = contraction_generator(p);
  const result<std::filesystem::path> library = compile_emulated(g->generate(preferred_assignment(g->space()))->source);
  REQUIRE(library.has_value());
  CHECK(check_kernel(p, *library, {33, 50, 17}, {.special_values = true}) == "");
}

TEST_CASE("devices without background copies, and architectures, decide what there is to decide") {
  const auto names = [](const generator& g) {
    std::string all;
    for (const decision& d : g.space().decisions) all += d.name + " ";
    return all;
  };
  CHECK(names(*contraction_generator(layout('n', 'n'))) == "c.tile c.own c.depth c.slots c.copies c.band c.splits ");
  CHECK(names(*contraction_generator(layout('n', 'n'), "sm_75")) == "c.tile c.own c.depth c.band c.splits ");
}

TEST_CASE("whatever is asked for fits registers and shared memory, and normalising twice changes nothing") {
  constexpr int most_threads = 512;
  for (const char* type : {"f32", "f64"}) {
    const std::unique_ptr<rules_generator> g = contraction_generator(layout('n', 'n', type));
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const assignment chosen = random_assignment(*g, seed);
      CAPTURE(describe(g->space(), chosen));
      CHECK(g->normalise(chosen) == chosen);
      CHECK(fit(g->space(), chosen) == chosen);
      const std::int64_t tile_m = chosen.at("c.tile") / 1000, tile_n = chosen.at("c.tile") % 1000, own_m = chosen.at("c.own") / 1000,
                         own_n = chosen.at("c.own") % 1000, words = std::string(type) == "f64" ? 2 : 1;
      CHECK(tile_m % (4 * own_m) == 0);
      CHECK(tile_n % (8 * own_n) == 0);
      const std::int64_t threads = tile_m / own_m * tile_n / own_n;
      CHECK(threads <= most_threads);
      CHECK((own_m * own_n + 2 * (own_m + own_n)) * words * threads <= 65536);
      CHECK(chosen.at("c.slots") * chosen.at("c.depth") * (tile_m + tile_n + 4) * 4 * words <= 227 << 10);
    }
  }
}

TEST_CASE("the first guess follows the shape") {
  const auto tile = [](const std::string& axes) {
    const std::unique_ptr<rules_generator> g =
        contraction_generator(small_problem(axes, "in a f32[M,K]\nin b f32[K,N]\nout c f32[M,N]", "c[m,n] = sum(k: a[m,k] * b[k,n])"));
    const assignment chosen = preferred_assignment(g->space());
    return std::pair(chosen.at("c.tile") / 1000 * (chosen.at("c.tile") % 1000), chosen.at("c.splits"));
  };
  CHECK(tile("M=4096 N=4096 K=4096").first >= 128 * 128);
  CHECK(tile("M=4096 N=4096 K=4096").second == 1);
  CHECK(tile("M=512 N=512 K=512").first < 128 * 128);
  CHECK(tile("M=16 N=512 K=65536").second > 1);
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
