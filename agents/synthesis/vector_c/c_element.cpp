#include "agents/synthesis/vector_c/c_element.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kernsmith::agents::vector_c {
namespace {

const expression& root_of(const statement& s) {
  return s.nodes[static_cast<std::size_t>(s.root)];
}

/// Booleans take part in sums and maxima as integers.
value_class class_of(const expression& e) {
  return e.type == value_class::real ? value_class::real : value_class::integer;
}

std::string initial(const expression& e, value_class type) {
  const bool real = type == value_class::real;
  switch (e.reducer) {
    case reduction::prod:
    case reduction::all:
      return "1";
    case reduction::max:
      return real ? "-INFINITY" : "INT64_MIN";
    case reduction::min:
      return real ? "INFINITY" : "INT64_MAX";
    default:
      return "0";
  }
}

std::string combined(const c_scalar& scalar, const expression& e, value_class type, const std::string& next) {
  switch (e.reducer) {
    case reduction::sum:
      return "ks_sum + " + next;
    case reduction::prod:
      return "ks_sum * " + next;
    case reduction::max:
    case reduction::min:
      return fmt::format("{}(ks_sum, {})", scalar.extremum(e.reducer == reduction::max, type), next);
    case reduction::all:
      return "ks_sum & " + next;
    default:
      return "ks_sum | " + next;
  }
}

/// argmax and argmin: the first position, row-major over the bound indices, whose value no other exceeds.
void write_search(source_writer& out, const statement& s, const c_scalar& scalar, const element_writing& how) {
  const expression& e = root_of(s);
  const value_class body = class_of(s.nodes[static_cast<std::size_t>(e.arguments[0])]);
  out.line(fmt::format("{} ks_best = 0;", scalar.type_text(body)));
  out.line("int64_t ks_at = -1, ks_position = 0;");
  for (const int variable : e.bound) how.open_loop(variable, false);
  out.line(fmt::format("const {} ks_next = {};", scalar.type_text(body), scalar.value(e.arguments[0], body)));
  out.open(fmt::format("if (ks_at < 0 || ks_next {} ks_best)", e.reducer == reduction::argmax ? ">" : "<"));
  out.line("ks_best = ks_next;");
  out.line("ks_at = ks_position;");
  out.close();
  out.line("++ks_position;");
  for (std::size_t i = 0; i < e.bound.size(); ++i) out.close();
  out.line(scalar.store("ks_at", value_class::integer));
}

void write_reduction(source_writer& out, const statement& s, const c_scalar& scalar, const element_writing& how) {
  const expression& e = root_of(s);
  const bool scan = e.kind == expression_kind::scan, adds = e.reducer == reduction::sum || e.reducer == reduction::prod;
  const value_class type = class_of(e);
  const bool in_double = how.sums_in_double && adds && type == value_class::real;
  out.line(fmt::format("{} ks_sum = {};", in_double ? "double" : scalar.type_text(type), initial(e, type)));
  for (std::size_t i = 0; i < e.bound.size(); ++i) how.open_loop(e.bound[i], !scan && i + 1 == e.bound.size());
  const value_class body = e.reducer == reduction::any || e.reducer == reduction::all ? value_class::boolean : type;
  out.line(fmt::format("ks_sum = {};", combined(scalar, e, type, scalar.value(e.arguments[0], body))));
  if (scan) out.line(scalar.store("ks_sum", type));
  for (std::size_t i = 0; i < e.bound.size(); ++i) out.close();
  if (!scan) out.line(scalar.store("ks_sum", type));
}

}  // namespace

bool is_reduction(const statement& s) {
  return root_of(s).kind == expression_kind::reduce || root_of(s).kind == expression_kind::scan;
}

std::vector<int> element_variables(const statement& s) {
  std::vector<int> variables = s.target_indices;
  if (root_of(s).kind == expression_kind::scan) std::erase(variables, root_of(s).bound[0]);
  return variables;
}

void write_element(source_writer& out, const statement& s, const c_scalar& scalar, const element_writing& how) {
  const expression& root = root_of(s);
  if (!is_reduction(s))
    out.line(scalar.store(scalar.value(s.root, root.type), root.type));
  else if (root.kind == expression_kind::reduce && (root.reducer == reduction::argmax || root.reducer == reduction::argmin))
    write_search(out, s, scalar, how);
  else
    write_reduction(out, s, scalar, how);
}

}  // namespace kernsmith::agents::vector_c
