#include "config/expression_resolver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "config/definition_names.hpp"
#include "config/refusal.hpp"
#include "config/text.hpp"

namespace kernsmith {

namespace {

bool is_integer_literal(std::string_view text) {
  return text.find_first_of(".eE") == std::string_view::npos;
}

std::int64_t integer_literal(const std::string& text, source_place place) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size())
    refuse(place, fmt::format("the integer {} does not fit into 64 bits; write {}.0 for a real number", text, text));
  return value;
}

}  // namespace

void expression_resolver::run(std::vector<range_claim>& claims) {
  claims_ = &claims;
  for (std::size_t v = 0; v < out_.variables.size(); ++v) bindings_.push_back({out_.variables[v].name, static_cast<int>(v)});
  out_.root = resolve(syntax_.root);
}

int expression_resolver::add(expression node) {
  out_.nodes.push_back(std::move(node));
  return static_cast<int>(out_.nodes.size()) - 1;
}

int expression_resolver::find_index(const std::string& name) const {
  for (auto b = bindings_.rbegin(); b != bindings_.rend(); ++b)
    if (b->name == name) return b->variable;
  return -1;
}

int expression_resolver::find_tensor(const std::string& name) const {
  for (std::size_t i = 0; i < scope_.p.tensors.size(); ++i)
    if (scope_.p.tensors[i].name == name) return static_cast<int>(i);
  return -1;
}

int expression_resolver::find_axis(const std::string& name) const {
  for (std::size_t i = 0; i < scope_.p.axes.size(); ++i)
    if (scope_.p.axes[i].name == name) return static_cast<int>(i);
  return -1;
}

int expression_resolver::resolve(int id) {
  const syntax_node& node = at(id);
  switch (node.which) {
    case syntax_node::kind::number:
      return number(node);
    case syntax_node::kind::name:
      return name(node);
    case syntax_node::kind::operation:
      return operation_node(node);
    case syntax_node::kind::call:
      return call(node);
    case syntax_node::kind::reduction:
      return reduce(node);
    case syntax_node::kind::load:
      return load(node);
  }
  return -1;
}

int expression_resolver::number(const syntax_node& node) {
  expression e;
  e.kind = expression_kind::number;
  e.place = node.place;
  if (is_integer_literal(node.text)) {
    e.integer = integer_literal(node.text, node.place);
    e.number = static_cast<double>(e.integer);
    e.type = value_class::integer;
  } else {
    e.number = std::strtod(node.text.c_str(), nullptr);
    if (!std::isfinite(e.number)) refuse(node.place, fmt::format("the number {} is too large for float64", node.text));
  }
  return add(std::move(e));
}

int expression_resolver::name(const syntax_node& node) {
  expression e;
  e.place = node.place;
  e.type = value_class::integer;
  if (const int variable = find_index(node.text); variable >= 0) {
    e.kind = expression_kind::index;
    e.symbol = variable;
    return add(std::move(e));
  }
  if (const int axis_id = find_axis(node.text); axis_id >= 0) {
    e.kind = expression_kind::axis;
    e.symbol = axis_id;
    return add(std::move(e));
  }
  const int tensor = find_tensor(node.text);
  if (tensor < 0 && scope_.targets.count(node.text) == 0) unknown_name(node);
  return load(node);  // a scalar tensor may be written without brackets; load() checks the rank
}

void expression_resolver::unknown_name(const syntax_node& node) const {
  std::vector<std::string> known;
  for (const binding& b : bindings_) known.push_back(b.name);
  for (const axis& a : scope_.p.axes) known.push_back(a.name);
  for (const tensor_declaration& t : scope_.p.tensors) known.push_back(t.name);
  const std::string hint = did_you_mean(node.text, known);
  refuse(node.place, fmt::format("unknown name '{}': it is no axis, no tensor, and no index on the left or of a reduction around it{}",
                                 node.text, hint.empty() ? fmt::format("; to reduce over it write sum({}: ...)", node.text) : hint));
}

int expression_resolver::operation_node(const syntax_node& node) {
  expression e;
  e.kind = expression_kind::call;
  e.op = node.op;
  e.place = node.place;
  std::vector<value_class> classes;
  for (const int argument : node.arguments) {
    e.arguments.push_back(resolve(argument));
    classes.push_back(class_of(e.arguments.back()));
  }
  e.type = class_of_operation(e.op, classes, e.place);
  return add(std::move(e));
}

int expression_resolver::call(const syntax_node& node) {
  if (const auto type = dtype_from_name(node.text)) return cast(node, *type);
  const function_entry* function = find_function(node.text);
  const bool reduces = find_reduction(node.text) || find_scan(node.text);
  if (function == nullptr && reduces)
    refuse(node.place, fmt::format("'{}' names no index to run over; write {}(i: ...)", node.text, node.text));
  if (function == nullptr) {
    const bool tensor = find_tensor(node.text) >= 0;
    refuse(node.place, tensor ? fmt::format("'{}' is a tensor; index it with square brackets: {}[...]", node.text, node.text)
                              : fmt::format("unknown function '{}'{}", node.text, did_you_mean(node.text, callable_names())));
  }
  const auto given = static_cast<int>(node.arguments.size());
  if (given != function->arguments) {
    const std::string hint = reduces ? fmt::format("; the reduction is written {}(i: ...)", node.text) : "";
    refuse(node.place, fmt::format("'{}' takes {} argument{}, {} given{}", node.text, function->arguments,
                                   function->arguments == 1 ? "" : "s", given, hint));
  }
  expression e;
  e.kind = expression_kind::call;
  e.op = function->op;
  e.place = node.place;
  std::vector<value_class> classes;
  for (const int argument : node.arguments) {
    e.arguments.push_back(resolve(argument));
    classes.push_back(class_of(e.arguments.back()));
  }
  e.type = class_of_operation(e.op, classes, e.place);
  return add(std::move(e));
}

int expression_resolver::cast(const syntax_node& node, dtype to) {
  if (node.arguments.size() != 1)
    refuse(node.place, fmt::format("the cast '{}' takes 1 argument, {} given", node.text, node.arguments.size()));
  expression e;
  e.kind = expression_kind::cast;
  e.cast_to = to;
  e.type = class_of_dtype(to);
  e.place = node.place;
  e.arguments.push_back(resolve(node.arguments.front()));
  return add(std::move(e));
}

int expression_resolver::bind(const syntax_index& index) {
  if (is_reserved_word(index.name))
    refuse(index.place, fmt::format("'{}' is a word of the language; give the index another name", index.name));
  if (find_axis(index.name) >= 0) refuse(index.place, fmt::format("'{}' is an axis; give the index another name", index.name));
  if (find_index(index.name) >= 0)
    refuse(
        index.place,
        fmt::format("index '{}' is already in use here (on the left or in a reduction around this one); give it another name", index.name));
  index_variable variable;
  variable.name = index.name;
  // Two reductions side by side may both use k; variables of one statement still get distinct names, so that emitted code can declare them
  // together.
  const auto taken = [&](const std::string& name) {
    const auto same = [&](const index_variable& v) { return v.name == name; };
    return std::any_of(out_.variables.begin(), out_.variables.end(), same);
  };
  for (int suffix = 2; taken(variable.name); ++suffix) variable.name = fmt::format("{}_{}", index.name, suffix);
  out_.variables.push_back(std::move(variable));
  const int id = static_cast<int>(out_.variables.size()) - 1;
  bindings_.push_back({index.name, id});
  if (!index.limit) return id;
  dim range;
  if (index.limit->which == token::kind::number) {
    if (!is_integer_literal(index.limit->text))
      refuse(index.limit->place, fmt::format("the range of '{}' must be an integer or an axis", index.name));
    range.constant = integer_literal(index.limit->text, index.limit->place);
    if (range.constant < 1) refuse(index.limit->place, fmt::format("the range of '{}' is empty", index.name));
  } else {
    range.axis = find_axis(index.limit->text);
    std::vector<std::string> known;
    for (const axis& a : scope_.p.axes) known.push_back(a.name);
    if (range.axis < 0)
      refuse(index.limit->place, fmt::format("unknown axis '{}'{}", index.limit->text, did_you_mean(index.limit->text, known)));
  }
  claims_->push_back({id, range, "its declaration", index.place});
  return id;
}

int expression_resolver::reduce(const syntax_node& node) {
  if (const auto scanned = find_scan(node.text)) return scan(node, *scanned);
  const auto reducer = find_reduction(node.text);
  if (!reducer) refuse(node.place, fmt::format("'{}' is no reduction{}", node.text, did_you_mean(node.text, reduction_names())));
  expression e;
  e.kind = expression_kind::reduce;
  e.reducer = *reducer;
  e.place = node.place;
  const std::size_t outer = bindings_.size();
  for (const syntax_index& index : node.bound) e.bound.push_back(bind(index));
  e.arguments.push_back(resolve(node.arguments.front()));
  bindings_.resize(outer);
  const value_class body = class_of(e.arguments.front());
  const bool logical = *reducer == reduction::any || *reducer == reduction::all;
  const bool position = *reducer == reduction::argmax || *reducer == reduction::argmin;
  if (logical && body == value_class::real)
    refuse(node.place, fmt::format("'{}' takes a condition; compare, as in {}(i: x[i] > 0)", node.text, node.text));
  e.type = logical ? value_class::boolean : position || body != value_class::real ? value_class::integer : value_class::real;
  return add(std::move(e));
}

int expression_resolver::scan(const syntax_node& node, reduction reducer) {
  if (node.bound.size() != 1) refuse(node.place, fmt::format("'{}' runs along one index, {} given", node.text, node.bound.size()));
  const syntax_index& index = node.bound.front();
  if (index.limit) refuse(index.limit->place, fmt::format("the range of '{}' is given by the left-hand side", index.name));
  const int variable = find_index(index.name);
  if (variable < 0 || !out_.variables[static_cast<std::size_t>(variable)].free)
    refuse(index.place, fmt::format("'{}' runs along '{}', which must stand on the left-hand side: {}[..., {}] = {}({}: ...)", node.text,
                                    index.name, syntax_.target, index.name, node.text, index.name));
  expression e;
  e.kind = expression_kind::scan;
  e.reducer = reducer;
  e.place = node.place;
  e.bound.push_back(variable);
  e.arguments.push_back(resolve(node.arguments.front()));
  e.type = class_of(e.arguments.front()) == value_class::real ? value_class::real : value_class::integer;
  return add(std::move(e));
}

}  // namespace kernsmith
