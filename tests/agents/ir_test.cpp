#include "agents/synthesis/ir.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "agents/synthesis/expression_tools.hpp"
#include "agents/synthesis/prelude.hpp"
#include "support.hpp"

namespace kernsmith::agents::testing {
namespace {

tensor_ir lowered(const problem& p) {
  result<tensor_ir> ir = lower(p);
  if (!ir) FAIL(ir.error().message);
  return std::move(*ir);
}

std::vector<std::string> texts(const tensor_ir& ir) {
  std::vector<std::string> all;
  for (const statement& s : ir.statements) all.push_back(statement_text(ir.axes, ir.tensors, s));
  return all;
}

const tensor_declaration& tensor(const tensor_ir& ir, const std::string& name) {
  const auto found = std::find_if(ir.tensors.begin(), ir.tensors.end(), [&](const tensor_declaration& t) { return t.name == name; });
  REQUIRE(found != ir.tensors.end());
  return *found;
}

constexpr const char* matrix = "in x f32[B,N]\nout y f32[B,N]\n";

TEST_CASE("statements whose reductions are roots stay as they are") {
  const tensor_ir ir = lowered(small_problem("B=4 N=8", matrix, "m[b] = max(n: x[b,n])\ny[b,n] = x[b,n] - m[b]"));
  CHECK(texts(ir) == std::vector<std::string>{"m[b] = max(n: x[b,n])", "y[b,n] = x[b,n] - m[b]"});
  CHECK(ir.classes == std::vector<op_class>{op_class::reduction, op_class::map});
  CHECK(ir.workloads.size() == 1);
}

TEST_CASE("nested reductions become statements, equal ones once") {
  const tensor_ir ir =
      lowered(small_problem("B=4 N=8", matrix, "y[b,n] = exp(x[b,n] - max(k: x[b,k])) / sum(i: exp(x[b,i] - max(j: x[b,j])))"));
  CHECK(texts(ir) == std::vector<std::string>{"y_r0[b] = max(k: x[b,k])", "y_r1[b] = sum(i: exp(x[b,i] - y_r0[b]))",
                                              "y[b,n] = exp(x[b,n] - y_r0[b]) / y_r1[b]"});
  CHECK(tensor(ir, "y_r0").role == tensor_role::intermediate);
  CHECK(tensor(ir, "y_r0").type == dtype::f32);
  CHECK(tensor(ir, "y_r0").shape == std::vector<dim>{dim{0, 0}});
  for (const statement& s : ir.statements) {
    for (std::size_t i = 0; i < s.target_indices.size(); ++i) CHECK(s.target_indices[i] == static_cast<int>(i));
    for (const index_variable& v : s.variables)
      CHECK(v.free == std::any_of(s.target_indices.begin(), s.target_indices.end(),
                                  [&](int id) { return &s.variables[static_cast<std::size_t>(id)] == &v; }));
  }
}

TEST_CASE("arithmetic on sizes is literal or real, so that lanes can hold it") {
  const tensor_ir ir = lowered(small_problem("B=4 N=8", "in x f32[B,N]\nout y f32[B]\nout z f32[B]",
                                             "y[b] = sum(n: x[b,n]) / (2 * (3 + 4))\nz[b] = sum(n: x[b,n]) / (B * N)"));
  CHECK(texts(ir)[1] == "y[b] = y_r0[b] / 14");
  const statement& z = ir.statements.back();
  for (const expression& e : z.nodes)
    if (e.kind == expression_kind::call) CHECK(e.type == value_class::real);
}

TEST_CASE("a reduction inside a reduction keeps the outer index as a dimension") {
  const tensor_ir ir = lowered(small_problem("B=4 N=8 K=3", "in x f32[B,N,K]\nout y f32[B]", "y[b] = sum(n: max(k: x[b,n,k]))"));
  CHECK(texts(ir) == std::vector<std::string>{"y_r0[b,n] = max(k: x[b,n,k])", "y[b] = sum(n: y_r0[b,n])"});
}

TEST_CASE("scans are hoisted with their index") {
  const tensor_ir ir = lowered(small_problem("B=4 N=8", matrix, "y[b,n] = 2 * cumsum(n: x[b,n])"));
  CHECK(texts(ir) == std::vector<std::string>{"y_r0[b,n] = cumsum(n: x[b,n])", "y[b,n] = 2 * y_r0[b,n]"});
  CHECK(ir.classes[0] == op_class::scan);
}

TEST_CASE("intermediates without a declared dtype lose nothing") {
  const tensor_ir ir = lowered(small_problem(
      "B=4 N=8", "in h bf16[B,N]\nin d f64[B]\nin q i8[B,N]\nin p i64[B]\nout y f64[B]\nmid kept bf16[B]",
      "a[b] = sum(n: h[b,n])\nkept[b] = sum(n: h[b,n] * 2)\ne[b] = d[b] * 2\ntop[b] = max(n: q[b,n])\n"
      "total[b] = sum(n: q[b,n])\nfirst[b] = argmax(n: q[b,n])\nhot[b] = any(n: q[b,n] > 3)\nc[b] = top[b] * 3 + 1\nbig[b] = p[b] + 1\n"
      "y[b] = a[b] + kept[b] + e[b] + c[b] + total[b] + first[b] + select(hot[b], 1, 0) + big[b]"));
  CHECK(tensor(ir, "a").type == dtype::f32);
  CHECK(tensor(ir, "kept").type == dtype::bf16);
  CHECK(tensor(ir, "e").type == dtype::f64);
  CHECK(tensor(ir, "top").type == dtype::i32);
  CHECK(tensor(ir, "total").type == dtype::i64);  // N may be anything
  CHECK(tensor(ir, "first").type == dtype::i64);
  CHECK(tensor(ir, "hot").type == dtype::boolean);
  CHECK(tensor(ir, "big").type == dtype::i64);
}

TEST_CASE("classes") {
  const auto class_of = [](const std::string& tensors, const std::string& text) {
    return lowered(small_problem("B=4 M=8 N=8 K=3", tensors, text)).classes.back();
  };
  CHECK(class_of("in a f32[M,K]\nin b f32[K,N]\nout y f32[M,N]", "y[m,n] = sum(k: a[m,k] * b[k,n])") == op_class::contraction);
  CHECK(class_of("in a f32[M,K]\nin b f32[N,K]\nin s f32[K]\nout y f32[M,N]", "y[m,n] = sum(k: a[m,k] * s[k] * b[n,k])") ==
        op_class::contraction);
  CHECK(class_of("in a f32[B,M,K]\nin b f32[B,K,N]\nout y f32[B,M,N]", "y[z,m,n] = sum(k: a[z,m,k] * b[z,k,n])") == op_class::contraction);
  CHECK(class_of("in a i8[M,K]\nin b i8[K,N]\nout y i32[M,N]", "y[m,n] = sum(k: i32(a[m,k]) * i32(b[k,n]))") == op_class::contraction);
  CHECK(class_of("in a f32[M,K]\nin b f32[K]\nout y f32[M]", "y[m] = sum(k: a[m,k] * b[k])") == op_class::contraction);
  CHECK(class_of("in a f32[M,K]\nout y f32[M]", "y[m] = sum(k: a[m,k] * a[m,k])") == op_class::reduction);
  CHECK(class_of("in a f32[M,K]\nin s f32[M]\nout y f32[M]", "y[m] = sum(k: a[m,k] * s[m])") == op_class::reduction);
  CHECK(class_of("in a f32[M,K]\nin b f32[N,K]\nout y f32[M,N]", "y[m,n] = max(k: a[m,k] * b[n,k])") == op_class::reduction);
  CHECK(class_of("in a f32[M] pad = 0.0\nin w f32[K]\nout y f32[M]", "y[m] = sum(k: w[k] * a[m - k])") == op_class::window);
  CHECK(class_of("in a f32[M] pad = 0.0\nout y f32[M]", "y[m] = max(k < K: a[2 * m + k])") == op_class::window);
  CHECK(class_of("in a f32[M,K]\nin at i32[B]\nout y f32[B,K]", "y[i,k] = a[at[i], k]") == op_class::map);
  CHECK(class_of("in a f32[M,K]\nin at i32[B,N]\nout y f32[B,K]", "y[i,k] = sum(n: a[at[i,n], k])") == op_class::reduction);
}

TEST_CASE("names are made safe and distinct, the same variable keeps one name") {
  const tensor_ir ir = lowered(
      small_problem("float=4 N=8", "in class f32[float,N]\nout y f32[float]", "t[int,n] = class[int,n] * 2\ny[int] = sum(n: t[int,n])"));
  std::vector<std::string> names;
  for (const axis& a : ir.axes) names.push_back(a.name);
  for (const tensor_declaration& t : ir.tensors) names.push_back(t.name);
  for (const std::string& name : names) CHECK(emitted_name(name) == name);
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
  CHECK(ir.statements[0].variables[0].name == ir.statements[1].variables[0].name);
  CHECK(ir.statements[0].variables[0].name != "int");
}

TEST_CASE("producers and consumers") {
  const tensor_ir ir = lowered(small_problem("B=4 N=8", matrix, "m[b] = max(n: x[b,n])\ny[b,n] = x[b,n] - m[b]"));
  CHECK(ir.producer(0) == -1);
  CHECK(ir.consumers(0) == std::vector<int>{0, 1});
  CHECK(ir.producer(ir.statements[0].target) == 0);
  CHECK(ir.consumers(ir.statements[0].target) == std::vector<int>{1});
}

TEST_CASE("a problem without a definition is refused") {
  problem p;
  p.name = "opaque";
  const result<tensor_ir> ir = lower(p);
  REQUIRE_FALSE(ir.has_value());
  CHECK(ir.error().kind == fault::bad_request);
  CHECK(ir.error().message.find("opaque") != std::string::npos);
}

TEST_CASE("the same program after lowering") {
  // What lower() gives, read back as a problem, computes what the original does.
  const problem p = small_problem(
      "B=4 N=8", matrix, "y[b,n] = (x[b,n] - sum(k: x[b,k]) / N) * rsqrt(sum(k: pow(x[b,k] - sum(j: x[b,j]) / N, 2)) / N + 0.001)");
  const auto g = generator_with(p, nullptr);
  CHECK(g->groups().ir.statements.size() == 3);
  check_generator(p, *g, {{4, 8}}, 0);
}

}  // namespace
}  // namespace kernsmith::agents::testing
