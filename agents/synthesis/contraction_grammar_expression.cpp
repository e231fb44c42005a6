#include "agents/synthesis/contraction_grammar_expression.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/expression_tools.hpp"

namespace kernsmith::agents::nest {
namespace {

std::size_t at(int id) {
  return static_cast<std::size_t>(id);
}

}  // namespace

polynomial polynomial::constant(std::int64_t value) {
  polynomial p;
  if (value != 0) p.terms[{}] = value;
  return p;
}

polynomial polynomial::of(const dim& extent) {
  if (extent.axis < 0) return constant(extent.constant);
  polynomial p;
  p.terms[{extent.axis}] = 1;
  return p;
}

std::optional<std::int64_t> polynomial::as_constant() const {
  if (terms.empty()) return 0;
  if (terms.size() == 1 && terms.begin()->first.empty()) return terms.begin()->second;
  return std::nullopt;
}

std::int64_t polynomial::value(const std::vector<std::int64_t>& axes) const {
  std::int64_t sum = 0;
  for (const auto& [product, coefficient] : terms) {
    std::int64_t term = coefficient;
    for (const int axis : product) term *= axes[at(axis)];
    sum += term;
  }
  return sum;
}

std::string polynomial::text(const tensor_ir& ir) const {
  std::string sum;
  for (const auto& [product, coefficient] : terms) {
    std::string term = coefficient != 1 || product.empty() ? std::to_string(coefficient) : "";
    for (const int axis : product) term += (term.empty() ? "t." : " * t.") + ir.axes[at(axis)].name;
    sum += (sum.empty() ? "" : " + ") + term;
  }
  if (sum.empty()) return "0";
  return terms.size() > 1 ? "(" + sum + ")" : sum;
}

polynomial operator+(const polynomial& a, const polynomial& b) {
  polynomial sum = a;
  for (const auto& [product, coefficient] : b.terms)
    if ((sum.terms[product] += coefficient) == 0) sum.terms.erase(product);
  return sum;
}

polynomial operator*(const polynomial& a, const polynomial& b) {
  polynomial product;
  for (const auto& [axes_a, coefficient_a] : a.terms) {
    for (const auto& [axes_b, coefficient_b] : b.terms) {
      std::vector<int> axes = axes_a;
      axes.insert(axes.end(), axes_b.begin(), axes_b.end());
      std::sort(axes.begin(), axes.end());
      polynomial term;
      term.terms[std::move(axes)] = coefficient_a * coefficient_b;
      product = product + term;
    }
  }
  return product;
}

polynomial linear_form::stride(int variable) const {
  const auto found = strides.find(variable);
  return found == strides.end() ? polynomial{} : found->second;
}

int program::add(node n) {
  nodes.push_back(std::move(n));
  return static_cast<int>(nodes.size()) - 1;
}

int program::multiply(int a, int b) {
  node product;
  product.kind = node_kind::call;
  product.op = operation::multiply;
  const bool real = nodes[at(a)].type == value_class::real || nodes[at(b)].type == value_class::real;
  product.type = real ? value_class::real : value_class::integer;
  product.arguments = {a, b};
  return add(std::move(product));
}

int program::cast(int argument, dtype to) {
  node rounded;
  rounded.kind = node_kind::cast;
  rounded.cast_to = to;
  rounded.type = is_float(to) ? value_class::real : to == dtype::boolean ? value_class::boolean : value_class::integer;
  rounded.arguments = {argument};
  return add(std::move(rounded));
}

std::optional<linear_form> program::locate(int tensor, const std::vector<index_expression>& positions,
                                           const std::vector<int>& rename) const {
  const tensor_declaration& declared = ir->tensors[at(tensor)];
  linear_form form;
  form.tensor = tensor;
  polynomial row = polynomial::constant(1);  // elements per step of this dimension
  for (std::size_t d = declared.shape.size(); d-- > 0; row = row * polynomial::of(declared.shape[d])) {
    const index_expression& position = positions[d];
    if (!position.is_affine) return std::nullopt;
    form.offset = form.offset + row * polynomial::constant(position.constant);
    for (const affine_term& term : position.terms) {
      polynomial stride;
      stride.terms[term.axes] = term.coefficient;
      stride = stride * row;
      if (term.index < 0) {
        form.offset = form.offset + stride;
        continue;
      }
      const int variable = rename[at(term.index)];
      if (variable < 0) return std::nullopt;
      form.strides[variable] = form.stride(variable) + stride;
      if (form.strides[variable].is_zero()) form.strides.erase(variable);
    }
  }
  return form;
}

namespace {

/// Is every position one whole index, so that nothing falls outside whatever the pad?
bool always_inside(const tensor_declaration& tensor, const statement& s, const expression& load) {
  for (std::size_t d = 0; d < load.indices.size(); ++d) {
    const int index = sole_index(load.indices[d]);
    if (index < 0 || !(s.variables[at(index)].extent == tensor.shape[d])) return false;
  }
  return true;
}

}  // namespace

guard program::position_in(std::size_t d, const expression& load, const std::vector<int>& rename) const {
  const index_expression& position = load.indices[d];
  guard g;
  g.extent = polynomial::of(ir->tensors[at(load.symbol)].shape[d]);
  g.offset = polynomial::constant(position.constant);
  for (const affine_term& term : position.terms) {
    polynomial stride;
    stride.terms[term.axes] = term.coefficient;
    if (term.index < 0)
      g.offset = g.offset + stride;
    else
      g.strides[rename[at(term.index)]] = g.strides[rename[at(term.index)]] + stride;
  }
  return g;
}

std::vector<guard> program::guards_of(const statement& s, const expression& load, const std::vector<int>& rename) const {
  const tensor_declaration& tensor = ir->tensors[at(load.symbol)];
  std::vector<guard> guards;
  for (std::size_t d = 0; d < load.indices.size(); ++d) {
    const index_expression& position = load.indices[d];
    const int sole = sole_index(position);
    if (sole >= 0 && s.variables[at(sole)].extent == tensor.shape[d]) continue;
    guards.push_back(position_in(d, load, rename));
  }
  return guards;
}

std::optional<int> program::import(const statement& s, int id, const std::vector<int>& rename) {
  const expression& e = s.nodes[at(id)];
  node copy;
  copy.type = e.type;
  copy.op = e.op;
  copy.cast_to = e.cast_to;
  copy.number = e.number;
  copy.integer = e.integer;
  copy.symbol = e.symbol;
  switch (e.kind) {
    case expression_kind::number:
      copy.kind = node_kind::number;
      return add(std::move(copy));
    case expression_kind::axis:
      copy.kind = node_kind::axis;
      return add(std::move(copy));
    case expression_kind::index:
      copy.kind = node_kind::variable;
      copy.symbol = rename[at(e.symbol)];
      if (copy.symbol < 0) return std::nullopt;
      return add(std::move(copy));
    case expression_kind::call:
    case expression_kind::cast:
      copy.kind = e.kind == expression_kind::call ? node_kind::call : node_kind::cast;
      for (const int argument : e.arguments) {
        const std::optional<int> imported = import(s, argument, rename);
        if (!imported) return std::nullopt;
        copy.arguments.push_back(*imported);
      }
      return add(std::move(copy));
    case expression_kind::reduce:
    case expression_kind::scan:
      return std::nullopt;
    case expression_kind::load:
      break;
  }
  const tensor_declaration& declared = ir->tensors[at(e.symbol)];
  const auto found = inner.find(e.symbol);
  if (found == inner.end()) {
    if (declared.pad && !always_inside(declared, s, e)) {
      if (!allow_pad || !is_float(declared.type)) return std::nullopt;
      copy.number = *declared.pad;
    }
    const std::optional<linear_form> where = locate(e.symbol, e.indices, rename);
    if (!where) return std::nullopt;
    copy.kind = node_kind::load;
    copy.where = *where;
    if (declared.pad) copy.guards = guards_of(s, e, rename);
    for (std::size_t d = 0; d < e.indices.size(); ++d) {
      guard walked = position_in(d, e, rename);
      if (walked.strides.size() > 1) copy.windows.push_back(std::move(walked));
    }
    return add(std::move(copy));
  }

  // A tensor of this nest: only its current element exists.
  std::vector<int> here;
  for (const index_expression& position : e.indices) {
    const int index = sole_index(position);
    if (index < 0 || rename[at(index)] < 0) return std::nullopt;
    here.push_back(rename[at(index)]);
  }
  if (found->second.value >= 0) {
    if (here != found->second.variables) return std::nullopt;
    copy.kind = node_kind::value;
    copy.symbol = found->second.value;
    return add(std::move(copy));
  }
  const statement& producer = *found->second.producer;
  std::vector<int> producer_rename(producer.variables.size(), -1);
  for (std::size_t d = 0; d < here.size(); ++d) {
    const polynomial& extent = variables[at(here[d])].extent;
    if (!(extent == polynomial::of(declared.shape[d]))) return std::nullopt;
    producer_rename[at(producer.target_indices[d])] = here[d];
  }
  const std::optional<int> inlined = import(producer, producer.root, producer_rename);
  if (!inlined) return std::nullopt;
  return declared.type_declared || !is_float(declared.type) ? cast(*inlined, declared.type) : *inlined;
}

std::set<int> program::used(int root) const {
  const node& n = nodes[at(root)];
  std::set<int> all;
  if (n.kind == node_kind::variable) all.insert(n.symbol);
  for (const auto& [variable, stride] : n.where.strides) all.insert(variable);
  for (const guard& g : n.guards)
    for (const auto& [variable, stride] : g.strides) all.insert(variable);
  for (const int argument : n.arguments) all.merge(used(argument));
  return all;
}

bool program::counts(int variable) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](const node& n) { return n.kind == node_kind::variable && n.symbol == variable; });
}

bool program::reads_f64(int root) const {
  const node& n = nodes[at(root)];
  if (n.kind == node_kind::load && ir->tensors[at(n.where.tensor)].type == dtype::f64) return true;
  if (n.kind == node_kind::cast && n.cast_to == dtype::f64) return true;
  return std::any_of(n.arguments.begin(), n.arguments.end(), [&](int argument) { return reads_f64(argument); });
}

bool program::mergeable(int outer, int inner_variable, const std::vector<linear_form>& forms) const {
  if (counts(outer) || counts(inner_variable)) return false;
  const polynomial& extent = variables[at(inner_variable)].extent;
  const auto fits = [&](const linear_form& form) { return form.stride(outer) == form.stride(inner_variable) * extent; };
  return std::all_of(forms.begin(), forms.end(), fits) && std::all_of(nodes.begin(), nodes.end(), [&](const node& n) {
           const bool guarded = std::any_of(n.guards.begin(), n.guards.end(), [&](const guard& g) {
             return g.strides.contains(outer) || g.strides.contains(inner_variable);
           });
           return n.kind != node_kind::load || (fits(n.where) && !guarded);
         });
}

void program::merge(int outer, int inner_variable, std::vector<linear_form>& forms) {
  loop_variable& kept = variables[at(inner_variable)];
  kept.name = variables[at(outer)].name + "_" + kept.name;
  kept.extent = kept.extent * variables[at(outer)].extent;
  for (linear_form& form : forms) form.strides.erase(outer);
  for (node& n : nodes) n.where.strides.erase(outer);
}

bool contiguous(const program& p, int root, int variable) {
  const node& n = p.nodes[at(root)];
  if (n.kind == node_kind::load) {
    const std::optional<std::int64_t> stride = n.where.stride(variable).as_constant();
    if (!stride || (*stride != 0 && *stride != 1)) return false;
  }
  return std::all_of(n.arguments.begin(), n.arguments.end(), [&](int argument) { return contiguous(p, argument, variable); });
}

bool vectorisable(const program& p, int root, int variable) {
  const node& n = p.nodes[at(root)];
  const auto small = [&](int id) {  // exact in float lanes
    const node& operand = p.nodes[at(id)];
    if (operand.type == value_class::real || operand.type == value_class::boolean) return true;
    if (operand.kind == node_kind::number) return std::abs(operand.integer) < (1 << 24);
    return operand.kind == node_kind::load && size_of(p.ir->tensors[at(operand.where.tensor)].type) <= 2;
  };
  switch (n.kind) {
    case node_kind::variable:
      return n.symbol != variable;
    case node_kind::load: {
      const auto along = std::count_if(n.guards.begin(), n.guards.end(), [&](const guard& g) { return g.strides.contains(variable); });
      return along <= 1;
    }
    case node_kind::cast:
      if (n.type == value_class::integer) return false;
      break;
    case node_kind::call: {
      if (n.type == value_class::integer) return false;
      const bool compares = n.op >= operation::less && n.op <= operation::not_equal;
      const bool mixes_masks = n.op == operation::minimum || n.op == operation::maximum || n.op == operation::select;
      if ((compares || n.op == operation::logical_and || n.op == operation::logical_or || n.op == operation::logical_not) &&
          !std::all_of(n.arguments.begin(), n.arguments.end(), small))
        return false;
      if (mixes_masks && n.type != value_class::real) return false;
      break;
    }
    default:
      break;
  }
  return std::all_of(n.arguments.begin(), n.arguments.end(), [&](int argument) { return vectorisable(p, argument, variable); });
}

}  // namespace kernsmith::agents::nest
