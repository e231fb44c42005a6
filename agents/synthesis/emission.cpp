#include "agents/synthesis/emission.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "agents/synthesis/prelude.hpp"

namespace kernsmith::agents {
namespace {

void add_dim(const dim& d, std::set<int>& axes) {
  if (d.axis >= 0) axes.insert(d.axis);
}

void add_axes(const tensor_ir& ir, const statement& s, std::set<int>& axes) {
  for (const index_variable& variable : s.variables) add_dim(variable.extent, axes);
  for (const dim& d : ir.tensors[static_cast<std::size_t>(s.target)].shape) add_dim(d, axes);
  for (const expression& e : s.nodes) {
    if (e.kind == expression_kind::axis) axes.insert(e.symbol);
    if (e.kind != expression_kind::load) continue;
    for (const dim& d : ir.tensors[static_cast<std::size_t>(e.symbol)].shape) add_dim(d, axes);
    for (const index_expression& position : e.indices)
      for (const affine_term& term : position.terms) axes.insert(term.axes.begin(), term.axes.end());
  }
}

}  // namespace

function_parameters parameters_of(const tensor_ir& ir, const std::vector<int>& statements) {
  std::set<int> tensors, axes;
  for (const int id : statements) {
    const statement& s = ir.statements[static_cast<std::size_t>(id)];
    tensors.insert(s.target);
    for (const expression& e : s.nodes)
      if (e.kind == expression_kind::load) tensors.insert(e.symbol);
    add_axes(ir, s, axes);
  }
  return {{tensors.begin(), tensors.end()}, {axes.begin(), axes.end()}};
}

std::string declare_parameters(const tensor_ir& ir, const function_parameters& parameters, const std::vector<int>& statements) {
  std::string text;
  for (const int id : parameters.tensors) {
    const tensor_declaration& tensor = ir.tensors[static_cast<std::size_t>(id)];
    const bool written =
        std::any_of(statements.begin(), statements.end(), [&](int s) { return ir.statements[static_cast<std::size_t>(s)].target == id; });
    text += fmt::format("{}{}* __restrict {}, ", written ? "" : "const ", storage_type(tensor.type), tensor.name);
  }
  for (const int id : parameters.axes) text += fmt::format("int64_t {}, ", ir.axes[static_cast<std::size_t>(id)].name);
  return text + "int threads";
}

std::string pass_parameters(const tensor_ir& ir, const function_parameters& parameters) {
  std::string text;
  for (const int id : parameters.tensors) text += ir.tensors[static_cast<std::size_t>(id)].name + ", ";
  for (const int id : parameters.axes) text += ir.axes[static_cast<std::size_t>(id)].name + ", ";
  return text + "ctx->threads";
}

}  // namespace kernsmith::agents
