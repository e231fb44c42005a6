#include "backends/cuda/cublas_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace kernsmith::cuda {

namespace {

const expression& node_of(const statement& s, int node) {
  return s.nodes[static_cast<std::size_t>(node)];
}

/// A load by bare, distinct indices, perhaps under a cast to a wider float.
struct operand {
  int tensor = -1;
  std::vector<int> indices;
  [[nodiscard]] bool uses(int index) const { return std::find(indices.begin(), indices.end(), index) != indices.end(); }
};

std::optional<operand> plain_load(const problem& p, const statement& s, int node) {
  const expression* e = &node_of(s, node);
  if (e->kind == expression_kind::cast && is_float(e->cast_to) && size_of(e->cast_to) >= size_of(dtype::f32))
    e = &node_of(s, e->arguments[0]);
  if (e->kind != expression_kind::load) return std::nullopt;
  operand found;
  found.tensor = e->symbol;
  const tensor_declaration& t = p.tensors[static_cast<std::size_t>(e->symbol)];
  for (std::size_t d = 0; d < e->indices.size(); ++d) {
    const int index = sole_index(e->indices[d]);
    if (index < 0 || !(s.variables[static_cast<std::size_t>(index)].extent == t.shape[d]) || found.uses(index)) return std::nullopt;
    found.indices.push_back(index);
  }
  return found;
}

std::string extent(const statement& s, int variable) {
  const dim& d = s.variables[static_cast<std::size_t>(variable)].extent;
  return d.axis >= 0 ? fmt::format("ctx->axes[{}]", d.axis) : fmt::format("int64_t{{{}}}", d.constant);
}

const char* data_type(dtype type) {
  switch (type) {
    case dtype::f64:
      return "CUDA_R_64F";
    case dtype::f32:
      return "CUDA_R_32F";
    case dtype::f16:
      return "CUDA_R_16F";
    case dtype::bf16:
      return "CUDA_R_16BF";
    default:
      return nullptr;
  }
}

}  // namespace

result<std::string> cublas_source(const problem& p) {
  const auto refuse = [&] {
    return fail(
        fault::bad_request,
        fmt::format("{}: builtin = \"cublas\" serves a definition that is one product c[m,n] = sum(k: a[m,k] * b[k,n]) in any "
                    "transposition, perhaps with a leading batch index, in f64, f32, f16 or bf16; use builtin = \"naive\" or give a source",
                    p.path.string()));
  };
  if (p.statements.size() != 1 || p.outputs().size() != 1) return refuse();
  const statement& s = p.statements[0];
  const expression& sum = node_of(s, s.root);
  if (sum.kind != expression_kind::reduce || sum.reducer != reduction::sum || sum.bound.size() != 1) return refuse();
  const expression& times = node_of(s, sum.arguments[0]);
  if (times.kind != expression_kind::call || times.op != operation::multiply) return refuse();
  auto a = plain_load(p, s, times.arguments[0]), b = plain_load(p, s, times.arguments[1]);
  if (!a || !b) return refuse();
  const std::vector<int>& target = s.target_indices;
  const bool batched = target.size() == 3;
  if (target.size() != 2 && !batched) return refuse();
  const int m = target[target.size() - 2], n = target.back(), k = sum.bound[0];
  if (!a->uses(m)) std::swap(a, b);
  const std::size_t rank = target.size();
  const auto fits = [&](const operand& o, int own) {
    return o.indices.size() == rank && o.uses(own) && o.uses(k) && (!batched || o.indices[0] == target[0]);
  };
  if (!fits(*a, m) || !fits(*b, n)) return refuse();
  const auto& declared = [&](int tensor) -> const tensor_declaration& { return p.tensors[static_cast<std::size_t>(tensor)]; };
  const dtype in = declared(a->tensor).type, out = declared(s.target).type;
  if (declared(b->tensor).type != in || declared(a->tensor).role != tensor_role::input || declared(b->tensor).role != tensor_role::input)
    return refuse();
  if (data_type(in) == nullptr || (out != in && out != dtype::f32) || (in == dtype::f64 && out != in)) return refuse();
  // cuBLAS counts columns first: the row-major product c = a b is c' = b' a' there.
  const bool a_turned = a->indices[rank - 2] == k, b_turned = b->indices[rank - 1] == k;
  const auto leading = [&](const operand& o) { return extent(s, o.indices.back()); };
  return fmt::format(
      "// cuBLAS baseline of '{0}': {1}\n"
      "#include \"kernsmith_kernel.h\"\n#include <cublas_v2.h>\n\n"
      "extern \"C\" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {{\n"
      "  static cublasHandle_t handle = nullptr;\n"
      "  if (handle == nullptr && cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 1;\n"
      "  cublasSetStream(handle, static_cast<cudaStream_t>(ctx->stream));\n"
      "  cublasSetWorkspace(handle, ctx->workspace, ctx->workspace_bytes);\n"
      "  const int64_t m = {2}, n = {3}, k = {4}, batch = {5};\n"
      "  const {6} one = 1, zero = 0;\n"
      "  return cublasGemmStridedBatchedEx_64(handle, {7}, {8}, n, m, k, &one, in[{9}].data, {10}, {11}, n * k, in[{12}].data, {10}, {13}, "
      "m * k, "
      "&zero, out[0].data, {14}, n, m * n, batch, {15}, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS ? 0 : 2;\n}}\n",
      p.name, s.text, extent(s, m), extent(s, n), extent(s, k), batched ? extent(s, target[0]) : "1", in == dtype::f64 ? "double" : "float",
      b_turned ? "CUBLAS_OP_T" : "CUBLAS_OP_N", a_turned ? "CUBLAS_OP_T" : "CUBLAS_OP_N", b->tensor, data_type(in), leading(*b), a->tensor,
      leading(*a), data_type(out), in == dtype::f64 ? "CUBLAS_COMPUTE_64F" : "CUBLAS_COMPUTE_32F");
}

}  // namespace kernsmith::cuda
