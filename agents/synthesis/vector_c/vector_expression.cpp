#include "agents/synthesis/vector_c/vector_expression.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/scalar_expression.hpp"
#include "agents/synthesis/vector_c/vector_c_prelude.hpp"

namespace kernsmith::agents::vector_c {
namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

bool is_comparison(operation op) {
  return op >= operation::less && op <= operation::not_equal;
}

bool is_logic(operation op) {
  return op == operation::logical_and || op == operation::logical_or || op == operation::logical_not;
}

/// Operations on vectors of float that strip::call knows.
bool is_known(operation op) {
  switch (op) {
    case operation::add:
    case operation::subtract:
    case operation::multiply:
    case operation::divide:
    case operation::negate:
    case operation::minimum:
    case operation::maximum:
    case operation::absolute:
    case operation::exp:
    case operation::sigmoid:
    case operation::sqrt:
    case operation::rsqrt:
    case operation::fma:
    case operation::select:
      return true;
    default:
      return false;
  }
}

/// Does the load walk memory by one element as `inner` does, and is it always inside?
bool walks_by_one(const tensor_ir& ir, const expression& e, int inner) {
  const tensor_declaration& tensor = ir.tensors[at(e.symbol)];
  if (tensor.type != dtype::f32 || tensor.pad || e.indices.empty()) return false;
  for (std::size_t d = 0; d < e.indices.size(); ++d) {
    const index_expression& index = e.indices[d];
    if (!index.is_affine) return false;
    for (const affine_term& term : index.terms) {
      if (term.index != inner) continue;
      if (d + 1 != e.indices.size() || term.coefficient != 1 || !term.axes.empty()) return false;
    }
  }
  return true;
}

bool vectorises_call(const tensor_ir& ir, const statement& s, const expression& e, int inner) {
  const bool condition = is_comparison(e.op) || is_logic(e.op);
  if (!condition && (!is_known(e.op) || e.type != value_class::real)) return false;
  for (std::size_t i = 0; i < e.arguments.size(); ++i) {
    const int argument = e.arguments[i];
    const value_class type = s.nodes[at(argument)].type;
    if (!vectorises(ir, s, argument, inner)) return false;
    const bool wants_condition = is_logic(e.op) || (e.op == operation::select && i == 0);
    // Conditions are masks, everything else is float; a scalar can be made either.
    if (depends_on(s, argument, inner) && (type == value_class::boolean) != wants_condition) return false;
    if (depends_on(s, argument, inner) && type == value_class::integer) return false;
  }
  return true;
}

}  // namespace

bool depends_on(const statement& s, int node, int variable) {
  const expression& e = s.nodes[at(node)];
  if (e.kind == expression_kind::index) return e.symbol == variable;
  for (const index_expression& index : e.indices) {
    if (index.gather >= 0 && depends_on(s, index.gather, variable)) return true;
    if (std::any_of(index.terms.begin(), index.terms.end(), [variable](const affine_term& t) { return t.index == variable; })) return true;
  }
  return std::any_of(e.arguments.begin(), e.arguments.end(), [&](int argument) { return depends_on(s, argument, variable); });
}

bool vectorises(const tensor_ir& ir, const statement& s, int node, int inner) {
  if (!depends_on(s, node, inner)) return true;
  const expression& e = s.nodes[at(node)];
  switch (e.kind) {
    case expression_kind::load:
      return walks_by_one(ir, e, inner);
    case expression_kind::cast:  // to what it is already
      return e.cast_to == dtype::f32 && s.nodes[at(e.arguments[0])].type == value_class::real && vectorises(ir, s, e.arguments[0], inner);
    case expression_kind::call:
      return vectorises_call(ir, s, e, inner);
    default:
      return false;
  }
}

std::string vector_names::type() const {
  return fmt::format("vfloat32m{}_t", group);
}
std::string vector_names::mask_type() const {
  return fmt::format("vbool{}_t", 32 / group);
}
std::string vector_names::f() const {
  return fmt::format("f32m{}", group);
}
std::string vector_names::mask() const {
  return fmt::format("b{}", 32 / group);
}

std::string strip::keep_as(const std::string& type, const std::string& text) {
  const auto known = kept_.find(text);
  if (known != kept_.end()) return known->second;
  const std::string name = fmt::format("v{}", fresh_++);
  out_.line(fmt::format("const {} {} = {};", type, name, text));
  kept_.emplace(text, name);
  return name;
}

std::string strip::keep(const std::string& text) {
  return keep_as(names_.type(), text);
}

std::string strip::vector(const operand& o) {
  return o.vector ? o.text : keep(fmt::format("{}({}, vl)", f("vfmv_v_f"), o.text));
}

operand strip::value(const statement& s, int node, int inner, const std::string& where, const source& from) {
  return render({s, inner, where, from}, node);
}

operand strip::render(const context& c, int node) {
  const expression& e = c.s.nodes[at(node)];
  if (!depends_on(c.s, node, c.inner)) {
    const c_scalar scalar(ir_, c.s, [&](int inside) -> std::optional<std::string> {
      const expression& load = c.s.nodes[at(inside)];
      if (load.kind != expression_kind::load) return std::nullopt;
      const auto ready = c.from(load);
      return ready ? std::optional(ready->text) : std::nullopt;
    });
    return {false, scalar.value(node, value_class::real)};
  }
  if (e.kind == expression_kind::cast) return render(c, e.arguments[0]);
  if (e.kind == expression_kind::call) return call(c, e);
  if (auto ready = c.from(e)) return *ready;
  const c_scalar scalar(ir_, c.s);
  const std::string first = scalar.linear_index(node, c.inner);
  const std::string place = first == "0" ? c.at : fmt::format("{} + {}", first, c.at);
  return {true, keep(fmt::format("{}({} + {}, vl)", f("vle32_v"), ir_.tensors[at(e.symbol)].name, place))};
}

/// a OP b, where the scalar may stand on either side: `reversed` is the intrinsic for scalar OP vector.
operand strip::binary(const char* name, const char* reversed, const operand& a, const operand& b, bool commutes) {
  if (a.vector && b.vector) return {true, keep(fmt::format("{}_vv_{}({}, {}, vl)", name, names_.f(), a.text, b.text))};
  if (a.vector) return {true, keep(fmt::format("{}_vf_{}({}, {}, vl)", name, names_.f(), a.text, b.text))};
  return {true, keep(fmt::format("{}_vf_{}({}, {}, vl)", commutes ? name : reversed, names_.f(), b.text, a.text))};
}

/// The machine's maximum takes the number where one side is NaN; here a NaN on either side wins.
operand strip::extremum(bool larger, const operand& first, const operand& second) {
  const auto never_nan = [](const operand& o) { return !o.vector && o.text.find_first_not_of("0123456789.ef()-+") == std::string::npos; };
  const operand a = never_nan(first) ? first : operand{true, vector(first)}, b = never_nan(second) ? second : operand{true, vector(second)};
  if (!a.vector && !b.vector) return {true, vector({false, fmt::format("f{}f({}, {})", larger ? "max" : "min", a.text, b.text)})};
  const operand plain = binary(larger ? "vfmax" : "vfmin", "", a, b, true);
  std::string result = plain.text;
  for (const operand* side : {&a, &b}) {
    if (!side->vector) continue;
    const std::string missing =
        keep_as(names_.mask_type(), fmt::format("vmfne_vv_{}_{}({}, {}, vl)", names_.f(), names_.mask(), side->text, side->text));
    result = keep(fmt::format("{}({}, {}, {}, vl)", f("vmerge_vvm"), missing, result, side->text));
  }
  return {true, result};
}

std::string strip::mask(const context& c, int node) {
  const expression& e = c.s.nodes[at(node)];
  const auto named = [&](const std::string& text) { return keep_as(names_.mask_type(), text); };
  if (!depends_on(c.s, node, c.inner)) {
    const std::string scalar = c_scalar(ir_, c.s).value(node, value_class::boolean);
    return named(fmt::format("{0} ? vmset_m_{1}(vl) : vmclr_m_{1}(vl)", scalar, names_.mask()));
  }
  if (e.op == operation::logical_not) return named(fmt::format("vmnot_m_{}({}, vl)", names_.mask(), mask(c, e.arguments[0])));
  if (is_logic(e.op)) {
    const std::string a = mask(c, e.arguments[0]), b = mask(c, e.arguments[1]);
    return named(fmt::format("{}_mm_{}({}, {}, vl)", e.op == operation::logical_and ? "vmand" : "vmor", names_.mask(), a, b));
  }
  const std::string a = vector(render(c, e.arguments[0])), b = vector(render(c, e.arguments[1]));
  const char* name = e.op == operation::less            ? "vmflt"
                     : e.op == operation::less_equal    ? "vmfle"
                     : e.op == operation::greater       ? "vmfgt"
                     : e.op == operation::greater_equal ? "vmfge"
                     : e.op == operation::equal         ? "vmfeq"
                                                        : "vmfne";
  return named(fmt::format("{}_vv_{}_{}({}, {}, vl)", name, names_.f(), names_.mask(), a, b));
}

operand strip::call(const context& c, const expression& e) {
  const auto argument = [&](std::size_t i) { return render(c, e.arguments[i]); };
  const auto exp_of = [&](const std::string& x) {
    preludes_.insert(exp_piece(exp_degree_, names_.group));
    return keep(fmt::format("ks_{}({}, vl)", exp_piece(exp_degree_, names_.group), x));
  };
  switch (e.op) {
    case operation::add:
      return binary("vfadd", "", argument(0), argument(1), true);
    case operation::subtract:
      return binary("vfsub", "vfrsub", argument(0), argument(1), false);
    case operation::multiply:
      return binary("vfmul", "", argument(0), argument(1), true);
    case operation::divide:
      return binary("vfdiv", "vfrdiv", argument(0), argument(1), false);
    case operation::minimum:
    case operation::maximum:
      return extremum(e.op == operation::maximum, argument(0), argument(1));
    case operation::negate:
      return {true, keep(fmt::format("{}({}, vl)", f("vfneg_v"), vector(argument(0))))};
    case operation::absolute:
      return {true, keep(fmt::format("{}({}, vl)", f("vfabs_v"), vector(argument(0))))};
    case operation::sqrt:
      return {true, keep(fmt::format("{}({}, vl)", f("vfsqrt_v"), vector(argument(0))))};
    case operation::rsqrt:
      return {true, keep(fmt::format("{}({}({}, vl), 1.0f, vl)", f("vfrdiv_vf"), f("vfsqrt_v"), vector(argument(0))))};
    case operation::exp:
      return {true, exp_of(vector(argument(0)))};
    case operation::sigmoid: {
      const std::string e_x = exp_of(keep(fmt::format("{}({}, vl)", f("vfneg_v"), vector(argument(0)))));
      return {true, keep(fmt::format("{0}({1}({2}, 1.0f, vl), 1.0f, vl)", f("vfrdiv_vf"), f("vfadd_vf"), e_x))};
    }
    case operation::fma: {
      const std::string a = vector(argument(0)), b = vector(argument(1)), sum = vector(argument(2));
      return {true, keep(fmt::format("{}({}, {}, {}, vl)", f("vfmadd_vv"), a, b, sum))};
    }
    case operation::select: {
      const std::string where = mask(c, e.arguments[0]), yes = vector(argument(1)), no = vector(argument(2));
      return {true, keep(fmt::format("{}({}, {}, {}, vl)", f("vmerge_vvm"), where, no, yes))};
    }
    default:
      return {true, vector({false, "0.0f"})};  // vectorises() lets nothing else through
  }
}

}  // namespace kernsmith::agents::vector_c
