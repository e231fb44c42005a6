#include "agents/synthesis/row_grammar_search.hpp"

namespace kernsmith::agents::row {
namespace {

const expression& at(const row_statement& s, int node) {
  return s.nodes[static_cast<std::size_t>(node)];
}

/// The comparison under casts to integers and select(c, 1, 0).
int comparison_in(const row_statement& s, int node) {
  const expression& e = at(s, node);
  const auto is_whole_number = [&](int id, std::int64_t value) {
    const expression& n = at(s, id);
    return n.kind == expression_kind::number && n.type == value_class::integer && n.integer == value;
  };
  if (e.kind == expression_kind::cast && is_integer(e.cast_to) && at(s, e.arguments[0]).type != value_class::real)
    return comparison_in(s, e.arguments[0]);
  if (e.kind != expression_kind::call) return -1;
  if (e.op == operation::select && is_whole_number(e.arguments[1], 1) && is_whole_number(e.arguments[2], 0))
    return comparison_in(s, e.arguments[0]);
  return e.op >= operation::less && e.op <= operation::greater_equal ? node : -1;
}

bool are_borders(const row_program& p, const row_statement& s, int node) {
  const expression& e = at(s, node);
  if (e.kind != expression_kind::load || p.written_by(e.symbol) >= 0 || e.indices.size() != 1) return false;
  const dtype type = p.tensor(e.symbol).type;
  const bool whole = sole_index(e.indices[0]) == s.bound[0] && !needs_bounds(p, e, 0) &&
                     p.shape(e.symbol)[0] == p.classes[static_cast<std::size_t>(s.bound[0])].size;
  return whole && is_float(type) && type != dtype::f64;
}

}  // namespace

std::optional<counted_search> find_search(const row_program& p) {
  std::optional<counted_search> found;
  if (p.wide || p.parallel.empty()) return std::nullopt;
  for (std::size_t i = 0; i < p.statements.size(); ++i) {
    const row_statement& s = p.statements[i];
    if (s.kind == role::point) continue;
    if (found || s.kind != role::reduce || s.reducer != reduction::sum || s.type != value_class::integer || s.bound.size() != 1)
      return std::nullopt;
    const int compare = comparison_in(s, s.value);
    if (compare < 0) return std::nullopt;
    const expression& e = at(s, compare);
    const bool borders_first = e.op == operation::less || e.op == operation::less_equal;
    const int borders = e.arguments[borders_first ? 0 : 1], value = e.arguments[borders_first ? 1 : 0];
    if (!are_borders(p, s, borders) || at(s, value).type != value_class::real || depends_on(p, s, value, s.bound[0])) return std::nullopt;
    counted_search search;
    search.statement = static_cast<int>(i);
    search.borders = at(s, borders).symbol;
    search.count_class = s.bound[0];
    search.value = value;
    search.strict = e.op == operation::less || e.op == operation::greater;
    found = search;
  }
  return found;
}

row_program with_search(row_program p, const counted_search& search) {
  p.statements[static_cast<std::size_t>(search.statement)].kind = role::point;
  p.search = search;
  return p;
}

}  // namespace kernsmith::agents::row
