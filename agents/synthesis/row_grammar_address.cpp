// Names and addresses of a row program's elements.
#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/prelude.hpp"
#include "agents/synthesis/row_grammar_expression.hpp"

namespace kernsmith::agents::row {

void text_block::line(const std::string& text, int deeper) {
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) text_ += std::string(static_cast<std::size_t>(2 * (depth_ + deeper)), ' ') + text.substr(begin, end - begin);
    text_ += '\n';
    begin = end + 1;
  }
}

std::string expression_writer::fresh(const std::string& base) {
  const int n = counters_[base]++;
  return n == 0 ? base : fmt::format("{}_{}", base, n + 1);
}

std::string expression_writer::tensor_name(int tensor) const {
  return p_.names.tensors[static_cast<std::size_t>(tensor)];
}

std::string expression_writer::stem(int tensor) const {
  return p_.names.stems[static_cast<std::size_t>(tensor)];
}

std::string expression_writer::axis_name(int axis) const {
  return p_.names.axes[static_cast<std::size_t>(axis)];
}

std::string expression_writer::value_name(const row_statement& s) const {
  const bool per_row = s.kind == role::point || s.kind == role::reduce;
  return stem(s.tensor) + (per_row ? "_row" : "_v");
}

bool expression_writer::in_lanes(const row_statement& s) const {
  return plan_.where == lanes::across && std::find(s.target.begin(), s.target.end(), plan_.lane) != s.target.end();
}

std::string expression_writer::extent_text(const extent& e) const {
  std::string text;
  if (e.constant != 1 || e.axes.empty()) text = fmt::format("{}", e.constant);
  for (const int a : e.axes) {
    if (!text.empty()) text += " * ";
    text += axis_name(a);
  }
  return text;
}

std::string expression_writer::name_of(int index, const index_names& names) const {
  const auto found = names.find(index);
  return found != names.end() ? found->second : class_name(index);
}

std::string expression_writer::affine(const index_expression& index, const index_names& names) const {
  std::string text;
  const auto add = [&](bool negative, const std::string& term) {
    if (text.empty())
      text = negative ? "-" + term : term;
    else
      text += (negative ? " - " : " + ") + term;
  };
  for (const affine_term& t : index.terms) {
    std::string term;
    const std::int64_t size = t.coefficient < 0 ? -t.coefficient : t.coefficient;
    if (size != 1 || (t.axes.empty() && t.index < 0)) term = fmt::format("{}", size);
    for (const int a : t.axes) term += (term.empty() ? "" : " * ") + axis_name(a);
    if (t.index >= 0) term += (term.empty() ? "" : " * ") + name_of(t.index, names);
    add(t.coefficient < 0, term);
  }
  if (index.constant != 0) add(index.constant < 0, fmt::format("{}", index.constant < 0 ? -index.constant : index.constant));
  return text.empty() ? "0" : text;
}

namespace {

bool is_word(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

std::string in_parentheses(const std::string& text) {
  return is_word(text) ? text : "(" + text + ")";
}

}  // namespace

expression_writer::position expression_writer::locate(const row_statement& s, const expression& load, const index_names& names) {
  position found;
  const std::vector<extent>& shape = p_.shape(load.symbol);
  for (std::size_t d = 0; d < load.indices.size(); ++d) {
    const index_expression& index = load.indices[d];
    const std::string text = index.is_affine ? affine(index, names) : scalar(s, index.gather, value_class::integer, names);
    const std::string size = extent_text(shape[d]);
    if (needs_bounds(p_, load, d)) found.conditions.push_back(fmt::format("inside({}, {})", text, size));
    if (d == 0 || found.offset == "0")
      found.offset = text;
    else
      found.offset = fmt::format("{} * {} + {}", in_parentheses(found.offset), in_parentheses(size), text);
  }
  if (found.offset.empty()) found.offset = "0";
  return found;
}

std::string expression_writer::address(const row_statement& s, const expression& load, const index_names& names) {
  return fmt::format("{} + ({})", tensor_name(load.symbol), locate(s, load, names).offset);
}

std::string expression_writer::target_address(const row_statement& s, const index_names& names) const {
  const std::vector<extent>& shape = p_.shape(s.tensor);
  std::string offset;
  for (std::size_t d = 0; d < s.target.size(); ++d) {
    const std::string index = name_of(s.target[d], names);
    offset = d == 0 ? index : fmt::format("{} * {} + {}", in_parentheses(offset), in_parentheses(extent_text(shape[d])), index);
  }
  return fmt::format("{} + ({})", tensor_name(s.tensor), offset.empty() ? "0" : offset);
}

std::string expression_writer::buffer_address(int statement, const lane_scope& scope) const {
  std::string offset;
  for (const int c : scope.within->over) {
    if (offset.empty())
      offset = class_name(c);
    else
      offset = fmt::format("{} * {} + {}", in_parentheses(offset), in_parentheses(class_extent(c)), class_name(c));
  }
  if (plan_.where == lanes::across) offset = fmt::format("({} * V + v) * W", in_parentheses(offset));
  return fmt::format("{}_buffer + ({})", stem(p_.statements[static_cast<std::size_t>(statement)].tensor), offset);
}

value_class expression_writer::class_of(dtype type) {
  if (is_float(type)) return value_class::real;
  return type == dtype::boolean ? value_class::boolean : value_class::integer;
}

std::string expression_writer::scalar_load(const row_statement& s, const expression& e, const index_names& names) {
  const position at = locate(s, e, names);
  const std::string element = fmt::format("{}[{}]", tensor_name(e.symbol), at.offset);
  const dtype type = p_.tensor(e.symbol).type;
  std::string text;
  switch (class_of(type)) {
    case value_class::real:
      text = type == dtype::f64 ? element : fmt::format("to_double({})", element);
      break;
    case value_class::integer:
      text = fmt::format("int64_t({})", element);
      break;
    case value_class::boolean:
      text = fmt::format("({} != 0)", element);
      break;
  }
  if (at.conditions.empty()) return text;
  const double pad = *p_.tensor(e.symbol).pad;
  const std::string padding = class_of(type) == value_class::real      ? real_literal(pad)
                              : class_of(type) == value_class::integer ? fmt::format("int64_t({})", static_cast<std::int64_t>(pad))
                                                                       : std::string(pad != 0 ? "true" : "false");
  return fmt::format("({} ? {} : {})", fmt::join(at.conditions, " && "), text, padding);
}

}  // namespace kernsmith::agents::row
