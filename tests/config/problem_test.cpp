// Whole problem files: what they become.
#include "config/problem.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/config/draft.hpp"
#include "tests/config/folder.hpp"

using namespace kernsmith;
using namespace kernsmith::test;

namespace {

const std::string softmax = R"(name = "softmax"
[axes]
B = 4096
N = 1024
[inputs.x]
shape = ["B", "N"]
dtype = "f32"
init = { kind = "normal", mean = 0.0, std = 1.0 }
[outputs.y]
shape = ["B", "N"]
dtype = "f32"
[definition]
text = """
m[b]   = max(n: x[b,n])
e[b,n] = exp(x[b,n] - m[b])
s[b]   = sum(n: e[b,n])
y[b,n] = e[b,n] / s[b]
"""
[compare]
mode = "allclose"
atol = 1e-6
rtol = 1e-5
[precision]
lowest = "f32"            # nothing below this inside the kernel
[objective]
metric = "p99"
[[workloads]]
axes = { B = 4096, N = 1024 }
weight = 2.5
[[workloads]]
axes = { N = 50257 }
)";

const tensor_declaration& tensor(const problem& p, const std::string& name) {
  const auto found = std::find_if(p.tensors.begin(), p.tensors.end(), [&](const tensor_declaration& t) { return t.name == name; });
  REQUIRE(found != p.tensors.end());
  return *found;
}

}  // namespace

TEST_CASE("the example of the interface") {
  const problem p = parsed(softmax);
  CHECK(p.name == "softmax");
  CHECK(p.hash.size() == 32);
  REQUIRE(p.axes.size() == 2);
  CHECK(p.axes[0].name == "B");
  CHECK(p.axes[1].extent == 1024);
  REQUIRE(p.tensors.size() == 5);
  CHECK(p.inputs() == std::vector<int>{0});
  CHECK(p.outputs() == std::vector<int>{1});
  CHECK(p.tensors[3].name == "e");
  CHECK(p.tensors[3].role == tensor_role::intermediate);
  CHECK(shape_of(p.tensors[3], p.workloads[1].axes) == std::vector<std::int64_t>{4096, 50257});
  CHECK(p.tensors[2].shape.size() == 1);
  REQUIRE(p.workloads.size() == 2);
  CHECK(p.workloads[0].weight == 2.5);
  CHECK(p.workloads[1].weight == 1);
  CHECK(p.workloads[1].axes == std::vector<std::int64_t>{4096, 50257});
  CHECK(p.objective == metric::p99);
  CHECK(p.compare.written);
  CHECK(p.compare.atol == 1e-6);
  REQUIRE(p.baselines.size() == 1);
  CHECK(p.baselines[0].builtin == "naive");
  REQUIRE(p.statements.size() == 4);
  const statement& e = p.statements[1];
  CHECK(e.text == "e[b,n] = exp(x[b,n] - m[b])");
  CHECK(e.place.line == 15);
  REQUIRE(e.variables.size() == 2);
  CHECK(e.variables[1].name == "n");
  CHECK(e.variables[1].free);
  CHECK(e.variables[1].extent.axis == 1);
  CHECK_FALSE(p.statements[0].variables[1].free);
}

TEST_CASE("trees: children stand before parents, affine positions are normal") {
  const problem p =
      parsed(draft("N = 8\nM = 3", {{"x", "N", "f32", "pad = 0"}}, {{"y", "M", "f32", ""}}, "y[i] = x[2*i + M - i - 1 - M + M*i]"));
  const statement& s = p.statements[0];
  const expression& load = s.nodes[static_cast<std::size_t>(s.root)];
  REQUIRE(load.kind == expression_kind::load);
  const index_expression& at = load.indices[0];
  CHECK(at.is_affine);
  CHECK(at.constant == -1);
  REQUIRE(at.terms.size() == 2);
  CHECK(at.terms[0] == affine_term{1, {}, 0});
  CHECK(at.terms[1] == affine_term{1, {1}, 0});
  CHECK(sole_index(at) == -1);
  const problem q = parsed(draft("N = 8", {{"x", "N", "f32", ""}, {"k", "N", "i32", ""}}, {{"y", "N", "f32", ""}},
                                 "y[i] = x[k[i]] * sum(j: x[j]) + sum(j: x[j])"));
  const statement& t = q.statements[0];
  for (std::size_t n = 0; n < t.nodes.size(); ++n) {
    for (const int child : t.nodes[n].arguments) CHECK(child < static_cast<int>(n));
    for (const index_expression& i : t.nodes[n].indices) CHECK(i.gather < static_cast<int>(n));
  }
  CHECK(t.root == static_cast<int>(t.nodes.size()) - 1);
  REQUIRE(t.variables.size() == 3);
  CHECK(t.variables[1].name == "j");
  CHECK(t.variables[2].name == "j_2");
  CHECK(sole_index(t.nodes[0].indices[0]) == 0);
}

TEST_CASE("a sum says nothing about ranges: the first elements of a dimension") {
  const problem p = parsed(draft("N = 8", {{"x", "N", "f32", ""}}, {{"y", "3", "f32", ""}}, "y[i] = x[i + 0]"));
  const statement& s = p.statements[0];
  const index_expression& at = s.nodes[static_cast<std::size_t>(s.root)].indices[0];
  CHECK(at.partial);
  CHECK(sole_index(at) == -1);
  CHECK(s.variables[0].extent.constant == 3);
  // Where the index ranges over the whole dimension after all it is the same as standing alone.
  const problem whole = parsed(draft("N = 8", {{"x", "N", "f32", ""}}, {{"y", "N", "f32", ""}}, "y[i] = x[0 + i]"));
  const problem plain = parsed(draft("N = 8", {{"x", "N", "f32", ""}}, {{"y", "N", "f32", ""}}, "y[i] = x[i]"));
  CHECK(sole_index(whole.statements[0].nodes[static_cast<std::size_t>(whole.statements[0].root)].indices[0]) == 0);
  CHECK(whole.hash == plain.hash);
  CHECK_FALSE(parse_problem(draft("N = 2", {{"x", "N", "f32", ""}}, {{"y", "3", "f32", ""}}, "y[i] = x[i + 0]"), "draft.toml").has_value());
}

TEST_CASE("dtypes of undeclared intermediates") {
  const auto type_of = [](const std::string& expression, const std::string& more = "") {
    const problem p = parsed(
        draft("N = 4", {{"h", "N", "f16", ""}, {"b", "N", "bf16", ""}, {"d", "N", "f64", ""}, {"c", "N", "i8", ""}, {"l", "N", "i64", ""}},
              {{"y", "N", "f32", ""}}, "t[i] = " + expression + "\ny[i] = t[i] + 0.0", more));
    return tensor(p, "t").type;
  };
  CHECK(type_of("h[i] * 2") == dtype::f32);  // nothing below f32 unless the precision contract allows it
  CHECK(type_of("h[i] * 2", "[precision]\nlowest = \"bf16\"\n") == dtype::f16);
  CHECK(type_of("h[i] * b[i]", "[precision]\nlowest = \"bf16\"\n") == dtype::f32);
  CHECK(type_of("h[i] + d[i]") == dtype::f64);
  CHECK(type_of("f32(d[i])") == dtype::f32);
  CHECK(type_of("c[i] * c[i]") == dtype::i32);
  CHECK(type_of("c[i] + l[i]") == dtype::i64);
  CHECK(type_of("argmax(j: h[j] * h[i])") == dtype::i64);
  CHECK(type_of("h[i] > 1") == dtype::boolean);
  CHECK(type_of("exp(1.0*c[i])") == dtype::f32);
  CHECK(type_of("d[i]", "[intermediates.t]\ndtype = \"f8e4m3\"\n") == dtype::f8e4m3);
}

TEST_CASE("defaults: inits, precision, comparison, workloads") {
  const problem p =
      parsed(draft("V = 100\nB = 4",
                   {{"table", "V", "f32", ""}, {"id", "B", "i64", ""}, {"k", "B", "i32", ""}, {"u", "B", "u8", ""}, {"f", "B", "bool", ""}},
                   {{"y", "B", "f32", ""}}, "y[b] = table[id[b]] * (k[b] + u[b] + f[b])"));
  CHECK(tensor(p, "table").init.which == init_spec::kind::normal);
  CHECK(tensor(p, "table").init.is_default);
  REQUIRE(tensor(p, "id").index_limits.size() == 1);
  CHECK(tensor(p, "id").index_limits[0].axis == 0);
  CHECK(tensor(p, "id").init.which == init_spec::kind::integers);
  CHECK(tensor(p, "id").init.hi == 99);
  CHECK(tensor(p, "k").init.lo == -128);
  CHECK(tensor(p, "u").init.hi == 255);
  CHECK(tensor(p, "f").init.hi == 1);
  CHECK(p.workloads.size() == 1);
  CHECK_FALSE(p.compare.written);
  CHECK(p.precision.lowest == dtype::f32);
  const problem wide = parsed(draft("N = 4", {{"x", "N", "f64", ""}}, {{"y", "N", "f64", ""}}, "y[i] = x[i]"));
  CHECK(wide.precision.lowest == dtype::f64);
  CHECK(wide.compare.rtol == 1e-10);
  const problem exact = parsed(draft("N = 4", {{"x", "N", "i32", ""}}, {{"y", "N", "i32", ""}}, "y[i] = x[i]"));
  CHECK(exact.compare.mode == compare_mode::bitwise);
}

TEST_CASE("every init kind") {
  const folder files;
  files.write("x.bin", std::string(16, '\0'));
  const auto init_of = [&](const std::string& init, const std::string& dtype = "f32") {
    const std::string text = draft("N = 4", {{"x", "N", dtype, "init = " + init}}, {{"y", "N", dtype, ""}}, "y[i] = x[i]");
    auto p = parse_problem(text, files.path() / "draft.toml");
    REQUIRE_MESSAGE(p.has_value(), (p ? std::string() : p.error().message));
    return p->tensors[0].init;
  };
  CHECK(init_of("{ kind = 'normal', mean = 2, std = 0.5 }").mean == 2);
  CHECK(init_of("{ kind = 'uniform', lo = -1, hi = 3 }").hi == 3);
  CHECK(init_of("{ kind = 'integers', lo = 1, hi = 6 }", "i8").lo == 1);
  CHECK(init_of("{ kind = 'zipf', alpha = 1.2, n = 50 }", "i32").n == 50);
  CHECK(init_of("{ kind = 'constant', value = 3 }", "i32").value == 3);
  CHECK(init_of("{ kind = 'constant', value = true }", "bool").value == 1);
  CHECK(init_of("{ kind = 'arange', start = 5, step = -1 }", "i32").step == -1);
  const init_spec sorted = init_of("{ kind = 'sorted', of = { kind = 'uniform', lo = 0, hi = 1 } }");
  REQUIRE(sorted.of.size() == 1);
  CHECK(sorted.of[0].which == init_spec::kind::uniform);
  CHECK(init_of("{ kind = 'file', path = 'x.bin' }").file == std::filesystem::absolute(files.path() / "x.bin"));
}

TEST_CASE("sources: reference, baselines in file order, both forms of seed kernels") {
  const folder files;
  files.write("ref.cpp", "void launch();\n");
  files.write("fast.py", "def launch(): pass\n");
  const std::string head =
      "name = \"p\"\n[axes]\nN = 4\n" + section("inputs", {"x", "N", "f32", ""}) + section("outputs", {"y", "N", "f32", ""});
  auto p = parse_problem(head +
                             "[reference]\nlanguage = \"cpp\"\nsource = \"ref.cpp\"\n[seed_kernels]\nplain = "
                             "\"ref.cpp\"\n[seed_kernels.tuned]\nsource = \"fast.py\"\n",
                         files.path() / "p.toml");
  REQUIRE_MESSAGE(p.has_value(), (p ? std::string() : p.error().message));
  CHECK(p->statements.empty());
  REQUIRE(p->reference);
  CHECK(p->reference->text == "void launch();\n");
  REQUIRE(p->baselines.size() == 1);
  CHECK(p->baselines[0].source->text == p->reference->text);  // no definition to make a naive kernel from: the reference as shipped
  REQUIRE(p->seed_kernels.size() == 2);
  CHECK(p->seed_kernels[1].name == "tuned");
  CHECK(p->seed_kernels[1].language == "python");
  auto q = parse_problem(
      head + "[definition]\ntext = 'y[i] = x[i]'\n[baselines.vendor]\nbuiltin = \"openblas\"\n[baselines.a-mine]\nsource = \"ref.cpp\"\n",
      files.path() / "p.toml");
  REQUIRE_MESSAGE(q.has_value(), (q ? std::string() : q.error().message));
  REQUIRE(q->baselines.size() == 2);
  CHECK(q->baselines[0].builtin == "openblas");
  CHECK(q->baselines[1].name == "a-mine");
}

TEST_CASE("default tolerances follow the rounding that a definition brings") {
  const auto matmul = [](std::int64_t k, const std::string& dtype, const std::string& more = "") {
    return parsed(draft("M = 4\nN = 4\nK = " + std::to_string(k), {{"a", "M, K", dtype, ""}, {"b", "K, N", dtype, ""}},
                        {{"c", "M, N", dtype, ""}}, "c[m,n] = sum(k: a[m,k] * b[k,n])", more));
  };
  const double small = matmul(4, "f32").compare.atol;
  const double large = matmul(2048, "f32").compare.atol;
  CHECK(small >= 1e-6);
  CHECK(large > 1e-4);
  CHECK(large < 1e-3);
  CHECK(matmul(2048, "f64").compare.atol < 1e-11);
  CHECK(matmul(2048, "f32", "[compare]\natol = 1e-7\n").compare.atol == 1e-7);
  // Divided by their sum, exponentials are small: the tolerance must not grow with the row.
  const problem p = parsed(softmax.substr(0, softmax.find("[compare]")));
  CHECK(p.compare.atol <= 2e-6);
  for (const dtype type : {dtype::i64, dtype::i8, dtype::boolean}) CHECK(default_compare(type).mode == compare_mode::bitwise);
  CHECK(default_compare(dtype::bf16).rtol > default_compare(dtype::f16).rtol);
}

TEST_CASE("check_distinct names both files") {
  const problem a = parsed(softmax);
  problem b = a;
  b.path = "other.toml";
  CHECK(check_distinct({a}).has_value());
  const auto refused = check_distinct({a, b});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message ==
        "other.toml: the problem is called 'softmax', as is the one in draft.toml; give one of them another name");
}

TEST_CASE("shipped examples load") {
  std::size_t examined = 0;
  const std::filesystem::path examples = std::filesystem::path(KERNSMITH_SOURCE_DIR) / "docs/examples";
  if (!std::filesystem::exists(examples)) return;
  for (const auto& entry : std::filesystem::directory_iterator(examples)) {
    if (entry.path().extension() != ".toml") continue;
    const auto p = load_problem(entry.path());
    CHECK_MESSAGE(p.has_value(), (p ? std::string() : p.error().message));
    ++examined;
  }
  CHECK(examined > 0);
}
