// Loads and their index positions: affine, or gathered through an integer tensor.
#include <fmt/format.h>

#include <algorithm>

#include "config/expression_resolver.hpp"
#include "config/refusal.hpp"
#include "config/text.hpp"

namespace kernsmith {

namespace {

[[noreturn]] void too_large(source_place place) {
  refuse(place, "the coefficients of this index don't fit into 64 bits");
}

std::int64_t multiply(std::int64_t a, std::int64_t b, source_place place) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) too_large(place);
  return product;
}

std::int64_t add_checked(std::int64_t a, std::int64_t b, source_place place) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) too_large(place);
  return sum;
}

/// The value as a list of terms, the constant among them.
std::vector<affine_term> all_terms(const index_expression& e) {
  std::vector<affine_term> terms = e.terms;
  if (e.constant != 0) terms.push_back({e.constant, {}, -1});
  return terms;
}

bool has_index(const index_expression& e) {
  return std::any_of(e.terms.begin(), e.terms.end(), [](const affine_term& t) { return t.index >= 0; });
}

index_expression scaled_sum(const index_expression& a, const index_expression& b, std::int64_t factor, source_place place) {
  index_expression e;
  e.terms = all_terms(a);
  for (affine_term term : all_terms(b)) {
    term.coefficient = multiply(term.coefficient, factor, place);
    e.terms.push_back(std::move(term));
  }
  normalise(e, place);
  return e;
}

std::optional<index_expression> product(const index_expression& a, const index_expression& b, source_place place) {
  if (has_index(a) && has_index(b)) return std::nullopt;
  index_expression e;
  for (const affine_term& left : all_terms(a)) {
    for (const affine_term& right : all_terms(b)) {
      affine_term term;
      term.coefficient = multiply(left.coefficient, right.coefficient, place);
      term.axes = left.axes;
      term.axes.insert(term.axes.end(), right.axes.begin(), right.axes.end());
      term.index = std::max(left.index, right.index);
      e.terms.push_back(std::move(term));
    }
  }
  normalise(e, place);
  return e;
}

}  // namespace

void normalise(index_expression& e, source_place place) {
  for (affine_term& term : e.terms) std::sort(term.axes.begin(), term.axes.end());
  const auto before = [](const affine_term& a, const affine_term& b) { return a.index != b.index ? a.index < b.index : a.axes < b.axes; };
  std::sort(e.terms.begin(), e.terms.end(), before);
  std::vector<affine_term> merged;
  for (affine_term& term : e.terms) {
    if (term.index < 0 && term.axes.empty()) {
      e.constant = add_checked(e.constant, term.coefficient, place);
    } else if (!merged.empty() && merged.back().index == term.index && merged.back().axes == term.axes) {
      merged.back().coefficient = add_checked(merged.back().coefficient, term.coefficient, place);
    } else {
      merged.push_back(std::move(term));
    }
  }
  std::erase_if(merged, [](const affine_term& t) { return t.coefficient == 0; });
  e.terms = std::move(merged);
}

int expression_resolver::readable_tensor(const syntax_node& node) const {
  const int tensor = find_tensor(node.text);
  if (tensor >= 0 && scope_.readable[static_cast<std::size_t>(tensor)]) return tensor;
  if (node.text == syntax_.target)
    refuse(node.place, fmt::format("'{}' reads itself; a running value is a scan (cumsum, cumprod, cummax, cummin)", node.text));
  const auto later = scope_.targets.find(node.text);
  if (later != scope_.targets.end())
    refuse(node.place, fmt::format("'{}' is read before it is written; move this statement below line {}", node.text, later->second.line));
  if (tensor >= 0) refuse(node.place, fmt::format("output '{}' is read but no statement writes it", node.text));
  if (find_axis(node.text) >= 0 || find_index(node.text) >= 0)
    refuse(node.place,
           fmt::format("'{}' is an {}, not a tensor; it takes no brackets", node.text, find_axis(node.text) >= 0 ? "axis" : "index"));
  std::vector<std::string> known;
  for (const tensor_declaration& t : scope_.p.tensors) known.push_back(t.name);
  for (const auto& [name, place] : scope_.targets) known.push_back(name);
  const std::string hint = did_you_mean(node.text, known);
  refuse(node.place,
         fmt::format("unknown tensor '{}'{}", node.text, hint.empty() ? "; declare it under [inputs] or write it first" : hint));
}

int expression_resolver::load(const syntax_node& node) {
  const int tensor = readable_tensor(node);
  const tensor_declaration& declaration = scope_.p.tensors[static_cast<std::size_t>(tensor)];
  if (node.arguments.size() != declaration.shape.size())
    refuse(node.place,
           fmt::format("'{}' has {} dimension{}, {} ind{} given", node.text, declaration.shape.size(),
                       declaration.shape.size() == 1 ? "" : "s", node.arguments.size(), node.arguments.size() == 1 ? "ex" : "ices"));
  expression e;
  e.kind = expression_kind::load;
  e.symbol = tensor;
  e.place = node.place;
  e.type = class_of_dtype(declaration.type);
  for (std::size_t d = 0; d < node.arguments.size(); ++d) e.indices.push_back(position(node.arguments[d], tensor, d));
  return add(std::move(e));
}

index_expression expression_resolver::position(int id, int tensor, std::size_t dimension) {
  const tensor_declaration& declaration = scope_.p.tensors[static_cast<std::size_t>(tensor)];
  if (auto e = affine(id)) {
    const int variable = sole_index(*e);
    if (variable >= 0 && at(id).which == syntax_node::kind::name)
      claims_->push_back({variable, declaration.shape[dimension], declaration.name, at(id).place});
    e->partial = variable >= 0 && at(id).which != syntax_node::kind::name;  // until ranges are settled
    return *std::move(e);
  }
  index_expression e;
  e.is_affine = false;
  e.gather = gather(id, tensor, dimension);
  return e;
}

std::optional<index_expression> expression_resolver::affine(int id) {
  const syntax_node& node = at(id);
  index_expression e;
  if (node.which == syntax_node::kind::number) {
    if (node.text.find_first_of(".eE") != std::string::npos) refuse(node.place, fmt::format("an index is an integer, not {}", node.text));
    e.constant = out_.nodes[static_cast<std::size_t>(number(node))].integer;
    out_.nodes.pop_back();  // number() checked the literal; affine positions keep no nodes
    return e;
  }
  if (node.which == syntax_node::kind::name) {
    const int variable = find_index(node.text);
    const int axis_id = find_axis(node.text);
    if (variable < 0 && axis_id < 0) {
      if (find_tensor(node.text) >= 0 || scope_.targets.count(node.text) > 0) return std::nullopt;  // a scalar tensor: a gather
      unknown_name(node);
    }
    affine_term term;
    term.index = variable;
    if (variable < 0) term.axes.push_back(axis_id);
    e.terms.push_back(std::move(term));
    return e;
  }
  if (node.which != syntax_node::kind::operation) return std::nullopt;
  const auto left = affine(node.arguments[0]);
  if (!left) return std::nullopt;
  if (node.op == operation::negate) return scaled_sum({}, *left, -1, node.place);
  if (node.arguments.size() != 2) return std::nullopt;
  const auto right = affine(node.arguments[1]);
  if (!right) return std::nullopt;
  if (node.op == operation::add) return scaled_sum(*left, *right, 1, node.place);
  if (node.op == operation::subtract) return scaled_sum(*left, *right, -1, node.place);
  if (node.op == operation::multiply) return product(*left, *right, node.place);
  return std::nullopt;
}

int expression_resolver::gather(int id, int tensor, std::size_t dimension) {
  const std::size_t first = out_.nodes.size();
  const int root = resolve(id);
  const tensor_declaration& declaration = scope_.p.tensors[static_cast<std::size_t>(tensor)];
  const bool loads = std::any_of(out_.nodes.begin() + static_cast<std::ptrdiff_t>(first), out_.nodes.end(),
                                 [](const expression& e) { return e.kind == expression_kind::load; });
  if (!loads)
    refuse(at(id).place,
           fmt::format("this index of '{}' is neither affine in index and axis names nor a load from an integer tensor", declaration.name));
  if (class_of(root) != value_class::integer)
    refuse(at(id).place, fmt::format("'{}' is indexed by a {} value; an index must be an integer: cast it, as in i64(...)",
                                     declaration.name, class_of(root) == value_class::real ? "real" : "boolean"));
  // A plain load of an input (perhaps widened) promises that its values stay in range; anything else must be proven by check_axes.
  const expression* source = &out_.nodes[static_cast<std::size_t>(root)];
  while (source->kind == expression_kind::cast && (source->cast_to == dtype::i64 || source->cast_to == dtype::i32))
    source = &out_.nodes[static_cast<std::size_t>(source->arguments.front())];
  if (source->kind == expression_kind::load && !declaration.pad) {
    tensor_declaration& indices = scope_.p.tensors[static_cast<std::size_t>(source->symbol)];
    const dim limit = declaration.shape[dimension];
    const bool known = std::find(indices.index_limits.begin(), indices.index_limits.end(), limit) != indices.index_limits.end();
    if (indices.role == tensor_role::input && is_integer(indices.type) && !known) indices.index_limits.push_back(limit);
  }
  return root;
}

}  // namespace kernsmith
