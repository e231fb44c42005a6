// The host's part of an emitted matrix product.
#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/simt/gemm_view.hpp"

namespace kernsmith::agents::simt {

/// Can a plain operand be copied from where it lies? C++ over t's axes.
std::string host_writer::readable(const gemm_operand& o) const {
  std::string text;
  std::vector<int> variables = o.batch;
  variables.push_back(outer(o));
  for (const int variable : variables)
    text += fmt::format("{}({}) % {} == 0", text.empty() ? "" : " && ", o.at.stride(variable).text(ir_), plan_.row_unit());
  return text;
}

std::string host_writer::layout() const {
  std::string text =
      "\n// Device memory beside the tensors: operands that can't be copied from where they lie, sums of parts, a flag.\n"
      "struct memory_layout {\n"
      "  bool left_packed, right_packed;\n"
      "  int64_t left_stride, right_stride, left_chunks, right_chunks;  // elements of a packed row; pieces of 8 elements of one plane\n"
      "  size_t right_at, partial_at, " +
      std::string(s_.stream ? "flags_at, " : "") +
      "unusual_at, bytes;\n};\n"
      "static memory_layout layout_of(const axis_values& t) {\n  memory_layout l;\n";
  const int unit = depth_unit();
  for (const gemm_operand* o : {&plan_.left, &plan_.right}) {
    if (plan_.flat) {
      text += flat_layout(*o);
      continue;
    }
    const std::string side = this->side(*o);
    text += fmt::format("  l.{}_packed = {};\n", side, o->plain ? "!(" + readable(*o) + ")" : "true");
    text += fmt::format("  l.{0}_stride = ({1} + {3}) / {4} * {4};\n  l.{0}_chunks = l.{0}_packed ? l.{0}_stride / 8 * ({2})", side,
                        "(" + extent(inner(*o)) + ")", extent(outer(*o)), unit - 1, unit);
    for (const int b : o->batch) text += fmt::format(" * ({})", extent(b));
    text += " : 0;\n";
  }
  text += "  const auto whole = [](size_t bytes) { return (bytes + 255) & ~size_t(255); };\n";
  text += "  l.right_at = whole(size_t(LEFT_PLANES * l.left_chunks) * 8 * ELEMENT_BYTES);\n";
  text += "  l.partial_at = l.right_at + whole(size_t(RIGHT_PLANES * l.right_chunks) * 8 * ELEMENT_BYTES);\n";
  const std::string partial = fmt::format("whole(SPLITS * sizeof(sum_type) * size_t({}))", elements());
  if (s_.stream) {
    text += "  l.flags_at = l.partial_at + whole(size_t(ks_multiprocessors()) * TILE_M * TILE_N * sizeof(sum_type));\n";
    text += "  l.unusual_at = l.flags_at + whole(size_t(ks_multiprocessors()) * CONSUMERS * 4 * sizeof(int));\n";
  } else {
    text += fmt::format("  l.unusual_at = l.partial_at{};\n", s_.splits > 1 ? " + " + partial : "");
  }
  return text + "  l.bytes = l.unusual_at + 256;\n  return l;\n}\n";
}

std::string host_writer::pack_call(const gemm_operand& o) const {
  const std::string side = this->side(o);
  const std::string at = side == "left" ? "memory" : "memory + l.right_at";
  const bool flags = plan_.emulated() && planes(o) > 1;
  return fmt::format(
      "  void* const {0}_packed = {2};\n"
      "  if (l.{0}_packed)\n    if (const int failed = ks_start(pack_{0}_kernel, dim3(unsigned(ks_blocks(l.{0}_chunks, 256, 32 * "
      "ks_multiprocessors()))), dim3(256), 0, stream, t,\n                                    {0}_packed, l.{0}_stride, "
      "l.{0}_chunks{1}))\n      return failed;\n",
      side, flags ? ", unusual" : "", at);
}

std::string host_writer::begin() const {
  std::string text = "\nstatic int start(const tensors& t, void* scratch, cudaStream_t stream) {\n";
  text += fmt::format("  const extents x = {{int({}), int({}), int({}), int({})}};\n", rows(), columns(), depths(), batches());
  text += "  const memory_layout l = layout_of(t);\n  char* const memory = static_cast<char*>(scratch);\n";
  if (plan_.emulated())
    text +=
        "  int* const unusual = reinterpret_cast<int*>(memory + l.unusual_at);\n"
        "  if (const cudaError_t failed = cudaMemsetAsync(unusual, 0, sizeof(int), stream)) return int(failed);\n";
  return text;
}

std::string host_writer::after() const {
  std::string text;
  const std::string rows_of_eight = "ks_blocks(int64_t(x.batches) * x.rows * ((x.columns + 7) / 8), 256, 16 * ks_multiprocessors())";
  if (s_.splits > 1)
    text += fmt::format(
        "  if (const int failed = ks_start(join_kernel, dim3(unsigned({})), dim3(256), 0, stream, t, x, partial))\n    return failed;\n",
        rows_of_eight);
  if (plan_.emulated())
    text += fmt::format(
        "  if (const int failed = ks_start(plain_kernel, dim3(unsigned({})), dim3(256), 0, stream, t, x, unusual))\n    return failed;\n",
        rows_of_eight);
  return text + "  return 0;\n}\n";
}

std::vector<std::string> host_writer::packed_batch_strides(const gemm_operand& o) const {
  std::vector<std::string> strides;
  std::string step = fmt::format("uint64_t(l.{}_stride) * ELEMENT_BYTES * uint64_t({})", side(o), extent(outer(o)));
  for (auto b = o.batch.rbegin(); b != o.batch.rend(); ++b) {
    strides.insert(strides.begin(), step);
    step += fmt::format(" * uint64_t({})", extent(*b));
  }
  return strides;
}

namespace {

/// Warpgroups fetch by tensor maps.
class map_writer : public host_writer {
 public:
  using host_writer::host_writer;

  /// Host code that packs an operand where needed and describes it.
  std::string describe(const gemm_operand& o) const {
    const std::string side = this->side(o);
    const std::string upper = side == "left" ? "LEFT" : "RIGHT";
    const bool shared = this->shared(o);
    const std::string tile = side == "left" ? "TILE_M" : "TILE_N";
    std::string text = pack_call(o);

    // Dimensions: inner, outer, batch from the innermost on, plane.
    std::string extents = fmt::format("uint64_t({}), uint64_t({})", extent(inner(o)), extent(outer(o)));
    std::string packed_strides = fmt::format("uint64_t(l.{}_stride) * ELEMENT_BYTES", side), plain_strides;
    if (o.plain) plain_strides = fmt::format("uint64_t({}) * ELEMENT_BYTES", o.at.stride(outer(o)).text(ir_));
    for (const int b : o.batch) extents += fmt::format(", uint64_t({})", extent(b));
    for (const std::string& stride : packed_batch_strides(o)) packed_strides += ", " + stride;
    if (o.plain)
      for (const int b : o.batch) plain_strides += fmt::format(", uint64_t({}) * ELEMENT_BYTES", o.at.stride(b).text(ir_));
    if (planes(o) > 1) {
      extents += fmt::format(", {}_PLANES", upper);
      packed_strides += fmt::format(", uint64_t(l.{}_chunks) * 8 * ELEMENT_BYTES", side);
    }
    text += fmt::format("  const uint64_t {}_extents[] = {{{}}};\n", side, extents);
    text += fmt::format("  const uint64_t {}_strides[] = {{{}}};\n", side, packed_strides);
    if (o.plain) text += fmt::format("  const uint64_t {}_plain_strides[] = {{{}}};\n", side, plain_strides);
    std::string box =
        o.along ? fmt::format("64, TILE_K{}", shared ? " / CLUSTER" : "") : fmt::format("TILE_K, {}{}", tile, shared ? " / CLUSTER" : "");
    for (std::size_t d = 2; d < rank(o); ++d) box += ", 1";
    text += fmt::format("  const uint32_t {}_box[] = {{{}}};\n", side, box);
    std::string data = fmt::format("{}_packed", side), strides = fmt::format("{}_strides", side);
    if (o.plain) {
      data = fmt::format("l.{0}_packed ? {0}_packed : const_cast<{1}*>(t.{2})", side, element_type(o),
                         ir_.tensors[static_cast<std::size_t>(o.at.tensor)].name);
      strides = fmt::format("l.{0}_packed ? {0}_strides : {0}_plain_strides", side);
    }
    text += fmt::format("  ks_tensor_map {}_map;\n", side);
    text += fmt::format(
        "  if (const int failed = ks_describe(&{0}_map, {1}, {2}, {3}, {0}_extents,\n                                     {4}, {0}_box, "
        "{5}))\n    return failed;\n",
        side,
        plan_.element == matrix_element::bf16  ? "KS_MAP_BF16"
        : plan_.element == matrix_element::f16 ? "KS_MAP_F16"
                                               : "KS_MAP_BYTES",
        data, rank(o), strides, o.along ? std::to_string(row_bytes_along) : "ROW_BYTES");
    return text;
  }

  std::string launch() const {
    std::string text = begin() + describe(plan_.left) + describe(plan_.right);
    text +=
        "\n  const int64_t tile_rows = (x.rows + CLUSTER * TILE_M - 1) / (CLUSTER * TILE_M), tile_columns = (x.columns + TILE_N - 1) / "
        "TILE_N;\n"
        "  const int64_t items = tile_rows * tile_columns * x.batches * SPLITS;\n"
        "";
    text += s_.stream ? "  const int64_t units = items * ((x.depth + TILE_K - 1) / TILE_K) / 4;\n"
                        "  const unsigned blocks = unsigned(ks_blocks(units > items ? units : items, 1, ks_multiprocessors()));\n"
                        "  int* const flags = reinterpret_cast<int*>(memory + l.flags_at);\n"
                        "  if (const cudaError_t failed = cudaMemsetAsync(flags, 0, blocks * CONSUMERS * 4 * sizeof(int), stream)) return "
                        "int(failed);\n"
                      : "  const unsigned blocks = unsigned(ks_blocks(items, 1, ks_multiprocessors() / CLUSTER)) * CLUSTER;\n";
    if (s_.splits > 1 || s_.stream) text += "  sum_type* const partial = reinterpret_cast<sum_type*>(memory + l.partial_at);\n";
    text += fmt::format(
        "  if (const int failed = ks_start(gemm_kernel, dim3(blocks), dim3(THREADS), SHARED_BYTES, stream, left_map, right_map, t, x{}))\n"
        "    return failed;\n",
        s_.stream       ? ", partial, flags"
        : s_.splits > 1 ? ", partial"
                        : "");
    return text + after();
  }
};

/// Warps fetch by addresses.
class address_writer : public host_writer {
 public:
  using host_writer::host_writer;

  std::string describe(const gemm_operand& o) const {
    if (plan_.flat) return pack_call(o) + describe_flat(o);
    const std::string side = this->side(o);
    std::string text = pack_call(o);
    std::string packed = fmt::format("{0}_packed, l.{0}_stride * ELEMENT_BYTES, l.{0}_chunks * 8 * ELEMENT_BYTES", side), plain;
    std::string strides;
    for (const std::string& stride : packed_batch_strides(o)) strides += (strides.empty() ? "" : ", ") + fmt::format("int64_t({})", stride);
    text += fmt::format("  operand {} = {{{}, {{{}}}}};\n", side, packed, strides);
    if (!o.plain) return text;
    std::string batch;
    for (const int b : o.batch) batch += fmt::format("{}({}) * ELEMENT_BYTES", batch.empty() ? "" : ", ", o.at.stride(b).text(ir_));
    return text + fmt::format("  if (!l.{0}_packed) {0} = {{t.{1}, ({2}) * ELEMENT_BYTES, 0, {{{3}}}}};\n", side,
                              ir_.tensors[static_cast<std::size_t>(o.at.tensor)].name, o.at.stride(outer(o)).text(ir_), batch);
  }

  std::string launch() const {
    std::string text = begin() + describe(plan_.left) + describe(plan_.right);
    text +=
        "\n  const int64_t tile_rows = (x.rows + TILE_M - 1) / TILE_M, tile_columns = (x.columns + TILE_N - 1) / TILE_N;\n"
        "  const int64_t blocks = tile_rows * tile_columns * x.batches * SPLITS;\n"
        "  if (blocks > 0x7fffffff) return int(cudaErrorInvalidConfiguration);\n";
    if (s_.splits > 1) text += "  sum_type* const partial = reinterpret_cast<sum_type*>(memory + l.partial_at);\n";
    text += fmt::format(
        "  if (const int failed = ks_start(gemm_kernel, dim3(unsigned(blocks)), dim3(THREADS), SHARED_BYTES, stream, left, right, t, "
        "x{}))\n"
        "    return failed;\n",
        s_.splits > 1 ? ", partial" : "");
    return text + after();
  }
};

}  // namespace

std::string gemm_host_text(const gemm_plan& plan, const gemm_schedule& schedule) {
  const map_writer writer(plan, schedule);
  return writer.layout() + writer.launch();
}

std::string gemm_mma_host_text(const gemm_plan& plan, const gemm_schedule& schedule) {
  const address_writer writer(plan, schedule);
  return writer.layout() + writer.launch();
}

}  // namespace kernsmith::agents::simt
