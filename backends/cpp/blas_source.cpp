#include "backends/cpp/blas_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace kernsmith::cpp {

namespace {

const expression& node_of(const statement& s, int node) {
  return s.nodes[static_cast<std::size_t>(node)];
}

/// A load by bare, distinct indices.
struct operand {
  int tensor = -1;
  std::vector<int> indices;
};

std::optional<operand> plain_load(const problem& p, const statement& s, int node) {
  const expression& e = node_of(s, node);
  if (e.kind != expression_kind::load) return std::nullopt;
  operand found;
  found.tensor = e.symbol;
  const tensor_declaration& t = p.tensors[static_cast<std::size_t>(e.symbol)];
  for (std::size_t d = 0; d < e.indices.size(); ++d) {
    const int index = sole_index(e.indices[d]);
    if (index < 0 || !(s.variables[static_cast<std::size_t>(index)].extent == t.shape[d])) return std::nullopt;
    if (std::find(found.indices.begin(), found.indices.end(), index) != found.indices.end()) return std::nullopt;
    found.indices.push_back(index);
  }
  return found;
}

std::string extent(const dim& d) {
  return d.axis >= 0 ? fmt::format("ctx->axes[{}]", d.axis) : fmt::format("{}", d.constant);
}

/// The two factors of a sum of products, and its parts.
struct product {
  operand a, b;
  int summed = -1;
};

std::optional<product> as_product(const problem& p, const statement& s) {
  const expression& sum = node_of(s, s.root);
  if (sum.kind != expression_kind::reduce || sum.reducer != reduction::sum || sum.bound.size() != 1) return std::nullopt;
  const expression& times = node_of(s, sum.arguments[0]);
  if (times.kind != expression_kind::call || times.op != operation::multiply) return std::nullopt;
  const auto a = plain_load(p, s, times.arguments[0]), b = plain_load(p, s, times.arguments[1]);
  if (!a || !b) return std::nullopt;
  return product{*a, *b, sum.bound[0]};
}

bool uses(const operand& o, int index) {
  return std::find(o.indices.begin(), o.indices.end(), index) != o.indices.end();
}

std::optional<std::string> call_text(const statement& s, product found, const char* letter, const std::string& type) {
  const auto position = [&](int tensor) {  // inputs stand in file order before everything else
    return fmt::format("static_cast<const {}*>(in[{}].data)", type, tensor);
  };
  const auto size = [&](int index) { return extent(s.variables[static_cast<std::size_t>(index)].extent); };
  const std::string out = fmt::format("static_cast<{}*>(out[0].data)", type);
  if (s.target_indices.size() == 2) {
    const int m = s.target_indices[0], n = s.target_indices[1];
    if (!uses(found.a, m)) std::swap(found.a, found.b);
    if (found.a.indices.size() != 2 || found.b.indices.size() != 2 || !uses(found.a, m) || !uses(found.b, n)) return std::nullopt;
    if (!uses(found.a, found.summed) || !uses(found.b, found.summed)) return std::nullopt;
    const bool a_turned = found.a.indices[0] == found.summed, b_turned = found.b.indices[1] == found.summed;
    return fmt::format("  cblas_{}gemm(101, {}, {}, {}, {}, {}, 1, {}, {}, {}, {}, 0, {}, {});\n", letter, a_turned ? 112 : 111,
                       b_turned ? 112 : 111, size(m), size(n), size(found.summed), position(found.a.tensor), size(found.a.indices[1]),
                       position(found.b.tensor), size(found.b.indices[1]), out, size(n));
  }
  if (s.target_indices.size() == 1) {
    const int m = s.target_indices[0];
    if (!uses(found.a, m)) std::swap(found.a, found.b);
    if (found.a.indices.size() != 2 || found.b.indices.size() != 1 || !uses(found.a, m) || !uses(found.a, found.summed))
      return std::nullopt;
    if (found.b.indices[0] != found.summed) return std::nullopt;
    const bool turned = found.a.indices[0] == found.summed;
    return fmt::format("  cblas_{}gemv(101, {}, {}, {}, 1, {}, {}, {}, 1, 0, {}, 1);\n", letter, turned ? 112 : 111,
                       size(found.a.indices[0]), size(found.a.indices[1]), position(found.a.tensor), size(found.a.indices[1]),
                       position(found.b.tensor), out);
  }
  return std::nullopt;
}

}  // namespace

result<std::string> blas_source(const problem& p) {
  const auto refuse = [&] {
    return fail(
        fault::bad_request,
        fmt::format(
            "{}: builtin = \"openblas\" serves a definition that is one product c[m,n] = sum(k: a[m,k] * b[k,n]) in any transposition, or "
            "y[m] = sum(k: a[m,k] * x[k]), all in f32 or all in f64; use builtin = \"naive\" or give a source for this one",
            p.path.string()));
  };
  if (p.statements.size() != 1 || p.outputs().size() != 1) return refuse();
  const statement& s = p.statements[0];
  const auto found = as_product(p, s);
  if (!found) return refuse();
  const dtype type = p.tensors[static_cast<std::size_t>(s.target)].type;
  if (type != dtype::f32 && type != dtype::f64) return refuse();
  for (const int tensor : {found->a.tensor, found->b.tensor}) {
    const tensor_declaration& t = p.tensors[static_cast<std::size_t>(tensor)];
    if (t.type != type || t.role != tensor_role::input) return refuse();
  }
  const std::string element = type == dtype::f32 ? "float" : "double";
  const char* letter = type == dtype::f32 ? "s" : "d";
  const auto call = call_text(s, *found, letter, element);
  if (!call) return refuse();
  // Declared here, not included, so that only the library itself has to be there. 101: row-major; 111, 112: as it lies, transposed.
  return fmt::format(
      "// OpenBLAS baseline of '{0}': {1}\n"
      "#include \"kernsmith_kernel.h\"\n\n"
      "extern \"C\" {{\n"
      "void cblas_{2}gemm(int, int, int, int, int, int, {3}, const {3}*, int, const {3}*, int, {3}, {3}*, int);\n"
      "void cblas_{2}gemv(int, int, int, int, {3}, const {3}*, int, const {3}*, int, {3}, {3}*, int);\n"
      "}}\n\n"
      "extern \"C\" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {{\n"
      "  (void)ctx;\n{4}"
      "  return 0;\n}}\n",
      p.name, s.text, letter, element, *call);
}

}  // namespace kernsmith::cpp
