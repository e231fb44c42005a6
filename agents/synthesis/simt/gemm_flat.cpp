// Operands of flattened matrix products (convolutions): packed with the contiguous part of the depth innermost, read where a window stands.
#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/contraction_grammar_templates.hpp"
#include "agents/synthesis/simt/gemm_text.hpp"
#include "agents/synthesis/simt/gemm_view.hpp"

namespace kernsmith::agents::simt {
namespace {

using nest::polynomial;

const polynomial& extent_in(const gemm_operand& o, int variable) {
  return o.packed.variables[static_cast<std::size_t>(variable)].extent;
}

/// The window of the operand that has this index, or nothing.
const gemm_window* window_of(const gemm_operand& o, int variable) {
  for (const gemm_window& w : o.windows)
    if (w.factors.contains(variable)) return &w;
  return nullptr;
}

const std::vector<nest::guard>& guards_in(const nest::program& p, int root) {
  const nest::node& n = p.nodes[static_cast<std::size_t>(root)];
  return n.kind == nest::node_kind::cast ? guards_in(p, n.arguments[0]) : n.guards;
}

bool has(const gemm_operand& o, int variable) {
  return window_of(o, variable) != nullptr || std::find(o.lines.begin(), o.lines.end(), variable) != o.lines.end();
}

std::string joined(const std::vector<std::string>& names, const char* between) {
  return fmt::format("{}", fmt::join(names, between));
}

}  // namespace

std::string gemm_view::product(const std::vector<int>& variables) const {
  std::string text;
  for (const int variable : variables) text += fmt::format("{}({})", text.empty() ? "" : " * ", extent(variable));
  return text.empty() ? "1" : "(" + text + ")";
}

std::string gemm_view::columns() const {
  if (!plan_.flat) return extent(plan_.nest.column);
  const gemm_flattening& f = *plan_.flat;
  const auto run = f.columns.end() - static_cast<std::ptrdiff_t>(f.run);
  if (run == f.columns.begin()) return product(f.columns);
  return fmt::format("({} * (({} + 7) / 8 * 8))", product({f.columns.begin(), run}), product({run, f.columns.end()}));
}

std::string gemm_view::depths() const {
  if (!plan_.flat) return extent(depth());
  const gemm_flattening& f = *plan_.flat;
  return fmt::format("{0} * (({1} + {2}) / {3} * {3})", product(f.depth), product(f.inner), depth_unit() - 1, depth_unit());
}

std::string operand_writer::unpack_columns(const std::string& index, const std::string& indent) const {
  const gemm_flattening& f = *plan_.flat;
  const auto at = f.columns.end() - static_cast<std::ptrdiff_t>(f.run);
  const std::vector<int> outer(f.columns.begin(), at), run(at, f.columns.end());
  if (outer.empty()) return unpack_narrow_text(plan_.nest.p, run, index, indent);
  const std::string length = fmt::format("int({})", product(run));
  // Columns that pad a run are computed like its last.
  return fmt::format("{0}const int run = ({1} + 7) / 8 * 8, in_run = min({2} % run, {1} - 1);\n", indent, length, index) +
         unpack_narrow_text(plan_.nest.p, outer, fmt::format("({} / run)", index), indent) + "\n" +
         unpack_narrow_text(plan_.nest.p, run, "in_run", indent);
}

std::string operand_writer::pack_walk(const gemm_operand& o) const {
  // Where neighbours along the depth lie far apart, neighbouring threads take neighbouring lines, and two parts of each for whole sectors.
  const auto contiguous = [&] {
    if (plan_.flat->inner.size() > 1) return false;
    for (const nest::node& n : o.packed.nodes)
      if (n.kind == nest::node_kind::load && n.where.stride(depth()) == polynomial::constant(1)) return true;
    return false;
  };
  if (o.lines.empty() || contiguous())
    return "    const unsigned now = unsigned(work), line = now / chunks;\n    const int64_t item = work, first = now % chunks * 8;";
  return fmt::format(
      "    const unsigned now = unsigned(work), pair = chunks % 2 == 0 ? 2 : 1, run = unsigned({});\n"
      "    const unsigned upper = now / pair / run, line = upper / (chunks / pair) * run + now / pair % run;\n"
      "    const unsigned chunk = upper % (chunks / pair) * pair + now % pair;\n"
      "    const int64_t item = int64_t(line) * chunks + chunk, first = int64_t(chunk) * 8;",
      extent_in(o, o.lines.back()).text(ir_));
}

std::string operand_writer::pack_flat(const gemm_operand& o) const {
  const std::vector<int>& inner = plan_.flat->inner;
  const bool one = inner.size() == 1;
  row_text row(o.packed, inner.back(), plan_.wide());
  if (one) row.hoist(o.packed_root);
  std::map<std::string, std::string> fills = pack_fills(o, row, o.packed_root);
  std::string shape;
  for (const int variable : o.lines) shape += extent_in(o, variable).text(ir_) + ", ";
  fills["PACKED_SHAPE"] = shape + "stride";
  fills["WALK"] = pack_walk(o);
  fills["INDICES"] = o.lines.empty() ? "" : unpack_narrow_text(o.packed, o.lines, "int(line)", "    ");
  fills["INNER_EXTENT"] = product(inner);
  fills["INNER_INDICES"] = one ? fmt::format("      const int64_t {} = first + e;", name(inner.back()))
                               : unpack_narrow_text(o.packed, inner, "int(first + e)", "      ");
  fills["READS"] = row.reads("first", "count", "    ");
  return nest::fill(gemm_pack_flat_text, fills);
}

std::string operand_writer::gather_readers(const std::string& threads) const {
  const std::size_t most = std::max(plan_.flat->rows.size(), plan_.flat->columns.size());
  std::string text = fmt::format(
      "\nstruct operand {{\n  const void* data;\n  int64_t plane, batch[2];  // bytes from one plane, matrix to the next\n"
      "  int line[{}], depth[{}];   // pieces of 16 bytes from one value of an index to the next\n"
      "  bool padded;               // lines may begin and end outside of the tensor\n}};\n",
      most, std::max<std::size_t>(plan_.flat->depth.size(), 1));
  return text + gather_reader_struct(plan_.left, threads) + gather_reader_struct(plan_.right, threads);
}

std::string operand_writer::gather_reader_struct(const gemm_operand& o, const std::string& threads) const {
  const gemm_flattening& f = *plan_.flat;
  const bool left = &o == &plan_.left;
  const std::vector<int>& lines = left ? f.rows : f.columns;
  std::vector<std::string> line_names, depth_names, positions;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    line_names.push_back(plan_.nest.p.variables[static_cast<std::size_t>(lines[i])].name);
    if (has(o, lines[i])) positions.push_back(fmt::format("{} * o.line[{}]", name(lines[i]), i));
  }
  std::string members, init, counters, counters_init, depth_position, carry, last_carry;
  for (std::size_t i = f.depth.size(); i-- > 0;) {
    const std::string variable = name(f.depth[i]), count = variable + "count";
    counters += ", " + variable;
    members += ", " + count;
    init += fmt::format(", {}(int({}))", count, extent(f.depth[i]));
    depth_position += fmt::format(" + {} * o.depth[{}]", variable, i);
    counters_init +=
        i == 0 ? fmt::format("    {} = rest;\n", variable) : fmt::format("    {0} = rest % {1};\n    rest /= {1};\n", variable, count);
  }
  // The innermost runs over, the next one steps, and so on: carry text from the inside out.
  for (std::size_t i = 0; i < f.depth.size(); ++i) {  // i = 0: the outermost, wrapped innermost in the text
    const std::string variable = name(f.depth[i]);
    const std::string step = fmt::format("from.depth[{}]", i);
    carry = i == 0 ? fmt::format("{{ ++{}; depth += {}; }}", variable, step)
                   : fmt::format("{{ depth += {1}; if (++{0} == {0}count) {{ {0} = 0; depth -= {0}count * {1}; {2} }} }}", variable, step,
                                 carry);
  }
  if (!carry.empty()) carry = fmt::format("    while (inner >= inner_count) {{ inner -= inner_count; depth -= inner_count; {} }}", carry);
  for (const int variable : f.depth) depth_names.push_back(plan_.nest.p.variables[static_cast<std::size_t>(variable)].name);
  std::vector<std::string> inner_names;
  for (const int variable : f.inner) inner_names.push_back(plan_.nest.p.variables[static_cast<std::size_t>(variable)].name);
  depth_names.push_back(joined(inner_names, " "));
  const std::string piece = "begin + int(threadIdx.x) % kPieces";
  counters_init = f.depth.empty() ? fmt::format("    inner = {};", piece)
                                  : fmt::format("    int rest = {};\n    inner = rest % inner_count;\n    rest /= inner_count;\n{}", piece,
                                                counters_init.substr(0, counters_init.size() - 1));
  const bool runs = !left && f.run < f.columns.size();
  std::string run_check;
  if (runs) {
    const std::string length = fmt::format("int({})", product({f.columns.end() - static_cast<std::ptrdiff_t>(f.run), f.columns.end()}));
    run_check = fmt::format(" && at % run < {}", length);
  }
  std::string taps, tap;
  if (o.padded) {
    std::string indent = "      ", inside;
    taps = "      unsigned taps = 0;\n      int bit = 0;\n";
    for (const int variable : f.depth) {
      taps += fmt::format("#pragma unroll\n{0}for (int {1} = 0; {1} < {2}; ++{1})\n", indent, name(variable), extent(variable));
      tap = tap.empty() ? name(variable) : fmt::format("({}) * {}count + {}", tap, name(variable), name(variable));
    }
    nest::emission emit;
    emit.p = &plan_.nest.p;
    emit.variable_names = names_;
    for (const nest::guard& g : guards_in(plan_.nest.p, o.root))
      inside += fmt::format("{}inside({}, {})", inside.empty() ? "" : " && ", emit.position(g), g.extent.text(ir_));
    taps += fmt::format("        taps |= unsigned({}) << bit++;\n      present[l] = there ? (o.padded ? taps : ~0u) : 0;", inside);
    tap = fmt::format("    const int tap = {};  // beyond the last one nothing is live", tap);
  }
  return nest::fill(gemm_gather_text,
                    {{"SIDE", side(o)},
                     {"TILE", left ? "TILE_M" : "TILE_N"},
                     {"THREADS", threads},
                     {"LINES", joined(line_names, ", ")},
                     {"DEPTHS", joined(depth_names, ", ")},
                     {"EXTENTS_MEMBERS", members},
                     {"EXTENTS_INIT", init},
                     {"INNER_COUNT", fmt::format("int(({} + {}) / {} * {})", product(f.inner), depth_unit() - 1, depth_unit(),
                                                 depth_unit() / plan_.row_unit())},
                     {"COUNTERS", counters},
                     {"LINE_INDICES", left ? unpack_narrow_text(plan_.nest.p, lines, "at", "      ") : unpack_columns("at", "      ")},
                     {"LINE_POSITION", positions.empty() ? "0" : joined(positions, " + ")},
                     {"IN_RUN", run_check},
                     {"PRESENT_MEMBER", o.padded ? "  unsigned present[kLines];  // which taps of a line fall inside"
                                                 : "  unsigned present;  // which lines there are"},
                     {"PRESENT_INIT", o.padded ? "" : ", present(0)"},
                     {"PRESENT_SET", o.padded ? taps : "      present |= unsigned(there) << l;"},
                     {"PRESENT", o.padded ? "present[l] >> tap" : "present >> l"},
                     {"TAP", tap},
                     {"COUNTERS_INIT", counters_init},
                     {"DEPTH_POSITION", depth_position},
                     {"LIVE", f.depth.empty() ? "inner < inner_count" : fmt::format("{0} < {0}count", name(f.depth[0]))},
                     {"CARRY", carry}});
}

std::string operand_writer::gather_reader(const gemm_operand& o, const std::string& first) const {
  const bool left = &o == &plan_.left;
  const std::string side = this->side(o);
  std::string data = fmt::format("static_cast<const char*>({}_operand.data)", side);
  for (std::size_t b = 0; b < o.batch.size(); ++b) data += fmt::format(" + {} * {}_operand.batch[{}]", name(o.batch[b]), side, b);
  return fmt::format("{0}_reader {0}_tiles({0}_operand, t, {1},\n      {2}, {3}, begin * (ROW_BYTES / 16));", side, data, first,
                     left ? "x.rows" : "x.columns");
}

std::string host_writer::flat_layout(const gemm_operand& o) const {
  const std::string side = this->side(o), inner = product(plan_.flat->inner);
  std::string packed = "true";
  if (o.plain) {
    packed = fmt::format("{} % {} == 0", inner, depth_unit());
    for (const auto& [variable, stride] : o.at.strides)
      if (variable != depth()) packed += fmt::format(" && ({}) % {} == 0", stride.text(ir_), plan_.row_unit());
    if (!o.at.offset.is_zero()) packed += fmt::format(" && {} % {} == 0", o.at.offset.text(ir_), plan_.row_unit());
    packed = "!(" + packed + ")";
  }
  std::string text = fmt::format("  l.{}_packed = {};\n", side, packed);
  text += fmt::format("  l.{0}_stride = ({1} + {2}) / {3} * {3};\n  l.{0}_chunks = l.{0}_packed ? l.{0}_stride / 8", side, inner,
                      depth_unit() - 1, depth_unit());
  for (const int variable : o.lines) text += fmt::format(" * ({})", extent_in(o, variable).text(ir_));
  return text + " : 0;\n";
}

/// Packed rows from one value of the plan's `variable` to the next.
std::string host_writer::packed_lines(const gemm_operand& o, int variable) const {
  const gemm_window* const window = window_of(o, variable);
  const int line = window != nullptr ? window->variable : variable;
  const auto found = std::find(o.lines.begin(), o.lines.end(), line);
  if (found == o.lines.end()) return "0";
  std::string text = window != nullptr ? fmt::format("({})", window->factors.at(variable)) : "1";
  for (auto later = found + 1; later != o.lines.end(); ++later) text += fmt::format(" * ({})", extent_in(o, *later).text(ir_));
  return text;
}

std::string host_writer::describe_flat(const gemm_operand& o) const {
  const gemm_flattening& f = *plan_.flat;
  const std::string side = this->side(o);
  const std::vector<int>& lines = &o == &plan_.left ? f.rows : f.columns;
  const int unit = plan_.row_unit();
  const auto list = [&](const std::vector<int>& variables, const auto& text) {
    std::string all;
    for (const int variable : variables) all += (all.empty() ? "" : ", ") + text(variable);
    return all.empty() ? "0" : all;
  };
  const auto packed_pieces = [&](int variable) { return fmt::format("int(l.{}_stride / {} * {})", side, unit, packed_lines(o, variable)); };
  std::string base;
  for (const gemm_window& w : o.windows) {
    if (w.least.is_zero()) continue;
    base += fmt::format(" - {} * ({}) * l.{}_stride * ELEMENT_BYTES", w.least.text(ir_), packed_lines(o, w.variable), side);
  }
  const auto packed_bytes = [&](int variable) {
    return fmt::format("int64_t(l.{}_stride) * ELEMENT_BYTES * {}", side, packed_lines(o, variable));
  };
  std::string text = fmt::format(
      "  operand {0} = {{static_cast<const char*>({0}_packed){1}, int64_t(l.{0}_chunks) * 8 * ELEMENT_BYTES, {{{2}}},\n"
      "                  {{{3}}}, {{{4}}}, false}};\n",
      side, base, list(o.batch, packed_bytes), list(lines, packed_pieces), list(f.depth, packed_pieces));
  if (!o.plain) return text;
  const auto plain_pieces = [&](int variable) { return fmt::format("int({} / {})", o.at.stride(variable).text(ir_), unit); };
  const auto plain_bytes = [&](int variable) { return fmt::format("({}) * ELEMENT_BYTES", o.at.stride(variable).text(ir_)); };
  std::string at = "t." + ir_.tensors[static_cast<std::size_t>(o.at.tensor)].name;
  if (!o.at.offset.is_zero()) at += " + " + o.at.offset.text(ir_);
  return text + fmt::format("  if (!l.{0}_packed) {0} = {{{1}, 0, {{{2}}}, {{{3}}}, {{{4}}}, {5}}};\n", side, at,
                            list(o.batch, plain_bytes), list(lines, plain_pieces), list(f.depth, plain_pieces), o.padded);
}

}  // namespace kernsmith::agents::simt
