// How loads depend on indices.
#include "agents/synthesis/row_grammar_program.hpp"

namespace kernsmith::agents::row {

access access_of(const row_program& p, const row_statement& s, const expression& load, int index) {
  access found = access::absent;
  for (std::size_t d = 0; d < load.indices.size(); ++d) {
    const index_expression& position = load.indices[d];
    if (!position.is_affine) {
      if (depends_on(p, s, position.gather, index)) return access::indirect;
      continue;
    }
    for (const affine_term& term : position.terms) {
      if (term.index != index) continue;
      const bool next = d + 1 == load.indices.size() && term.coefficient == 1 && term.axes.empty() && found == access::absent;
      found = next ? access::contiguous : access::strided;
    }
  }
  return found;
}

bool depends_on(const row_program& p, const row_statement& s, int node, int index) {
  bool found = false;
  walk(s, node, [&](int id) {
    const expression& e = s.nodes[static_cast<std::size_t>(id)];
    if (e.kind == expression_kind::index) found = found || e.symbol == index;
    for (const index_expression& position : e.indices)
      for (const affine_term& term : position.terms) found = found || term.index == index;
  });
  (void)p;
  return found;
}

bool needs_bounds(const row_program& p, const expression& load, std::size_t dimension) {
  if (!p.tensor(load.symbol).pad) return false;
  const int c = sole_index(load.indices[dimension]);
  return c < 0 || p.classes[static_cast<std::size_t>(c)].size != p.shape(load.symbol)[dimension];
}

}  // namespace kernsmith::agents::row
