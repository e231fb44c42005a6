// Neighbouring indices that are walked together become one.
#include <algorithm>
#include <set>

#include "agents/synthesis/row_grammar_program.hpp"

namespace kernsmith::agents::row {
namespace {

/// Where `outer` and `inner` stand in a list of positions: neither, side by side, or in a way that forbids merging them.
enum class pairing : std::uint8_t { neither, adjacent, apart };

pairing pair_in(const std::vector<int>& list, int outer, int inner) {
  const auto o = std::find(list.begin(), list.end(), outer), i = std::find(list.begin(), list.end(), inner);
  if (o == list.end() && i == list.end()) return pairing::neither;
  if (o == list.end() || i == list.end() || i != o + 1) return pairing::apart;
  return pairing::adjacent;
}

bool can_collapse(const row_program& p, int outer, int inner) {
  if (p.is_parallel(outer) != p.is_parallel(inner)) return false;
  bool together = false;
  std::set<int> merged, whole;  // tensors whose rows the pair would make longer, and those that are walked by other indices somewhere
  for (const row_statement& s : p.statements) {
    if (s.kind == role::scan && (s.bound[0] == outer || s.bound[0] == inner)) return false;
    // Positions count row-major over the bound indices, in the order in which they are written.
    const bool positions = s.reducer == reduction::argmax || s.reducer == reduction::argmin;
    if (positions && pair_in(s.bound, outer, inner) == pairing::apart) return false;
    const auto has = [](const std::vector<int>& list, int c) { return std::find(list.begin(), list.end(), c) != list.end(); };
    if (has(s.bound, outer) != has(s.bound, inner)) return false;
    if (pair_in(s.target, outer, inner) == pairing::apart) return false;
    for (const expression& e : s.nodes) {
      if (e.kind == expression_kind::index && (e.symbol == outer || e.symbol == inner)) return false;
      if (e.kind != expression_kind::load) continue;
      std::vector<int> sole;
      for (const index_expression& position : e.indices) {
        const int c = sole_index(position);
        sole.push_back(c);
        if (c >= 0) continue;
        for (const affine_term& term : position.terms)
          if (term.index == outer || term.index == inner) return false;
      }
      const pairing pair = pair_in(sole, outer, inner);
      if (pair == pairing::apart) return false;
      (pair == pairing::neither ? whole : merged).insert(e.symbol);
      if (pair == pairing::neither) continue;
      if (std::count(sole.begin(), sole.end(), inner) != 1 || std::count(sole.begin(), sole.end(), outer) != 1) return false;
      together = true;
      // Both must cover their dimension, or the rows of the pair wouldn't be contiguous.
      const std::size_t at = static_cast<std::size_t>(std::find(sole.begin(), sole.end(), inner) - sole.begin());
      if (p.shape(e.symbol)[at] != p.classes[static_cast<std::size_t>(inner)].size ||
          p.shape(e.symbol)[at - 1] != p.classes[static_cast<std::size_t>(outer)].size)
        return false;
    }
    const bool written = pair_in(s.target, outer, inner) == pairing::adjacent;
    (written ? merged : whole).insert(s.tensor);
    together = together || written;
  }
  // A tensor has one shape in all statements.
  return together && std::none_of(merged.begin(), merged.end(), [&](int tensor) { return whole.contains(tensor); });
}

void merge(row_program& p, int outer, int inner) {
  index_class& kept = p.classes[static_cast<std::size_t>(inner)];
  index_class& gone = p.classes[static_cast<std::size_t>(outer)];
  extent size = kept.size;
  size.constant *= gone.size.constant;
  size.axes.insert(size.axes.end(), gone.size.axes.begin(), gone.size.axes.end());
  std::sort(size.axes.begin(), size.axes.end());
  std::set<int> done;
  const auto fuse_shape = [&](int tensor, std::size_t at) {
    if (!done.insert(tensor).second) return;
    std::vector<extent>& shape = p.shapes[static_cast<std::size_t>(tensor)];
    shape[at] = size;
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(at) - 1);
  };
  for (row_statement& s : p.statements) {
    for (expression& e : s.nodes) {
      std::erase(e.bound, outer);
      if (e.kind != expression_kind::load) continue;
      for (std::size_t d = 1; d < e.indices.size(); ++d)
        if (sole_index(e.indices[d]) == inner) {
          fuse_shape(e.symbol, d);
          e.indices.erase(e.indices.begin() + static_cast<std::ptrdiff_t>(d) - 1);
        }
    }
    const auto at = std::find(s.target.begin(), s.target.end(), inner);
    if (at != s.target.end()) fuse_shape(s.tensor, static_cast<std::size_t>(at - s.target.begin()));
    std::erase(s.target, outer);
    std::erase(s.bound, outer);
    std::erase(s.swept, outer);
  }
  std::erase(p.parallel, outer);
  gone.alive = false;
  kept.name = gone.name + "_" + kept.name;
  kept.size = size;
}

}  // namespace

/// Merges neighbouring indices that every access of the group walks together, so that short inner extents don't cut vectors short.
void collapse_indices(row_program& p) {
  bool again = true;
  while (again) {
    again = false;
    for (std::size_t o = 0; o < p.classes.size() && !again; ++o)
      for (std::size_t i = 0; i < p.classes.size() && !again; ++i)
        if (o != i && p.classes[o].alive && p.classes[i].alive && can_collapse(p, static_cast<int>(o), static_cast<int>(i))) {
          merge(p, static_cast<int>(o), static_cast<int>(i));
          again = true;
        }
  }
}

}  // namespace kernsmith::agents::row
