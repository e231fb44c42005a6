// What the rules write for Triton, as text: which grammar takes what, what stands in the sources, and what is decided. That they are right
// is tests/triton's matter, which needs a Python that has Triton.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "agents/synthesis/triton/triton_emission.hpp"
#include "agents/synthesis/triton/triton_grammar.hpp"
#include "support.hpp"

namespace kernsmith::agents::testing {
namespace {

const std::filesystem::path source_folder = KERNSMITH_SOURCE_DIR;

problem example(const std::string& name) {
  result<problem> p = load_problem(source_folder / "docs/examples" / (name + ".toml"));
  if (!p) FAIL(p.error().message);
  return std::move(*p);
}

std::unique_ptr<generator> rules_for(const problem& p) {
  result<std::unique_ptr<generator>> made = triton::make_triton_rules_generator(p);
  if (!made) FAIL(made.error().message);
  return std::move(*made);
}

proposal proposed(const generator& g, const assignment& chosen) {
  result<proposal> made = g.generate(chosen);
  if (!made) FAIL(made.error().message);
  return std::move(*made);
}

std::string source_of(const problem& p) {
  const auto g = rules_for(p);
  return proposed(*g, preferred_assignment(g->space())).source;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string grammars_for(const problem& p) {
  grammar_list grammars;
  grammars.push_back(triton::make_product_grammar());
  grammars.push_back(triton::make_row_grammar());
  grammars.push_back(triton::make_plain_grammar());
  const auto made = make_rules_generator(p, std::move(grammars), triton::assemble_triton_source);
  if (!made) FAIL(made.error().message);
  std::string all;
  for (const std::string& name : grammars_of(**made)) all += (all.empty() ? "" : " ") + name;
  return all;
}

TEST_CASE("Triton: which grammar takes which example") {
  for (const char* name : {"softmax", "layernorm", "rmsnorm", "residual_rmsnorm", "cumsum", "bucketise", "embedding_bag", "column_sum",
                           "group_quantise", "image_normalise", "masked_mean", "utility", "gemv", "max_pool", "tunable_transpose"}) {
    CAPTURE(name);
    CHECK(grammars_for(example(name)) == "row");
  }
  for (const char* name : {"matmul", "linear_gelu", "batched_matmul", "dlrm_interaction", "int8_matmul", "conv2d_bias_relu"}) {
    CAPTURE(name);
    CHECK(grammars_for(example(name)) == "product");
  }
}

TEST_CASE("Triton: every value of every decision gives a source of its own, and nothing is left to an autotuner") {
  for (const char* name : {"softmax", "column_sum", "matmul", "tunable_transpose", "int8_matmul"}) {
    CAPTURE(name);
    const auto g = rules_for(example(name));
    const assignment preferred = preferred_assignment(g->space());
    const std::string first = proposed(*g, preferred).source;
    CHECK_FALSE(has(first, "autotune"));
    for (const decision& d : g->space().decisions) {
      CAPTURE(d.name);
      CHECK_FALSE(d.meaning.empty());
      CHECK(std::is_sorted(d.values.begin(), d.values.end()));
      for (const std::int64_t value : d.values) {
        assignment chosen = preferred;
        chosen[d.name] = value;
        const proposal made = proposed(*g, chosen);
        CHECK(made.decisions == g->normalise(made.decisions));
        CHECK((made.source == first) == (made.decisions == g->normalise(preferred)));
      }
    }
  }
}

TEST_CASE("Triton: softmax word by word") {
  const std::string source = source_of(example("softmax"));
  const std::filesystem::path golden = source_folder / "tests/triton/golden/softmax.py";
  if (std::getenv("KERNSMITH_WRITE_GOLDEN") != nullptr) std::ofstream(golden) << source;
  std::ifstream file(golden);
  CHECK(source == std::string{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
}

TEST_CASE("Triton: a maximum tells of NaN unless what it goes into does") {
  const problem alone = small_problem("B=5 N=70", "in x f32[B,N]\nout y f32[B]", "y[b] = max(n: x[b,n])");
  CHECK(has(source_of(alone), "= ks_row_max("));
  CHECK_FALSE(has(source_of(example("softmax")), "= ks_row_max("));
  // The maximum itself is an output here.
  const problem both = small_problem("B=5 N=70", "in x f32[B,N]\nout m f32[B]\nout y f32[B,N]",
                                     "m[b] = max(n: x[b,n])\ns[b] = sum(n: exp(x[b,n] - m[b]))\ny[b,n] = exp(x[b,n] - m[b]) / s[b]");
  CHECK(has(source_of(both), "= ks_row_max("));
  const problem elementwise = small_problem("N=70", "in x f32[N]\nout y f32[N]", "y[n] = max(x[n], 0)");
  CHECK(has(source_of(elementwise), "propagate_nan=tl.PropagateNan.ALL"));
}

TEST_CASE("Triton: operands of products") {
  // float32 is not rounded to TF32; narrow floats go in as they are; integers are summed in 32 bits as long as those hold them.
  CHECK(has(source_of(example("matmul")), "tl.dot(left, right, total, input_precision=\"ieee\")"));
  CHECK(has(source_of(example("linear_gelu")), "left = tl.load("));
  CHECK(has(source_of(example("linear_gelu")), "OPERAND=ks_operand(tl.bfloat16)"));
  CHECK(has(source_of(example("int8_matmul")), "TOTAL=tl.int32 if K < 2**17 else tl.int64"));
  const problem mixed =
      small_problem("M=20 N=20 K=20", "in a f32[M,K]\nin b bf16[K,N]\nout c f32[M,N]", "c[m,n] = sum(k: a[m,k] * b[k,n])");
  CHECK(has(source_of(mixed), ".to(tl.float32)"));
  const problem doubles =
      small_problem("M=20 N=20 K=20", "in a f64[M,K]\nin b f64[K,N]\nout c f64[M,N]", "c[m,n] = sum(k: a[m,k] * b[k,n])");
  CHECK(has(source_of(doubles), "total = tl.zeros((BLOCK_M, BLOCK_N), tl.float64)"));
  // Beyond the end of what is summed over, exp(0) would be 1.
  const problem prologue =
      small_problem("M=20 N=20 K=20", "in a f32[M,K]\nin b f32[K,N]\nout c f32[M,N]", "c[m,n] = sum(k: exp(a[m,k]) * b[k,n])");
  CHECK(has(source_of(prologue), "tl.where(step_inside, tl.exp("));
}

TEST_CASE("Triton: no more stages than shared memory holds, no more sums and unrolled products than a lane bears") {
  const auto narrow = rules_for(example("linear_gelu"));
  assignment chosen = preferred_assignment(narrow->space());
  chosen["y.block_m"] = chosen["y.block_n"] = 256;
  chosen["y.block_k"] = 128;
  chosen["y.warps"] = 1;
  chosen["y.stages"] = 5;
  const assignment fitted = narrow->normalise(chosen);
  CHECK(fitted.at("y.stages") == 1);
  CHECK(fitted.at("y.warps") == 8);
  CHECK(fitted.at("y.block_k") == 128);
  const auto wide = rules_for(example("matmul"));
  chosen = preferred_assignment(wide->space());
  chosen["c.block_m"] = chosen["c.block_n"] = 256;
  chosen["c.block_k"] = 128;
  CHECK(wide->normalise(chosen).at("c.block_k") == 32);
  const auto rows = rules_for(example("softmax"));
  chosen = preferred_assignment(rows->space());
  chosen["y.tile"] = 16384;
  chosen["y.warps"] = 1;
  CHECK(rows->normalise(chosen).at("y.warps") == 4);
}

TEST_CASE("Triton: intermediates between groups are made once for each shape") {
  const problem p = small_problem("M=20 N=20 K=20", "in a f32[M,K]\nin b f32[K,N]\nout s f32[M]",
                                  "c[m,n] = sum(k: a[m,k] * b[k,n])\ns[m] = sum(n: exp(c[m,n]))");
  const std::string source = source_of(p);
  CHECK(has(source, "c = ks_intermediate(\"c\", (M, N), torch.float32, s.device)"));
  CHECK(has(source, "if key not in ks_kept:"));
}

TEST_CASE("Triton: names that mean something in Python") {
  const problem p = small_problem("lambda=5 BLOCK=7", "in tl f32[lambda,BLOCK]\nin index f32[BLOCK]\nout pass f32[lambda,BLOCK]",
                                  "pass[row,in] = tl[row,in] * index[in]");
  const std::string source = source_of(p);
  CHECK(has(source, "[tl_, index_] = inputs"));
  CHECK(has(source, "[pass_] = outputs"));
  CHECK_FALSE(has(source, "lambda,"));
}

TEST_CASE("Triton: positions take 64 bits where 32 don't hold them") {
  const std::string source = source_of(example("softmax"));
  CHECK(has(source, "return tl.int32 if max(sizes) < 2**30 else tl.int64"));
  CHECK(has(source, "b = tl.program_id(0).to(index)"));
}

TEST_CASE("Triton: an axis that no shape tells") {
  const std::string text = R"toml(name = "told"
[axes]
B = 4
R = 3
[inputs.x]
shape = ["B"]
dtype = "f32"
pad = 0
[outputs.y]
shape = ["B"]
dtype = "f32"
[definition]
text = "y[b] = sum(r < R: x[b + r])"
)toml";
  // One value in all workloads will do.
  CHECK(has(source_of(problem_from(text)), "R = 3"));
  const problem p = problem_from(text + "[[workloads]]\naxes = { B = 4, R = 3 }\n[[workloads]]\naxes = { B = 4, R = 2 }\n");
  const auto made = triton::make_triton_rules_generator(p);
  REQUIRE_FALSE(made);
  CHECK(has(made.error().message, "axis R stands in no shape"));
}

}  // namespace
}  // namespace kernsmith::agents::testing
