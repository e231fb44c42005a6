// Expressions back in the words of the definition language.
#include <fmt/format.h>

#include <cstdlib>

#include "agents/synthesis/expression_tools.hpp"

namespace kernsmith::agents {
namespace {

struct naming {
  const std::vector<axis>& axes;
  const std::vector<tensor_declaration>& tensors;
  const statement& s;
};

/// How tightly an operator binds; a child that binds less tightly than its place asks for gets parentheses.
constexpr int binds_loosest = 0, binds_or = 1, binds_and = 2, binds_not = 3, binds_compare = 4, binds_sum = 5, binds_product = 6,
              binds_sign = 7;

std::string render(const naming& n, int node, int outer);

std::string affine_text(const naming& n, const index_expression& position) {
  std::string text;
  const auto append = [&](std::int64_t coefficient, const std::string& what) {
    const std::int64_t size = std::abs(coefficient);
    const std::string term = what.empty() ? std::to_string(size) : size == 1 ? what : fmt::format("{}*{}", size, what);
    text += text.empty() ? (coefficient < 0 ? "-" + term : term) : fmt::format(" {} {}", coefficient < 0 ? '-' : '+', term);
  };
  for (const affine_term& term : position.terms) {
    std::string what = term.index >= 0 ? n.s.variables[static_cast<std::size_t>(term.index)].name : "";
    for (const int a : term.axes) what += (what.empty() ? "" : "*") + n.axes[static_cast<std::size_t>(a)].name;
    append(term.coefficient, what);
  }
  if (position.constant != 0 || text.empty()) append(position.constant, "");
  return text;
}

std::string load_text(const naming& n, const expression& e) {
  std::string inside;
  for (const index_expression& position : e.indices) {
    inside += inside.empty() ? "" : ",";
    inside += position.is_affine ? affine_text(n, position) : render(n, position.gather, binds_loosest);
  }
  return n.tensors[static_cast<std::size_t>(e.symbol)].name + (inside.empty() ? "" : "[" + inside + "]");
}

struct infix {
  const char* symbol;
  int binds;
};

std::optional<infix> infix_of(operation op) {
  switch (op) {
    case operation::add:
      return infix{"+", binds_sum};
    case operation::subtract:
      return infix{"-", binds_sum};
    case operation::multiply:
      return infix{"*", binds_product};
    case operation::divide:
      return infix{"/", binds_product};
    case operation::less:
      return infix{"<", binds_compare};
    case operation::less_equal:
      return infix{"<=", binds_compare};
    case operation::greater:
      return infix{">", binds_compare};
    case operation::greater_equal:
      return infix{">=", binds_compare};
    case operation::equal:
      return infix{"==", binds_compare};
    case operation::not_equal:
      return infix{"!=", binds_compare};
    case operation::logical_and:
      return infix{"and", binds_and};
    case operation::logical_or:
      return infix{"or", binds_or};
    default:
      return std::nullopt;
  }
}

std::string_view function_of(operation op) {
  switch (op) {
    case operation::select:
      return "select";
    case operation::minimum:
      return "min";
    case operation::maximum:
      return "max";
    case operation::absolute:
      return "abs";
    case operation::exp:
      return "exp";
    case operation::log:
      return "log";
    case operation::log1p:
      return "log1p";
    case operation::expm1:
      return "expm1";
    case operation::sqrt:
      return "sqrt";
    case operation::rsqrt:
      return "rsqrt";
    case operation::pow:
      return "pow";
    case operation::tanh:
      return "tanh";
    case operation::erf:
      return "erf";
    case operation::sigmoid:
      return "sigmoid";
    case operation::sin:
      return "sin";
    case operation::cos:
      return "cos";
    case operation::floor:
      return "floor";
    case operation::ceil:
      return "ceil";
    case operation::round:
      return "round";
    case operation::fma:
      return "fma";
    default:
      return "";
  }
}

std::string_view reduction_name(const expression& e) {
  const bool scan = e.kind == expression_kind::scan;
  switch (e.reducer) {
    case reduction::sum:
      return scan ? "cumsum" : "sum";
    case reduction::max:
      return scan ? "cummax" : "max";
    case reduction::min:
      return scan ? "cummin" : "min";
    case reduction::prod:
      return scan ? "cumprod" : "prod";
    case reduction::any:
      return "any";
    case reduction::all:
      return "all";
    case reduction::argmax:
      return "argmax";
    case reduction::argmin:
      return "argmin";
  }
  return "";
}

std::string call_text(const naming& n, const expression& e, int outer) {
  const auto enclose = [&](int binds, const std::string& text) { return binds < outer ? "(" + text + ")" : text; };
  if (e.op == operation::negate) return enclose(binds_sign, "-" + render(n, e.arguments[0], binds_sign));
  if (e.op == operation::logical_not) return enclose(binds_not, "not " + render(n, e.arguments[0], binds_not));
  if (const std::optional<infix> op = infix_of(e.op)) {
    return enclose(op->binds,
                   fmt::format("{} {} {}", render(n, e.arguments[0], op->binds), op->symbol, render(n, e.arguments[1], op->binds + 1)));
  }
  std::string arguments;
  for (const int argument : e.arguments) arguments += (arguments.empty() ? "" : ", ") + render(n, argument, binds_loosest);
  return fmt::format("{}({})", function_of(e.op), arguments);
}

std::string render(const naming& n, int node, int outer) {
  const expression& e = n.s.nodes[static_cast<std::size_t>(node)];
  switch (e.kind) {
    case expression_kind::number:
      return e.type == value_class::integer ? std::to_string(e.integer) : fmt::format("{}", e.number);
    case expression_kind::index:
      return n.s.variables[static_cast<std::size_t>(e.symbol)].name;
    case expression_kind::axis:
      return n.axes[static_cast<std::size_t>(e.symbol)].name;
    case expression_kind::load:
      return load_text(n, e);
    case expression_kind::call:
      return call_text(n, e, outer);
    case expression_kind::cast:
      return fmt::format("{}({})", name_of(e.cast_to), render(n, e.arguments[0], binds_loosest));
    case expression_kind::reduce:
    case expression_kind::scan: {
      std::string bound;
      for (const int id : e.bound) bound += (bound.empty() ? "" : ", ") + n.s.variables[static_cast<std::size_t>(id)].name;
      return fmt::format("{}({}: {})", reduction_name(e), bound, render(n, e.arguments[0], binds_loosest));
    }
  }
  return "";
}

}  // namespace

std::string expression_text(const std::vector<axis>& axes, const std::vector<tensor_declaration>& tensors, const statement& s, int node) {
  return render(naming{axes, tensors, s}, node, binds_loosest);
}

std::string statement_text(const std::vector<axis>& axes, const std::vector<tensor_declaration>& tensors, const statement& s) {
  std::string indices;
  for (const int id : s.target_indices) indices += (indices.empty() ? "" : ",") + s.variables[static_cast<std::size_t>(id)].name;
  return fmt::format("{}{} = {}", tensors[static_cast<std::size_t>(s.target)].name, indices.empty() ? "" : "[" + indices + "]",
                     expression_text(axes, tensors, s, s.root));
}

}  // namespace kernsmith::agents
