#include "agents/synthesis/simt/simt_emission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "agents/synthesis/scalar_expression.hpp"
#include "agents/synthesis/simt/simt_prelude.hpp"

namespace kernsmith::agents::simt {
namespace {

const tensor_declaration& tensor_of(const tensor_ir& ir, int id) {
  return ir.tensors[static_cast<std::size_t>(id)];
}

const statement& statement_of(const tensor_ir& ir, int id) {
  return ir.statements[static_cast<std::size_t>(id)];
}

/// Largest coefficient of an index in a position; 0 when a product of axes scales one, which no constant bounds.
std::int64_t largest_coefficient(const statement& s) {
  std::int64_t largest = 1;
  for (const expression& e : s.nodes)
    for (const index_expression& position : e.indices)
      for (const affine_term& term : position.terms) {
        if (term.index >= 0 && !term.axes.empty()) return 0;
        largest = std::max(largest, std::abs(term.coefficient));
      }
  return largest;
}

}  // namespace

std::string parameter_text(const tensor_ir& ir, const function_parameters& parameters, const std::vector<int>& statements,
                           const std::string& index) {
  std::string text;
  const auto append = [&](const std::string& parameter) { text += (text.empty() ? "" : ", ") + parameter; };
  for (const int id : parameters.tensors) {
    const std::string type = simt_storage_type(tensor_of(ir, id).type);
    const bool written = std::any_of(statements.begin(), statements.end(), [&](int s) { return statement_of(ir, s).target == id; });
    append(fmt::format("{}{}* __restrict__ {}", written ? "" : "const ", type, tensor_of(ir, id).name));
  }
  for (const int id : parameters.axes) append(fmt::format("{} {}", index, ir.axes[static_cast<std::size_t>(id)].name));
  return text;
}

std::string argument_text(const tensor_ir& ir, const function_parameters& parameters) {
  std::string text;
  const auto append = [&](const std::string& argument) { text += (text.empty() ? "" : ", ") + argument; };
  for (const int id : parameters.tensors) append(tensor_of(ir, id).name);
  for (const int id : parameters.axes) append(ir.axes[static_cast<std::size_t>(id)].name);
  return text;
}

std::string product_text(const tensor_ir& ir, const std::vector<dim>& shape) {
  std::string text;
  for (const dim& d : shape) text += (text.empty() ? "" : " * ") + extent_text(ir, d);
  return text.empty() ? "1" : text;
}

std::string fits_narrow(const tensor_ir& ir, const std::vector<int>& statements) {
  std::set<std::string> bounded;
  for (const int id : statements) {
    const statement& s = statement_of(ir, id);
    const std::int64_t coefficient = largest_coefficient(s);
    if (coefficient == 0 || coefficient > largest_narrow) return "false";
    const auto bound = [&](const std::string& count, std::int64_t factor) {
      bounded.insert(fmt::format("{} <= {}", count, largest_narrow / factor));
    };
    bound(product_text(ir, tensor_of(ir, s.target).shape), 1);
    for (const expression& e : s.nodes)
      if (e.kind == expression_kind::load) bound(product_text(ir, tensor_of(ir, e.symbol).shape), 1);
    for (const index_variable& variable : s.variables) bound(extent_text(ir, variable.extent), coefficient);
  }
  std::string text;
  for (const std::string& condition : bounded)
    if (std::isdigit(static_cast<unsigned char>(condition[0])) == 0 || condition.find('*') != std::string::npos)
      text += (text.empty() ? "" : " && ") + condition;
  return text.empty() ? "true" : text;
}

std::string call_of(const std::string& function, const std::string& arguments) {
  return fmt::format("if (const int ks_failed = {}({}{}ks_stream)) return ks_failed;\n", function, arguments,
                     arguments.empty() ? "" : ", ");
}

std::string identity_of(reduction reducer, value_class type) {
  const bool real = type == value_class::real;
  switch (reducer) {
    case reduction::sum:
      return "0";
    case reduction::prod:
      return "1";
    case reduction::max:
      return real ? "-INFINITY" : "INT64_MIN";
    case reduction::min:
      return real ? "INFINITY" : "INT64_MAX";
    case reduction::any:
      return "false";
    case reduction::all:
      return "true";
    case reduction::argmax:
    case reduction::argmin:
      return "0";
  }
  return "0";
}

value_class accumulated_class(reduction reducer, value_class type) {
  if (reducer == reduction::any || reducer == reduction::all) return value_class::boolean;
  return type == value_class::boolean ? value_class::integer : type;
}

std::string accumulate(reduction reducer, value_class of, const std::string& type, const std::string& into, const std::string& value) {
  const bool real = of == value_class::real;
  switch (reducer) {
    case reduction::sum:
      return real ? fmt::format("{} += {};", into, value) : fmt::format("{0} = ks_add({0}, {1});", into, value);
    case reduction::prod:
      return real ? fmt::format("{} *= {};", into, value) : fmt::format("{0} = ks_multiply({0}, {1});", into, value);
    case reduction::max:
      return fmt::format("{0} = ks_max<{1}>({0}, {2});", into, type, value);
    case reduction::min:
      return fmt::format("{0} = ks_min<{1}>({0}, {2});", into, type, value);
    case reduction::any:
      return fmt::format("{0} = {0} || ({1});", into, value);
    case reduction::all:
      return fmt::format("{0} = {0} && ({1});", into, value);
    case reduction::argmax:
    case reduction::argmin:
      break;
  }
  return "";
}

}  // namespace kernsmith::agents::simt
