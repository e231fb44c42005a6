// Matrix products on tensor cores: which groups they take, what is decided, and that nvcc accepts what is written. That the numbers are
// right only a device can tell: tests/bench/gemm_device.py.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/simt/gemm_grammar.hpp"
#include "agents/synthesis/simt/gemm_plan.hpp"
#include "agents/synthesis/simt/gemm_schedule.hpp"
#include "agents/synthesis/simt/gemm_text.hpp"
#include "simt_support.hpp"

namespace kernsmith::agents::testing {
namespace {

constexpr std::int64_t shared_bytes_per_block = 227 << 10;

std::string matrices(const std::string& left, const std::string& right, const std::string& result) {
  return fmt::format("in a {}[M,K]\nin b {}[K,N]\nout c {}[M,N]", left, right, result);
}

problem product(const std::string& left, const std::string& right, const std::string& result,
                const std::string& axes = "M=512 N=640 K=384") {
  return small_problem(axes, matrices(left, right, result), "c[m,n] = sum(k: a[m,k] * b[k,n])");
}

std::optional<simt::gemm_plan> plan_of(const problem& p, dtype lowest = dtype::f32) {
  const result<tensor_ir> ir = lower(p);
  REQUIRE(ir.has_value());
  static std::vector<tensor_ir> kept;  // a plan points into its IR
  kept.reserve(64);
  kept.push_back(*ir);
  fusion_group group{"c", {}};
  for (int id = 0; id < static_cast<int>(ir->statements.size()); ++id) group.statements.push_back(id);
  return simt::plan_gemm(kept.back(), group, lowest);
}

std::string source_of(const generator& g, const assignment& chosen) {
  const result<proposal> made = g.generate(chosen);
  REQUIRE(made.has_value());
  return made->source;
}

/// A random assignment for these units, where they can be chosen.
assignment random_for(const generator& g, std::int64_t units, std::uint64_t seed) {
  assignment chosen = random_assignment(g, seed);
  if (chosen.contains("c.units")) chosen["c.units"] = units;
  return g.normalise(chosen);
}

assignment random_for_warpgroups(const generator& g, std::uint64_t seed) {
  return random_for(g, 0, seed);
}

assignment with(const generator& g, const std::map<std::string, std::int64_t>& changes) {
  assignment chosen = preferred_assignment(g.space());
  for (const auto& [name, value] : changes) {
    REQUIRE(chosen.contains(name));
    chosen[name] = value;
  }
  return g.normalise(chosen);
}

std::int64_t constant_in(const std::string& source, const std::string& name) {
  const std::string text = name + " = ";
  std::size_t at = source.find(text);
  while (at != std::string::npos && source[at - 1] != ' ' && source[at - 1] != ',') at = source.find(text, at + 1);
  REQUIRE(at != std::string::npos);
  return std::stoll(source.substr(at + text.size()));
}

/// A template's word in @...@ that nothing was put in place of.
bool has_placeholder(const std::string& source) {
  for (std::size_t at = source.find('@'); at != std::string::npos; at = source.find('@', at + 1)) {
    std::size_t end = at + 1;
    while (end < source.size() && (source[end] == '_' || (source[end] >= 'A' && source[end] <= 'Z'))) ++end;
    if (end > at + 1 && end < source.size() && source[end] == '@') return true;
  }
  return false;
}

TEST_CASE("operands become as many planes as they have bits") {
  const auto planes = [](const problem& p, dtype lowest = dtype::f32) {
    const std::optional<simt::gemm_plan> plan = plan_of(p, lowest);
    REQUIRE(plan.has_value());
    return std::pair(plan->left.planes, plan->right.planes);
  };
  CHECK(planes(product("bf16", "bf16", "bf16")) == std::pair(1, 1));
  CHECK(planes(product("f32", "f32", "f32")) == std::pair(3, 3));
  CHECK(planes(product("f32", "bf16", "f32")) == std::pair(3, 1));
  CHECK(planes(product("f16", "bf16", "f32")) == std::pair(2, 1));
  CHECK(planes(product("f16", "f16", "f32")) == std::pair(1, 1));
  CHECK(planes(product("f8e4m3", "f8e5m2", "f32")) == std::pair(1, 1));
  CHECK(planes(product("f32", "f32", "f32"), dtype::bf16) == std::pair(1, 1));
  const problem scaled = small_problem("M=64 N=64 K=64", "in a bf16[M,K]\nin g bf16[K]\nin b bf16[K,N]\nout c f32[M,N]",
                                       "c[m,n] = sum(k: (a[m,k] * g[k]) * b[k,n])");
  const std::pair<int, int> both = planes(scaled);
  CHECK(both.first * both.second == 2);  // 8 + 8 bits on one side
}

TEST_CASE("what tensor cores can't do as precisely is left to others") {
  CHECK(!plan_of(small_problem("M=64 K=64", "in a f32[M,K]\nin b f32[K]\nout c f32[M]", "c[m] = sum(k: a[m,k] * b[k])")));
  CHECK(!plan_of(small_problem("M=64 N=64 K=64", matrices("i32", "i32", "i32"), "c[m,n] = sum(k: a[m,k] * b[k,n])")));
  CHECK(plan_of(product("bf16", "bf16", "f32")).has_value());
  const auto on_tensor_cores = [](const problem& p) {
    const std::unique_ptr<generator> g = cuda_generator(p);
    const std::string source = source_of(*g, preferred_assignment(g->space()));
    return source.find("wgmma") != std::string::npos || source.find("mma.sync") != std::string::npos;
  };
  CHECK(on_tensor_cores(product("bf16", "bf16", "f32", "M=16 N=640 K=384")));
  CHECK(!on_tensor_cores(product("bf16", "bf16", "f32", "M=1 N=640 K=384")));
  CHECK(!on_tensor_cores(product("f32", "f32", "f32", "M=16 N=640 K=384")));  // splitting b would take longer
}

TEST_CASE("which units multiply follows from the device and the elements") {
  const auto source = [](const problem& p, const std::string& architecture, const std::map<std::string, std::int64_t>& changes = {}) {
    const std::unique_ptr<generator> g = cuda_generator(p, architecture);
    return source_of(*g, with(*g, changes));
  };
  const problem half = product("bf16", "bf16", "f32"), wide = product("f64", "f64", "f64"), bytes = product("f64", "f32", "f64");
  CHECK(source(half, "sm_90a").find("wgmma") != std::string::npos);
  CHECK(source(half, "sm_90a", {{"c.units", 1}}).find("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") != std::string::npos);
  for (const char* architecture : {"sm_80", "sm_86", "sm_89", "sm_90", "sm_100a", "sm_120"}) {
    CAPTURE(architecture);
    const std::string text = source(half, architecture);
    CHECK(text.find("wgmma") == std::string::npos);
    CHECK(text.find("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") != std::string::npos);
    CHECK(source(wide, architecture).find(".row.col.f64.f64.f64.f64") != std::string::npos);
  }
  CHECK(source(half, "sm_75").find("mma.sync") == std::string::npos);
  CHECK(source(wide, "sm_80").find("mma.sync.aligned.m8n8k4.row.col.f64") != std::string::npos);
  CHECK(source(wide, "sm_90a", {{"c.instruction", 1608}}).find("mma.sync.aligned.m16n8k8.row.col.f64") != std::string::npos);
  CHECK(source(bytes, "sm_90a").find(".row.col.f64.f64.f64.f64") != std::string::npos);
}

TEST_CASE("where a device has both, few rows are for warps") {
  const auto units = [](const std::string& axes) {
    const std::unique_ptr<generator> g = cuda_generator(product("bf16", "bf16", "bf16", axes));
    return preferred_assignment(g->space()).at("c.units");
  };
  CHECK(units("M=4096 N=4096 K=4096") == 0);
  CHECK(units("M=512 N=8192 K=4096") == 0);
  CHECK(units("M=16 N=8192 K=8192") == 1);
}

TEST_CASE("products of warps carry what was decided") {
  const std::unique_ptr<generator> g = cuda_generator(product("bf16", "bf16", "bf16"), "sm_86");
  const std::string source =
      source_of(*g, with(*g, {{"c.tile", 128064}, {"c.warp", 32032}, {"c.stages", 3}, {"c.splits", 4}, {"c.tile_k", 32}}));
  CHECK(constant_in(source, "TILE_M") == 128);
  CHECK(constant_in(source, "TILE_N") == 64);
  CHECK(constant_in(source, "WARP_M") == 32);
  CHECK(constant_in(source, "WARP_N") == 32);
  CHECK(constant_in(source, "STAGES") == 3);
  CHECK(constant_in(source, "SPLITS") == 4);
  CHECK(constant_in(source, "TILE_K") == 32);
  CHECK(source.find("join_kernel") != std::string::npos);
  CHECK_FALSE(has_placeholder(source));
}

TEST_CASE("schedules of warps fit, and normalising twice changes nothing") {
  for (const char* type : {"f32", "bf16", "f64"}) {
    const std::unique_ptr<generator> g = cuda_generator(product(type, type, type), "sm_86");
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const assignment chosen = random_for(*g, 1, seed);
      CAPTURE(describe(g->space(), chosen));
      CHECK(g->normalise(chosen) == chosen);
      const std::string source = source_of(*g, chosen);
      const std::int64_t bytes = std::string(type) == "f64" ? 8 : 2, words = bytes == 8 ? 2 : 1;
      const std::int64_t tile_m = constant_in(source, "TILE_M"), tile_n = constant_in(source, "TILE_N"),
                         tile_k = constant_in(source, "TILE_K"), warp_m = constant_in(source, "WARP_M"),
                         warp_n = constant_in(source, "WARP_N");
      const std::int64_t slot =
          (constant_in(source, "LEFT_PLANES") * tile_m + constant_in(source, "RIGHT_PLANES") * tile_n) * tile_k * bytes;
      CHECK(constant_in(source, "STAGES") * slot + 1024 <= shared_bytes_per_block);
      CHECK(constant_in(source, "STAGES") >= 2);
      CHECK(tile_m % warp_m == 0);
      CHECK(tile_n % warp_n == 0);
      const std::int64_t threads = tile_m / warp_m * tile_n / warp_n * 32;
      CHECK(threads <= 512);
      CHECK(threads * 16 >= tile_n * bytes);  // a thread copies pieces below each other
      CHECK(warp_m * warp_n / 32 * words * (source.find("PROMOTE") != std::string::npos ? 2 : 1) <= 160);
    }
  }
}

TEST_CASE("products of warps are right where warps are emulated") {
  const auto check = [](const problem& p, const std::vector<std::vector<std::int64_t>>& shapes, int random_count) {
    check_emulated(p, shapes, random_count, {}, {.architecture = "sm_80"});
  };
  const std::vector<std::vector<std::int64_t>> shapes = {{1, 1, 1}, {70, 90, 40}, {17, 40, 648}};  // the last: deeper than a ring
  check(product("bf16", "bf16", "bf16", "M=70 N=90 K=40"), shapes, 1);
  check(small_problem("M=40 N=50 K=30", "in a f16[K,M]\nin b f16[N,K]\nin bias f32[N]\nout c f32[M,N]",
                      "c[m,n] = max(sum(k: a[k,m] * b[n,k]) + bias[n], 0)"),
        shapes, 1);
  check(product("f64", "f64", "f64", "M=70 N=90 K=40"), shapes, 1);
  check(small_problem("M=40 N=50 K=30", "in a f64[K,M]\nin b f32[N,K]\nin s f64[N]\nout c f64[M,N]",
                      "c[m,n] = s[n] * sum(k: a[k,m] * b[n,k])"),
        shapes, 1);
  check(product("f32", "f32", "f32", "M=70 N=90 K=40"), {{1, 1, 1}, {70, 90, 40}}, 0);
  check(small_problem("M=40 N=50 K=30", "in a i8[M,K]\nin b u8[K,N]\nout c i32[M,N]", "c[m,n] = i32(sum(k: i32(a[m,k]) * i32(b[k,n])))"),
        {{1, 1, 1}, {40, 50, 30}, {33, 70, 48}}, 1);
  check(small_problem("B=2 S=20 T=40 H=3 D=24", "in q bf16[B,S,H,D]\nin k bf16[B,T,H,D]\nout c f32[B,H,S,T]",
                      "c[b,h,s,t] = 0.125 * sum(d: q[b,s,h,d] * k[b,t,h,d])"),
        {{1, 1, 1, 1, 1}, {2, 20, 40, 3, 24}}, 0);
}

TEST_CASE("operands are read where they lie only when the copy engine can") {
  const std::optional<simt::gemm_plan> plain = plan_of(product("bf16", "bf16", "bf16"));
  REQUIRE(plain.has_value());
  CHECK(plain->left.plain);
  CHECK(!plain->left.along);
  CHECK(plain->right.plain);
  CHECK(plain->right.along);
  CHECK(!plan_of(product("f8e4m3", "f8e4m3", "bf16"))->left.plain);
  CHECK(!plan_of(product("f32", "f32", "f32"))->left.plain);
}

TEST_CASE("the source carries what was decided") {
  const std::unique_ptr<generator> g = cuda_generator(product("bf16", "bf16", "bf16", "M=4096 N=4096 K=4096"));
  const std::string source =
      source_of(*g, with(*g, {{"c.schedule", 0}, {"c.tile", 128192}, {"c.stages", 3}, {"c.band", 16}, {"c.splits", 4}, {"c.cluster", 2}}));
  CHECK(constant_in(source, "TILE_M") == 128);
  CHECK(constant_in(source, "TILE_N") == 192);
  CHECK(constant_in(source, "STAGES") == 3);
  CHECK(constant_in(source, "BAND") == 16);
  CHECK(constant_in(source, "SPLITS") == 4);
  CHECK(constant_in(source, "CLUSTER") == 2);
  CHECK(source.find("wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16") != std::string::npos);
  CHECK(source.find("multicast::cluster") != std::string::npos);
  CHECK(source.find("join_kernel") != std::string::npos);
  CHECK_FALSE(has_placeholder(source));
  const std::string alone = source_of(*g, with(*g, {{"c.schedule", 0}, {"c.splits", 1}, {"c.cluster", 1}}));
  CHECK(alone.find("multicast::cluster") == std::string::npos);
  CHECK(alone.find("join_kernel") == std::string::npos);
}

TEST_CASE("ordinary units are offered for f32 and f64, and nothing else then matters") {
  const std::unique_ptr<generator> g = cuda_generator(product("f32", "f32", "f32"));
  const assignment cores = with(*g, {{"c.units", 2}, {"c.cores_tile", 128128}, {"c.cores_own", 8008}, {"c.cores_slots", 4}});
  const std::string source = source_of(*g, cores);
  CHECK(source.find("c_product_kernel") != std::string::npos);
  CHECK(source.find("wgmma") == std::string::npos);
  CHECK(constant_in(source, "kTileRows") == 128);
  CHECK(constant_in(source, "kColumns") == 8);
  CHECK(constant_in(source, "kSlots") == 4);
  CHECK(with(*g, {{"c.units", 2}, {"c.tile", 64064}, {"c.stages", 2}}) == with(*g, {{"c.units", 2}}));
  CHECK(with(*g, {{"c.units", 0}, {"c.cores_tile", 32032}, {"c.cores_splits", 8}}) == with(*g, {{"c.units", 0}}));

  const auto offers = [](const problem& p, const std::string& architecture) {
    const std::unique_ptr<generator> made = cuda_generator(p, architecture);
    for (const decision& d : made->space().decisions)
      if (d.name == "c.units") return std::find(d.values.begin(), d.values.end(), 2) != d.values.end();
    return false;
  };
  CHECK(offers(product("f64", "f64", "f64"), "sm_90a"));
  CHECK(offers(product("f32", "f32", "f32"), "sm_80"));
  CHECK_FALSE(offers(product("bf16", "bf16", "f32"), "sm_90a"));
}

TEST_CASE("products on ordinary units are right where tensor cores could be had") {
  const problem p = product("f32", "f32", "f32", "M=70 N=90 K=40");
  const std::unique_ptr<generator> g = cuda_generator(p);
  const result<std::filesystem::path> library = compile_emulated(source_of(*g, with(*g, {{"c.units", 2}})));
  REQUIRE(library.has_value());
  for (const std::vector<std::int64_t>& axes : {std::vector<std::int64_t>{1, 1, 1}, {70, 90, 40}, {129, 17, 130}})
    CHECK(check_kernel(p, *library, axes, {}) == "");
}

TEST_CASE("stream-K: blocks' shares cover every step once, and who finishes a tile finds its other parts") {
  std::string text(simt::gemm_stream_text);
  text.resize(text.find("// Tells that"));  // what follows are instructions of the device
  const result<std::filesystem::path> library = compile_emulated(R"(#include "cuda_runtime.h"
)" + text + R"(
extern "C" int covers(int items, int steps, int blocks) {
  gridDim = dim3(unsigned(blocks));
  std::vector<int> seen(size_t(items) * steps), given(blocks, -1), from(blocks), to(blocks);
  const auto each = [&](auto visit) {
    for (int block = 0; block < blocks; ++block) {
      blockIdx.x = unsigned(block);
      int number = 0;
      for (walk w; w.next(items, steps); ++number)
        if (!visit(block, number, w)) return false;
    }
    return true;
  };
  if (!each([&](int block, int number, const walk& w) {
        for (int step = w.begin; step < w.end; ++step) ++seen[size_t(w.item) * steps + step];
        if (w.end == steps) return w.begin < w.end;
        given[block] = w.item, from[block] = w.begin, to[block] = w.end;
        return w.begin < w.end && number == 0;  // parts are given first of all
      }))
    return 1;
  for (const int count : seen)
    if (count != 1) return 2;
  const bool found = each([&](int block, int, const walk& w) {
    int have = w.begin;
    for (int giver = block - 1; w.end == steps && giver >= block - w.givers; --giver) {
      if (given[giver] != w.item || to[giver] != have) return false;
      have = from[giver];
    }
    return w.end < steps || have == 0;
  });
  return found ? 0 : 3;
}
)");
  if (!library) FAIL(library.error().message);
  void* const handle = dlopen(library->c_str(), RTLD_NOW);
  REQUIRE(handle != nullptr);
  const auto covers = reinterpret_cast<int (*)(int, int, int)>(dlsym(handle, "covers"));
  REQUIRE((covers != nullptr));
  for (const int items : {1, 2, 31, 32, 128, 131, 132, 133, 263, 264, 265, 512})
    for (const int steps : {1, 2, 4, 7, 16, 64})
      for (const int multiprocessors : {1, 2, 108, 132}) {
        const int blocks = std::clamp(items * steps / 4, 1, multiprocessors);
        CAPTURE(items);
        CAPTURE(steps);
        CAPTURE(blocks);
        CHECK(covers(items, steps, blocks) == 0);
      }
  dlclose(handle);
}

TEST_CASE("stream-K takes one walk through tiles") {
  const std::unique_ptr<generator> g = cuda_generator(product("bf16", "bf16", "bf16", "M=4096 N=4096 K=4096"));
  const assignment chosen =
      with(*g, {{"c.units", 0}, {"c.schedule", 1}, {"c.turns", 1}, {"c.cluster", 2}, {"c.splits", 4}, {"c.tile", 128128}});
  CHECK(chosen.at("c.turns") == 0);
  CHECK(chosen.at("c.cluster") == 1);
  CHECK(chosen.at("c.splits") == 1);
  const std::string source = source_of(*g, chosen);
  CHECK(source.find("struct walk") != std::string::npos);
  CHECK(source.find("cudaMemsetAsync(flags") != std::string::npos);
  CHECK(source.find("join_kernel") == std::string::npos);
  CHECK_FALSE(has_placeholder(source));
  CHECK(with(*g, {{"c.units", 1}, {"c.schedule", 1}}) == with(*g, {{"c.units", 1}}));
}

TEST_CASE("bytes are multiplied exactly, along the depth") {
  const std::optional<simt::gemm_plan> plan =
      plan_of(small_problem("M=64 N=64 K=64", matrices("i8", "u8", "i32"), "c[m,n] = i32(sum(k: i32(a[m,k]) * i32(b[k,n])))"));
  REQUIRE(plan.has_value());
  CHECK(plan->element == simt::matrix_element::integer8);
  CHECK(!plan->left.is_unsigned);
  CHECK(plan->right.is_unsigned);
  CHECK(plan->left.plain);
  CHECK(!plan->right.plain);  // lies along the columns
  CHECK(!plan->right.along);
}

TEST_CASE("f32 is multiplied as sums of planes, smallest products first") {
  const std::optional<simt::gemm_plan> plan = plan_of(product("f32", "f32", "f32"));
  REQUIRE(plan.has_value());
  simt::gemm_schedule s;
  s.order = 2;
  const std::vector<std::pair<int, int>> six = s.products(*plan);
  CHECK(six.size() == 6);
  CHECK(six.back() == std::pair(0, 0));
  s.order = 4;
  CHECK(s.products(*plan).size() == 9);
  s.order = 1;
  CHECK(s.products(*plan).size() == 3);
  CHECK(s.left_planes(*plan) == 2);
}

TEST_CASE("whatever is asked for fits into shared memory and registers, and normalising twice changes nothing") {
  for (const char* type : {"f32", "bf16", "f16"}) {
    const std::unique_ptr<generator> g = cuda_generator(product(type, type, "f32"));
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const assignment chosen = random_for_warpgroups(*g, seed);
      CAPTURE(describe(g->space(), chosen));
      CHECK(g->normalise(chosen) == chosen);
      const std::string source = source_of(*g, chosen);
      const std::int64_t tile_m = constant_in(source, "TILE_M"), tile_n = constant_in(source, "TILE_N"),
                         tile_k = constant_in(source, "TILE_K");
      const std::int64_t slot = (constant_in(source, "LEFT_PLANES") * tile_m + constant_in(source, "RIGHT_PLANES") * tile_n) * tile_k * 2;
      CHECK(constant_in(source, "STAGES") * slot + 1024 < shared_bytes_per_block);
      CHECK(constant_in(source, "STAGES") >= 2);
      const bool emulated = std::string(type) == "f32";
      CHECK((source.find("PROMOTE") != std::string::npos || !emulated));
      const std::int64_t consumers = constant_in(source, "CONSUMERS");
      const std::int64_t sums = tile_m / consumers / 64 * tile_n / 2 * (source.find("PROMOTE") != std::string::npos ? 2 : 1);
      CHECK(sums * consumers <= 384);
    }
  }
}

TEST_CASE("nvcc accepts every layout, batches, prologues and epilogues") {
  if (nvcc_path().empty()) {
    MESSAGE("skipped: no nvcc here");
    return;
  }
  const std::vector<problem> problems = {
      product("bf16", "bf16", "bf16"),
      product("f32", "f32", "f32"),
      small_problem("M=64 N=64 K=64", "in a f16[K,M]\nin b f16[N,K]\nout c f32[M,N]", "c[m,n] = sum(k: a[k,m] * b[n,k])"),
      small_problem("M=64 N=64 K=64", matrices("u8", "i8", "i32"), "c[m,n] = i32(sum(k: i32(a[m,k]) * i32(b[k,n])))"),
      small_problem("B=2 S=32 T=48 H=3 D=64", "in q bf16[B,S,H,D]\nin k bf16[B,T,H,D]\nout c f32[B,H,S,T]",
                    "c[b,h,s,t] = 0.125 * sum(d: q[b,s,h,d] * k[b,t,h,d])"),
      small_problem(
          "M=64 N=64 K=64",
          "in a f8e4m3[M,K]\nin w bf16[N,K]\nin s f32[M]\nin bias f32[N]\nin r bf16[M,N]\nmid h f32[M,N]\nout c bf16[M,N]",
          "h[m,n] = s[m] * sum(k: max(a[m,k], 0) * w[n,k]) + bias[n]\nc[m,n] = 0.5 * h[m,n] * (1 + erf(h[m,n] * 0.707)) + r[m,n]"),
  };
  for (const problem& p : problems) {
    const std::unique_ptr<generator> g = cuda_generator(p);
    for (const assignment& chosen : {with(*g, {{"c.units", 0}}), random_for_warpgroups(*g, 7)}) {
      CAPTURE(describe(g->space(), chosen));
      const std::string source = source_of(*g, chosen);
      CHECK(source.find("wgmma") != std::string::npos);
      CHECK(compile_with_nvcc(source) == "");
    }
  }
  const auto compile = [](const problem& p, const std::string& architecture) {  // all others: gemm_device.py architectures
    const std::unique_ptr<generator> g = cuda_generator(p, architecture);
    assignment by_warps = preferred_assignment(g->space());
    if (by_warps.contains("c.units")) by_warps["c.units"] = 1;
    const std::string source = source_of(*g, g->normalise(by_warps));
    CHECK(source.find("mma.sync") != std::string::npos);
    CHECK(compile_with_nvcc(source, architecture) == "");
  };
  compile(problems.back(), "sm_80");
  compile(problems[3], "sm_86");
  compile(problems[1], "sm_89");
  compile(product("f64", "f64", "f64"), "sm_80");
  compile(product("f64", "f64", "f64"), "sm_90a");
}

}  // namespace
}  // namespace kernsmith::agents::testing
