// Elementwise text over rows of eight: what follows the sum, and what operands are computed from.
#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/contraction_grammar_emit.hpp"
#include "agents/synthesis/simt/gemm_emit.hpp"
#include "agents/synthesis/simt/simt_prelude.hpp"

namespace kernsmith::agents::simt {
namespace {

using nest::linear_form;
using nest::node;
using nest::node_kind;
using nest::polynomial;

constexpr int first_read_ahead = 1 << 20;  // value ids beyond those of the steps

bool same(const linear_form& a, const linear_form& b) {
  return a.tensor == b.tensor && a.offset == b.offset && a.strides == b.strides;
}

bool same(const std::vector<nest::guard>& a, const std::vector<nest::guard>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const nest::guard& x, const nest::guard& y) {
    return x.offset == y.offset && x.strides == y.strides && x.extent == y.extent;
  });
}

/// Is the step's value stored by whole rows of eight instead of one by one?
bool stored_in_rows(const tensor_ir& ir, const nest::step& s, int column, bool wide) {
  const dtype type = ir.tensors[static_cast<std::size_t>(s.tensor)].type;
  return s.stored && s.type == value_class::real && is_float(type) && (wide || type != dtype::f64) &&
         s.target.stride(column) == polynomial::constant(1);
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
}

}  // namespace

row_text::row_text(const nest::program& p, int along, bool wide) : program_(p), along_(along) {
  emission_.p = &program_;
  emission_.wide = wide;
  emission_.variable_names = loop_names(program_);
}

void row_text::hoist(int root) {
  const auto visit = [&](const auto& self, int id) -> void {
    for (const int argument : std::vector<int>(program_.nodes[static_cast<std::size_t>(id)].arguments)) self(self, argument);
    node& n = program_.nodes[static_cast<std::size_t>(id)];
    if (n.kind != node_kind::load || n.type != value_class::real) return;
    if (std::any_of(n.guards.begin(), n.guards.end(), [&](const nest::guard& g) { return g.strides.contains(along_); })) return;
    const tensor_declaration& tensor = program_.ir->tensors[static_cast<std::size_t>(n.where.tensor)];
    if ((tensor.type == dtype::f64 && !emission_.wide) || n.where.stride(along_) != polynomial::constant(1)) return;
    auto found =
        std::find_if(ahead_.begin(), ahead_.end(), [&](const read_ahead& r) { return same(r.where, n.where) && same(r.guards, n.guards); });
    if (found == ahead_.end()) {
      const int number = static_cast<int>(ahead_.size());
      ahead_.push_back({n.where, n.guards, n.number, fmt::format("{}_{}_", tensor.name, number), first_read_ahead + number});
      found = ahead_.end() - 1;
      emission_.values[found->value] = found->name + "[e]";
    }
    n.kind = node_kind::value;
    n.symbol = found->value;
  };
  visit(visit, root);
}

std::string row_text::reads(const std::string& first, const std::string& count, const std::string& indent) {
  std::string text;
  std::string& name = emission_.variable_names[static_cast<std::size_t>(along_)];
  const std::string usual = name;
  name = first;
  for (const read_ahead& r : ahead_) {
    text += fmt::format("{}{} {}[8];\n", indent, emission_.wide ? "double" : "float", r.name);
    const std::string read =
        fmt::format("ks_read8(t.{} + {}, {}, {});\n", program_.ir->tensors[static_cast<std::size_t>(r.where.tensor)].name,
                    emission_.address(r.where), count, r.name);
    if (r.guards.empty()) {
      text += indent + read;
      continue;
    }
    std::string condition;
    for (const nest::guard& g : r.guards)
      condition += fmt::format("{}inside({}, {})", condition.empty() ? "" : " && ", emission_.position(g), g.extent.text(*program_.ir));
    text += fmt::format("{0}if ({1}) {2}{0}else\n{0}  for (int e = 0; e < 8; ++e) {3}[e] = {4};\n", indent, condition, read, r.name,
                        emission_.number(r.pad));
  }
  name = usual;
  if (!text.empty()) text.pop_back();
  return text;
}

std::vector<std::string> loop_names(const nest::program& p) {
  std::vector<std::string> names;
  for (const nest::loop_variable& v : p.variables) names.push_back(v.name + "_");
  return names;
}

std::string unpack_text(const nest::program& p, const std::vector<int>& variables, const std::string& index, const std::string& indent,
                        const std::string& type) {
  const std::vector<std::string> names = loop_names(p);
  std::string text, rest = index;
  for (std::size_t i = variables.size(); i-- > 0;) {
    const std::string& name = names[static_cast<std::size_t>(variables[i])];
    const std::string extent = p.variables[static_cast<std::size_t>(variables[i])].extent.text(*p.ir);
    if (i == 0) {
      text += fmt::format("{}[[maybe_unused]] const {} {} = {};\n", indent, type, name, rest);
      break;
    }
    text += fmt::format("{0}[[maybe_unused]] const {1} {2} = {1}({3} % ({4}));\n", indent, type, name, rest, extent);
    rest = fmt::format("{}({} / ({}))", type, rest, extent);
  }
  if (!text.empty()) text.pop_back();
  return text;
}

std::string unpack_narrow_text(const nest::program& p, const std::vector<int>& variables, const std::string& index,
                               const std::string& indent) {
  const std::vector<std::string> names = loop_names(p);
  std::string text, rest = index;
  for (std::size_t i = variables.size(); i-- > 0;) {
    const std::string& name = names[static_cast<std::size_t>(variables[i])];
    const std::string extent = p.variables[static_cast<std::size_t>(variables[i])].extent.text(*p.ir);
    text +=
        fmt::format("{}[[maybe_unused]] const int64_t {} = {};\n", indent, name, i == 0 ? rest : fmt::format("{} % int({})", rest, extent));
    rest = fmt::format("({} / int({}))", rest, extent);
  }
  if (!text.empty()) text.pop_back();
  return text;
}

std::string simt_spelling(std::string text) {
  replace_all(text, "_Float16", "ks_f16");
  replace_all(text, "std::clamp<int64_t>", "ks_clamp");
  return text;
}

namespace {

/// Row and first column of finish() as the indices that they are made of.
std::string unpack_after(const gemm_flattening& f) {
  const nest::program& p = f.finish.p;
  std::string text = unpack_narrow_text(p, f.finish_rows, "row", "  ") + "\n";
  if (f.finish_columns.empty()) return text + "  const int64_t first = column;\n";
  const std::string run = f.finish.extent(f.finish.column).text(*p.ir);
  text += fmt::format("  const int run = (int({0}) + 7) / 8 * 8, first = column % run;\n  count = min(count, int({0}) - first);\n", run);
  return text + "  if (count <= 0) return;  // between two runs of columns\n" +
         unpack_narrow_text(p, f.finish_columns, "(column / run)", "  ") + "\n";
}

}  // namespace

std::string finish_text(const gemm_plan& plan) {
  const tensor_ir& ir = *plan.nest.p.ir;
  const nest::contraction_plan& after = plan.flat ? plan.flat->finish : plan.nest;
  const int column = after.column;
  row_text row(after.p, column, plan.wide());
  std::vector<nest::step> steps = after.steps;
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].root >= 0) row.hoist(steps[i].root);
    if (!stored_in_rows(ir, steps[i], column, plan.wide())) continue;
    rows.push_back(i);
    steps[i].stored = false;
  }
  nest::emission& emit = row.emission();
  const std::string column_name = emit.variable_names[static_cast<std::size_t>(column)];
  std::string text =
      "\n// What follows the sum, for `count` neighbouring columns (up to 8) of one row.\n"
      "__device__ __forceinline__ void finish(const tensors& t, int64_t batch, " +
      (plan.flat ? "int row, int column" : "int64_t " + emit.variable_names[static_cast<std::size_t>(plan.nest.row)] + ", int64_t first") +
      ", int count, const sum_type (&sum)[8]) {\n";
  if (plan.flat) text += unpack_after(*plan.flat);
  if (!plan.nest.batch.empty()) text += unpack_text(plan.nest.p, plan.nest.batch, "batch", "  ") + "\n";
  const std::string reads = row.reads("first", "count", "  ");
  if (!reads.empty()) text += reads + "\n";
  const auto tensor_name = [&](std::size_t i) { return ir.tensors[static_cast<std::size_t>(steps[i].tensor)].name; };
  const auto storage = [&](std::size_t i) { return simt_storage_type(ir.tensors[static_cast<std::size_t>(steps[i].tensor)].type); };
  for (const std::size_t i : rows) text += fmt::format("  {} {}_row_[8];\n", storage(i), tensor_name(i));
  text += "#pragma unroll\n  for (int e = 0; e < 8; ++e) {\n";
  text += fmt::format("    if (e >= count) continue;\n    [[maybe_unused]] const int64_t {} = first + e;\n", column_name);
  text += nest::step_lines(emit, steps, "sum[e]", "    ") + "\n";
  const char* const from = plan.wide() ? "from_double" : "from_float";
  for (const std::size_t i : rows) text += fmt::format("    {0}_row_[e] = {2}<{1}>({0}_value);\n", tensor_name(i), storage(i), from);
  text += "  }\n";
  emit.variable_names[static_cast<std::size_t>(column)] = "first";
  for (const std::size_t i : rows)
    text += fmt::format("  ks_write8(t.{0} + {1}, count, {0}_row_);\n", tensor_name(i), emit.address(steps[i].target));
  return simt_spelling(text + "}\n");
}

}  // namespace kernsmith::agents::simt
