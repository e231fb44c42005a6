#include "agents/synthesis/simt/simt_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "agents/synthesis/row_grammar_range.hpp"
#include "agents/synthesis/simt/simt_prelude.hpp"

namespace kernsmith::agents::simt {
namespace {

/// Names that emitted kernels use for themselves: the problem's own get a trailing underscore where they would hide one.
const std::set<std::string>& vocabulary() {
  static const std::set<std::string> names = {
      "row",     "rows",      "lane",     "lanes",    "item",    "items",    "thread",  "first",  "start",    "stride", "count", "packs",
      "live",    "shift",     "slice",    "slices",   "rest",    "at",       "kVector", "kItems", "kThreads", "kEdge",  "kRows", "kSlices",
      "kTile",   "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "shared",  "part",   "parts",    "low",    "high",  "middle",
      "borders", "total",     "carry",    "ahead",    "tile",    "begin",    "end",     "grid",   "block",    "stream", "uint4", "uint2",
      "float4",  "dim3",      "step",     "cut",      "kept",    "left",     "right",   "fits",   "failed",   "mine",   "l",     "probe",
      "bring",   "put",       "now",      "steps",    "down",    "across",   "four",    "level",  "tiles",    "buffer", "below", "tree",
      "edge",    "whole",     "number",   "narrow",   "u",       "pack",     "group"};
  return names;
}

std::string local_name(const std::string& name) {
  return vocabulary().contains(name) ? name + "_" : name;
}

class flattener {
 public:
  explicit flattener(row::row_program rows) { p_.rows = std::move(rows); }

  simt_program run() {
    const tensor_ir& ir = *p_.rows.ir;
    p_.flat.axes = ir.axes;
    for (axis& a : p_.flat.axes) a.name = local_name(a.name);
    for (row::index_class& c : p_.rows.classes) c.name = local_name(c.name);
    p_.flat.workloads = ir.workloads;
    p_.flat.tensors = ir.tensors;
    for (std::size_t t = 0; t < p_.flat.tensors.size(); ++t) {
      p_.flat.tensors[t].name = local_name(p_.flat.tensors[t].name);
      if (!used(static_cast<int>(t))) continue;
      p_.flat.tensors[t].shape.clear();
      for (const row::extent& e : p_.rows.shapes[t]) p_.flat.tensors[t].shape.push_back(dim_of(e));
    }
    for (const row::row_statement& s : p_.rows.statements) p_.flat.statements.push_back(flat_statement(s));
    return std::move(p_);
  }

 private:
  bool used(int tensor) const {
    return std::any_of(p_.rows.statements.begin(), p_.rows.statements.end(), [&](const row::row_statement& s) {
      return s.tensor == tensor || std::any_of(s.nodes.begin(), s.nodes.end(),
                                               [&](const expression& e) { return e.kind == expression_kind::load && e.symbol == tensor; });
    });
  }

  statement flat_statement(const row::row_statement& s) {
    statement out;
    out.target = s.tensor;
    out.target_indices = s.target;
    out.nodes = s.nodes;
    out.root = s.value;
    out.text = s.text;
    for (const row::index_class& c : p_.rows.classes) out.variables.push_back({c.name, c.alive ? dim_of(c.size) : dim{-1, 1}, false});
    for (const int c : s.target) out.variables[static_cast<std::size_t>(c)].free = true;
    return out;
  }

  dim dim_of(const row::extent& e) {
    if (e.axes.empty()) return {-1, e.constant};
    if (e.axes.size() == 1 && e.constant == 1) return {e.axes[0], 0};
    std::string name, product = e.constant == 1 ? "" : std::to_string(e.constant);
    for (const int a : e.axes) {
      const std::string& axis_name = p_.flat.axes[static_cast<std::size_t>(a)].name;
      name += (name.empty() ? "" : "_by_") + axis_name;
      product += (product.empty() ? "" : " * ") + axis_name;
    }
    if (e.constant != 1) name += fmt::format("_by_{}", e.constant);
    for (const derived_axis& known : p_.derived)
      if (known.product == product) return {known.axis, 0};
    while (taken(name)) name += '_';
    derived_axis made{static_cast<int>(p_.flat.axes.size()), product};
    p_.flat.axes.push_back({name, 1});
    for (workload& w : p_.flat.workloads) {
      std::int64_t extent = e.constant;
      for (const int a : e.axes) extent *= w.axes[static_cast<std::size_t>(a)];
      w.axes.push_back(extent);
    }
    p_.derived.push_back(made);
    return {made.axis, 0};
  }

  bool taken(const std::string& name) const {
    const auto same = [&](const auto& named) { return named.name == name; };
    return std::any_of(p_.flat.axes.begin(), p_.flat.axes.end(), same) ||
           std::any_of(p_.flat.tensors.begin(), p_.flat.tensors.end(), same) ||
           std::any_of(p_.rows.classes.begin(), p_.rows.classes.end(), same);
  }

  simt_program p_;
};

bool in_memory(const simt_program& p, int tensor) {
  const int writer = p.rows.written_by(tensor);
  return writer < 0 || p.at(writer).stored;
}

/// Counts that other groups leave in memory take 64 bits there but stay below 2^31, which float arithmetic rounds like anything else: they
/// alone are no reason for doubles. (Integers are computed in 64 bits here in any case.)
bool is_wide_beside_counts(const row::row_program& rows) {
  tensor_ir narrowed = *rows.ir;
  for (const statement& s : narrowed.statements) {
    const expression& root = s.nodes[static_cast<std::size_t>(s.root)];
    tensor_declaration& t = narrowed.tensors[static_cast<std::size_t>(s.target)];
    const bool counts = root.kind == expression_kind::reduce && root.reducer == reduction::sum &&
                        s.nodes[static_cast<std::size_t>(root.arguments[0])].type == value_class::boolean;
    if (counts && t.type == dtype::i64 && t.role == tensor_role::intermediate && rows.written_by(s.target) < 0) t.type = dtype::i32;
  }
  row::row_program with_counts = rows;
  with_counts.ir = &narrowed;
  return row::needs_wide_lanes(with_counts).value_or(true);
}

}  // namespace

std::optional<simt_program> analyse_simt(const tensor_ir& ir, const fusion_group& group) {
  std::optional<row::row_program> rows = row::analyse(ir, group);
  if (!rows) return std::nullopt;
  rows->wide = rows->wide && is_wide_beside_counts(*rows);
  return flattener(std::move(*rows)).run();
}

std::string simt_program::class_extent(int index) const {
  return extent_text(flat, flat.statements[0].variables[static_cast<std::size_t>(index)].extent);
}

std::string simt_program::product(const std::vector<int>& classes) const {
  std::string text;
  for (const int c : classes) text += (text.empty() ? "" : " * ") + class_extent(c);
  return text.empty() ? "1" : text;
}

std::int64_t simt_program::typical(const std::vector<int>& classes) const {
  std::int64_t largest = 1;
  for (const workload& w : flat.workloads) {
    std::int64_t n = 1;
    for (const int c : classes) n *= extent_of(flat.statements[0].variables[static_cast<std::size_t>(c)].extent, w.axes);
    largest = std::max(largest, n);
  }
  return largest;
}

std::vector<int> all_statements(const simt_program& p) {
  std::vector<int> ids;
  for (int i = 0; i < p.count(); ++i) ids.push_back(i);
  return ids;
}

function_parameters kernel_parameters(const simt_program& p) {
  function_parameters all = parameters_of(p.flat, all_statements(p));
  std::erase_if(all.tensors, [&](int t) { return !in_memory(p, t); });
  return all;
}

function_parameters host_parameters(const simt_program& p) {
  function_parameters all = kernel_parameters(p);
  std::set<int> axes;
  const auto problem_axes = p.rows.ir->axes.size();
  for (const int a : all.axes) {
    if (static_cast<std::size_t>(a) < problem_axes) axes.insert(a);
  }
  for (const row::index_class& c : p.rows.classes) axes.insert(c.size.axes.begin(), c.size.axes.end());
  for (const std::vector<row::extent>& shape : p.rows.shapes)
    for (const row::extent& e : shape)
      if (e.axes.size() > 1 || e.constant != 1) axes.insert(e.axes.begin(), e.axes.end());
  all.axes.assign(axes.begin(), axes.end());
  return all;
}

std::vector<std::string> derive_axes(const simt_program& p) {
  std::vector<std::string> lines;
  for (const derived_axis& d : p.derived)
    lines.push_back(fmt::format("[[maybe_unused]] const int64_t {} = {};", p.flat.axes[static_cast<std::size_t>(d.axis)].name, d.product));
  return lines;
}

bool typically_narrow(const simt_program& p) {
  const function_parameters all = kernel_parameters(p);
  for (const workload& w : p.flat.workloads) {
    for (const int t : all.tensors)
      if (element_count(shape_of(p.tensor(t), w.axes)) > largest_narrow) return false;
    for (const index_variable& v : p.flat.statements[0].variables)
      if (extent_of(v.extent, w.axes) > largest_narrow) return false;
  }
  return fits_narrow(p.flat, all_statements(p)) != "false";
}

value_class class_of(dtype type) {
  if (is_float(type)) return value_class::real;
  return type == dtype::boolean ? value_class::boolean : value_class::integer;
}

std::string_view fast_function(operation op) {
  switch (op) {
    case operation::exp:
      return "ks_fast_exp";
    case operation::log:
      return "ks_fast_log";
    case operation::pow:
      return "ks_fast_pow";
    case operation::tanh:
      return "ks_fast_tanh";
    case operation::erf:
      return "ks_fast_erf";
    case operation::sigmoid:
      return "ks_fast_sigmoid";
    default:
      return "";
  }
}

lane_code::lane_code(const simt_program& p) : p_(p) {
  for (int i = 0; i < p.count(); ++i) {
    scalar_spelling spelling;
    spelling.storage = simt_storage_type;
    spelling.wide = p.rows.wide;
    if (p.fast) spelling.function = fast_function;
    spelling.at_hand = [this, i](int node) { return at_hand(i, node); };
    writers_.emplace_back(p.flat, p.flat.statements[static_cast<std::size_t>(i)], std::move(spelling));
  }
}

std::optional<std::string> lane_code::at_hand(int i, int node) const {
  const expression& e = p_.at(i).nodes[static_cast<std::size_t>(node)];
  const auto ready = ready_.find({i, node});
  const bool computed_here = e.kind == expression_kind::load && p_.rows.written_by(e.symbol) >= 0;
  if (ready != ready_.end() && !computed_here) return ready->second;
  switch (e.kind) {
    case expression_kind::index:
      return fmt::format("int64_t({})", p_.class_name(e.symbol));
    case expression_kind::axis:
      return fmt::format("int64_t({})", p_.flat.axes[static_cast<std::size_t>(e.symbol)].name);
    case expression_kind::load: {
      if (const auto value = values_.find(p_.rows.written_by(e.symbol)); p_.rows.written_by(e.symbol) >= 0 && value != values_.end())
        return value->second;
      if (ready != ready_.end()) return ready->second;
      const auto element = elements_.find({i, node});
      if (element == elements_.end()) return std::nullopt;
      const dtype type = p_.tensor(e.symbol).type;
      if (type == dtype::boolean) return fmt::format("({} != 0)", element->second);
      if (is_integer(type)) return fmt::format("int64_t({})", element->second);
      return fmt::format("{}({})", type_text(i, value_class::real) == "double" ? "to_double" : "to_float", element->second);
    }
    case expression_kind::call: {
      if (e.op != operation::divide) return std::nullopt;
      const expression& divisor = p_.at(i).nodes[static_cast<std::size_t>(e.arguments[1])];
      if (divisor.kind != expression_kind::load) return std::nullopt;
      const auto known = divisors_.find(p_.rows.written_by(divisor.symbol));
      if (known == divisors_.end() || type_text(i, value_class::real) != "float") return std::nullopt;
      return fmt::format("ks_quotient({}, {})", value(i, e.arguments[0], value_class::real), known->second);
    }
    default:
      return std::nullopt;
  }
}

std::string lane_code::stored(int i, const std::string& text, value_class type) const {
  return writers_[static_cast<std::size_t>(i)].to_storage(text, type_text(i, type));
}

std::string lane_code::seen_type(int i) const {
  return type_text(i, class_of(p_.tensor(p_.at(i).tensor).type));
}

std::string lane_code::seen(int i, const std::string& text, value_class type) const {
  const tensor_declaration& tensor = p_.tensor(p_.at(i).tensor);
  const value_class want = class_of(tensor.type);
  const bool rounds = tensor.role == tensor_role::intermediate && tensor.type_declared;
  if (rounds && !(tensor.type == dtype::f32 && type_text(i, type) == "float") && tensor.type != dtype::f64) {
    const std::string in_storage = stored(i, text, type);
    if (want == value_class::real) return fmt::format("{}({})", type_text(i, want) == "double" ? "to_double" : "to_float", in_storage);
    if (want == value_class::boolean) return fmt::format("({} != 0)", in_storage);
    return fmt::format("int64_t({}({}))", simt_storage_type(tensor.type), in_storage);
  }
  if (type == want) return text;
  return want == value_class::boolean ? fmt::format("({} != 0)", text) : fmt::format("{}({})", type_text(i, want), text);
}

}  // namespace kernsmith::agents::simt
