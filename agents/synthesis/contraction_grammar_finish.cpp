// The text that contraction and window share: number names, operands, and the steps after the reduction.
#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/contraction_grammar_emit.hpp"
#include "agents/synthesis/expression_tools.hpp"
#include "agents/synthesis/prelude.hpp"

namespace kernsmith::agents::nest {
namespace {

const tensor_declaration& tensor_of(const tensor_ir& ir, int id) {
  return ir.tensors[static_cast<std::size_t>(id)];
}

value_class class_of(dtype type) {
  return is_float(type) ? value_class::real : type == dtype::boolean ? value_class::boolean : value_class::integer;
}

/// Do later statements read something else than the value itself?
bool changes(const tensor_ir& ir, const step& s, bool wide) {
  const dtype type = tensor_of(ir, s.tensor).type;
  if (class_of(type) != s.type) return true;
  if (!s.rounds || s.type == value_class::boolean) return false;
  if (s.type == value_class::integer) return type != dtype::i64;
  return type != dtype::f64 && (wide || type != dtype::f32);
}

std::string store_text(emission& emit, const step& s, const std::string& value) {
  const tensor_ir& ir = *emit.p->ir;
  const tensor_declaration& tensor = tensor_of(ir, s.tensor);
  const std::string place = fmt::format("t.{} + {}", tensor.name, emit.address(s.target));
  if (emit.vector) {
    const polynomial stride = s.target.stride(emit.lane);
    if (stride == polynomial::constant(1)) return fmt::format("write({}, {}, lanes);", place, value);
    return fmt::format("write_strided({}, {}, {}, lanes);", place, stride.text(ir), value);
  }
  const std::string element = fmt::format("t.{}[{}]", tensor.name, emit.address(s.target));
  const std::string type = storage_type(tensor.type);
  if (s.type == value_class::real) {
    if (tensor.type == dtype::boolean) return fmt::format("{} = {} != 0;", element, value);
    return fmt::format("{} = {}<{}>({});", element, emit.wide ? "from_double" : "from_float", type, value);
  }
  if (tensor.type == dtype::boolean) return fmt::format("{} = {} != 0;", element, value);
  if (is_float(tensor.type))
    return fmt::format("{0} = {1}<{2}>({3}({4}));", element, emit.wide ? "from_double" : "from_float", type, emit.wide ? "double" : "float",
                       value);
  return fmt::format("{} = {}({});", element, type, value);  // integers wrap
}

}  // namespace

number_names names_of(bool wide) {
  if (wide) return {"double", "vd", "VLD", "vloadd", "vstored", "to_double", "from_double", "vsetd", "vl"};
  return {"float", "vf", "VL", "vload", "vstore", "to_float", "from_float", "vset", "vi"};
}

std::map<std::string, std::string> lane_fills(const number_names& names) {
  return {{"LOAD", names.load},
          {"STORE", names.store},
          {"TO", names.to},
          {"FROM", names.from},
          {"SET", names.set},
          {"LANE_NUMBERS", names.vec == "vd" ? "ks_lanes64" : "ks_lanes"},
          {"LANE", names.vec == "vd" ? "int64_t" : "int32_t"}};
}

bool steps_vectorisable(const program& p, const std::vector<step>& steps, int lane) {
  return std::all_of(steps.begin(), steps.end(), [&](const step& s) {
    const dtype type = tensor_of(*p.ir, s.tensor).type;
    if (class_of(type) != s.type || s.type == value_class::integer)
      return s.root < 0 && !s.stored && (type == dtype::i32 || type == dtype::i64);
    return s.root < 0 || vectorisable(p, s.root, lane);
  });
}

std::string step_lines(emission& emit, const std::vector<step>& steps, const std::string& sum, const std::string& indent) {
  const tensor_ir& ir = *emit.p->ir;
  std::string text;
  const auto line = [&](const std::string& s) { text += indent + s + "\n"; };
  for (std::size_t id = 0; id < steps.size(); ++id) {
    const step& s = steps[id];
    const std::string name = tensor_of(ir, s.tensor).name + "_value";
    const bool number = emit.vector || s.type == value_class::real;
    const std::string type = emit.vector ? "vec" : number ? "real" : s.type == value_class::integer ? "int64_t" : "bool";
    std::string value = sum;
    if (s.root >= 0) value = number ? emit.real(s.root) : emit.element(s.root);
    line(fmt::format("const {} {} = {};", type, name, value));
    emit.values[static_cast<int>(id)] = name;
    if (s.stored) line(store_text(emit, s, name));
    if (!changes(ir, s, emit.wide) || id + 1 == steps.size()) continue;

    // Later statements read what the tensor's type holds.
    const std::string storage = storage_type(tensor_of(ir, s.tensor).type);
    const value_class read = class_of(tensor_of(ir, s.tensor).type);
    std::string rounded;
    if (emit.vector)
      rounded = fmt::format("round_to<{}>({})", storage, name);
    else if (read == value_class::boolean)
      rounded = fmt::format("({} != 0)", name);
    else if (s.type == value_class::real && read == value_class::real)
      rounded = emit.wide ? fmt::format("to_double(from_double<{}>({}))", storage, name)
                          : fmt::format("to_float(from_float<{}>({}))", storage, name);
    else if (s.type == value_class::real)
      rounded = fmt::format("int64_t({}<{}>({}))", emit.wide ? "from_double" : "from_float", storage, name);
    else if (read == value_class::real)
      rounded = fmt::format("{}(from_float<{}>(float({})))", emit.wide ? "to_double" : "to_float", storage, name);
    else
      rounded = fmt::format("int64_t({}({}))", storage, name);
    const std::string read_type = emit.vector                    ? "vec"
                                  : read == value_class::real    ? "real"
                                  : read == value_class::integer ? "int64_t"
                                                                 : "bool";
    line(fmt::format("const {} {}_read = {};", read_type, name, rounded));
    emit.values[static_cast<int>(id)] = name + "_read";
  }
  if (!text.empty()) text.pop_back();
  return text;
}

operand_members members_of(const tensor_ir& ir, const fusion_group& group, const std::vector<step>& steps) {
  std::vector<bool> tensors(ir.tensors.size(), false), written(ir.tensors.size(), false);
  for (const int id : group.statements)
    for (const expression& e : ir.statements[static_cast<std::size_t>(id)].nodes)
      if (e.kind == expression_kind::load) tensors[static_cast<std::size_t>(e.symbol)] = true;
  for (const int id : group.statements) tensors[static_cast<std::size_t>(ir.statements[static_cast<std::size_t>(id)].target)] = false;
  for (const step& s : steps)
    if (s.stored) tensors[static_cast<std::size_t>(s.tensor)] = written[static_cast<std::size_t>(s.tensor)] = true;
  operand_members members;
  for (std::size_t id = 0; id < tensors.size(); ++id) {
    if (!tensors[id]) continue;
    const tensor_declaration& tensor = ir.tensors[id];
    members.declarations += fmt::format("  {}{}* {};\n", written[id] ? "" : "const ", storage_type(tensor.type), tensor.name);
    members.initialisers += tensor.name + ", ";
  }
  members.declarations += "  int64_t ";
  for (std::size_t a = 0; a < ir.axes.size(); ++a) {
    members.declarations += (a > 0 ? ", " : "") + ir.axes[a].name;
    members.initialisers += ir.axes[a].name + (a + 1 < ir.axes.size() ? ", " : "");
  }
  if (ir.axes.empty()) {
    members.declarations += "unused";
    members.initialisers += "0";
  }
  members.declarations += ";";
  return members;
}

}  // namespace kernsmith::agents::nest
