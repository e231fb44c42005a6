// Operands of a matrix product: packing, fetching, descriptors.
#include <fmt/format.h>

#include "agents/synthesis/contraction_grammar_templates.hpp"
#include "agents/synthesis/simt/gemm_text.hpp"
#include "agents/synthesis/simt/gemm_view.hpp"

namespace kernsmith::agents::simt {

std::string lines_of(const std::vector<std::string>& lines, const std::string& indent) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + indent + line;
  return text;
}

std::string operand_writer::value_text(const gemm_operand& o) const {
  nest::emission emit;
  emit.p = &plan_.nest.p;
  emit.wide = plan_.wide();
  emit.variable_names = names_;
  return simt_spelling(emit.real(o.root));
}

std::string operand_writer::store_packed() const {
  if (integers()) return "reinterpret_cast<uint2*>(packed)[p * total + item] = make_uint2(words[p][0], words[p][1]);";
  if (!plan_.wide())
    return "reinterpret_cast<uint4*>(packed)[p * total + item] = make_uint4(words[p][0], words[p][1], words[p][2], words[p][3]);";
  return "for (int w = 0; w < 16; w += 4)\n"
         "        reinterpret_cast<uint4*>(packed)[(p * total + item) * 4 + w / 4] =\n"
         "            make_uint4(words[p][w], words[p][w + 1], words[p][w + 2], words[p][w + 3]);";
}

std::string operand_writer::pack(const gemm_operand& o) const {
  if (plan_.flat) return pack_flat(o);
  row_text row(plan_.nest.p, inner(o), plan_.wide());
  row.hoist(o.root);
  std::vector<int> lines = o.batch;
  lines.push_back(outer(o));
  std::string shape;
  for (const int variable : lines) shape += extent(variable) + ", ";
  std::map<std::string, std::string> fills = pack_fills(o, row, o.root);
  fills["PACKED_SHAPE"] = shape + "stride";
  fills["INDICES"] = unpack_text(plan_.nest.p, lines, "rest", "    ");
  fills["INNER_EXTENT"] = extent(inner(o));
  fills["INNER"] = name(inner(o));
  fills["READS"] = row.reads("first", "count", "    ");
  return nest::fill(gemm_pack_text, fills);
}

std::map<std::string, std::string> operand_writer::pack_fills(const gemm_operand& o, row_text& row, int root) const {
  const int planes = this->planes(o);
  const std::vector<std::string> halves = {"words[0][2 * e] = uint32_t(__double2loint(x));",
                                           "words[0][2 * e + 1] = uint32_t(__double2hiint(x));"};
  const std::vector<std::string> split_one = {
      fmt::format("const uint32_t bits = {};", integers() ? "uint8_t(x)" : fmt::format("from_float<{}>(x).bits", element_type(o))),
      integers() ? "words[0][e / 4] = e % 4 == 0 ? bits : words[0][e / 4] | bits << (e % 4 * 8);"
                 : "words[0][e / 2] = e % 2 == 0 ? bits : words[0][e / 2] | bits << 16;"};
  const std::vector<std::string> split_many = {"if (!(fabsf(x) < 3e38f)) *unusual = 1;",
                                               "float left_over = x;",
                                               "#pragma unroll",
                                               fmt::format("for (int p = 0; p < {}; ++p) {{", planes),
                                               fmt::format("  const {0} part = from_float<{0}>(left_over);", element_type(o)),
                                               "  words[p][e / 2] = e % 2 == 0 ? part.bits : words[p][e / 2] | uint32_t(part.bits) << 16;",
                                               "  left_over -= to_float(part);",
                                               "}"};
  const bool flags = plan_.emulated() && planes > 1;
  return {{"SIDE", side(o)},
          {"PLANE_WORD", planes > 1 ? "plane, " : ""},
          {"ELEMENT_NAME", element_name(o)},
          {"VALUE_TYPE", integers()     ? "int64_t"
                         : plan_.wide() ? "double"
                                        : "float"},
          {"WORDS", std::to_string(2 * plan_.element_bytes())},
          {"STORE", store_packed()},
          {"PLANES_COMMENT", planes > 1 ? fmt::format(" The sum of the {} planes is the value.", planes) : ""},
          {"UNUSUAL_PARAMETER", flags ? ", int* unusual" : ""},
          {"PLANES", std::to_string(planes)},
          {"VALUE", simt_spelling(integers() ? row.emission().element(root) : row.emission().real(root))},
          {"SPLIT", lines_of(flags          ? split_many
                             : plan_.wide() ? halves
                                            : split_one,
                             "      ")}};
}

std::string operand_writer::copy_function(const gemm_operand& o) const {
  const bool shared = this->shared(o);
  const std::size_t dimensions = rank(o);
  static constexpr std::string_view coordinate_names[] = {"inner", "outer", "c2", "c3", "c4"};
  std::string parameters, operands, inputs;
  for (std::size_t d = 0; d < dimensions; ++d) {
    parameters += fmt::format(", int {}", coordinate_names[d]);
    operands += fmt::format("{}%{}", d > 0 ? ", " : "", d + 3);
    inputs += fmt::format(", \"r\"({})", coordinate_names[d]);
  }
  const std::string mask = shared ? fmt::format(", %{}", dimensions + 3) : "";
  if (shared) inputs += ", \"h\"(uint16_t((1 << CLUSTER) - 1))";
  return fmt::format(
      "\n// Copies one box{5}.\n"
      "__device__ __forceinline__ void fetch_{0}(uint32_t to, const ks_tensor_map& map, uint32_t barrier{1}) {{\n"
      "  asm volatile(\n"
      "      \"cp.async.bulk.tensor.{2}d.shared::cluster.global.mbarrier::complete_tx::bytes{6} [%0], [%1, {{{3}}}], [%2]{7};\" "
      "::\"r\"(to),\n"
      "      \"l\"(&map), \"r\"(barrier){4}\n"
      "      : \"memory\");\n}}\n",
      side(o), parameters, dimensions, operands, inputs, shared ? " to every block of the cluster" : "",
      shared ? ".multicast::cluster" : "", mask);
}

std::string operand_writer::fetch(const gemm_operand& o, const std::string& position) const {
  const bool shared = this->shared(o);
  const std::string side = this->side(o);
  std::string rest;
  for (const int b : o.batch) rest += ", " + name(b);
  const bool many = planes(o) > 1;
  const std::string upper = side == "left" ? "LEFT" : "RIGHT";
  const std::string tile = side == "left" ? "TILE_M" : "TILE_N";
  std::vector<std::string> lines;
  std::string to = side, indent;
  if (many) {
    lines.push_back(fmt::format("for (int p = 0; p < {}_PLANES; ++p)", upper));
    to += fmt::format(" + p * {}_BYTES", upper);
    rest += ", p";
    indent = "  ";
  }
  const std::string share = shared ? "rank * (" + (o.along ? std::string("TILE_K") : tile) + " / CLUSTER)" : "";
  if (o.along) {
    lines.push_back(indent + fmt::format("for (int i = 0; i < {} / 64; ++i)", tile));
    const std::string row_offset = shared ? fmt::format(" + {} * {}", share, row_bytes_along) : "";
    lines.push_back(indent + fmt::format("  fetch_{}({} + i * TILE_K * {}{}, {}_map, barrier, {} + 64 * i, depth{}{});", side, to,
                                         row_bytes_along, row_offset, side, position, shared ? " + " + share : "", rest));
  } else {
    const std::string row_offset = shared ? fmt::format(" + {} * ROW_BYTES", share) : "";
    lines.push_back(indent + fmt::format("fetch_{}({}{}, {}_map, barrier, depth, {}{}{});", side, to, row_offset, side, position,
                                         shared ? " + " + share : "", rest));
  }
  return lines_of(lines, "          ");
}

std::string operand_writer::fetch_tiles(const gemm_operand& o) const {
  const std::string side = this->side(o), upper = side == "left" ? "LEFT" : "RIGHT";
  if (planes(o) == 1) return fmt::format("      {0}_tiles.fetch({0}, 0);", side);
  return fmt::format(
      "#pragma unroll\n      for (int p = 0; p < {1}_PLANES; ++p) {0}_tiles.fetch({0} + p * {1}_BYTES, p * {0}_operand.plane);", side,
      upper);
}

std::string operand_writer::matrix_text(const gemm_operand& o) const {
  const std::string base = side(o);
  const bool left = base == "left";
  if (o.along)
    return fmt::format("ks_matrix({}{} + k * {}, TILE_K * {}, 1024, 1)", base,
                       left ? fmt::format(" + r / 64 * TILE_K * {}", row_bytes_along) : "", row_bytes_along, row_bytes_along);
  return fmt::format("ks_matrix({}{} + k * ELEMENT_BYTES, 16, 8 * ROW_BYTES, {})", base, left ? " + r * ROW_BYTES" : "",
                     s_.tile_k * plan_.element_bytes() == row_bytes_along ? 1 : 2);
}

}  // namespace kernsmith::agents::simt
