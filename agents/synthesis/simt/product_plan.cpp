#include "agents/synthesis/simt/product_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/row_grammar_plan.hpp"
#include "agents/synthesis/simt/simt_sinks.hpp"

namespace kernsmith::agents::simt {
namespace {

bool varies(const product_plan& c, const expression& e, int index) {
  return row::access_of(c.p.rows, c.p.at(c.reduce), e, index) != row::access::absent;
}

bool contiguous(const product_plan& c, const expression& e, int index) {
  return row::access_of(c.p.rows, c.p.at(c.reduce), e, index) == row::access::contiguous;
}

/// One reduction to all parallel indices, over one index, first; elementwise statements after it.
bool find_parts(product_plan& c) {
  if (c.p.rows.parallel.size() < 2) return false;
  for (int i = 0; i < c.p.count(); ++i) {
    const row::row_statement& s = c.p.at(i);
    if (s.kind == row::role::reduce) {
      if (c.reduce >= 0 || i != 0 || s.bound.size() != 1 || s.target.size() != c.p.rows.parallel.size()) return false;
      if (s.reducer == reduction::argmax || s.reducer == reduction::argmin) return false;
      c.reduce = i;
      c.depth = s.bound[0];
    } else if (s.kind != row::role::point || c.reduce < 0) {
      return false;
    }
  }
  if (c.reduce < 0) return false;
  c.column = c.p.rows.parallel.back();
  return true;
}

/// Every operand varies along the depth and one side; the other indices number independent products.
bool find_tiles(product_plan& c) {
  const row::row_statement& s = c.p.at(c.reduce);
  const lane_code code(c.p);
  for (const int m : c.p.rows.parallel) {
    if (m == c.column) continue;
    c.tiles.clear();
    bool good = true, lefts = false, rights = false;
    row::walk(s, s.value, [&](int node) {
      const expression& e = s.nodes[static_cast<std::size_t>(node)];
      if (e.kind != expression_kind::load || !good) return;
      for (std::size_t d = 0; d < e.indices.size(); ++d)
        good = good && e.indices[d].is_affine && !row::needs_bounds(c.p.rows, e, d) && !c.p.tensor(e.symbol).pad;
      if (!good) return;
      const bool left = varies(c, e, m), right = varies(c, e, c.column);
      good = left != right && varies(c, e, c.depth);
      (left ? lefts : rights) = true;
      const std::string element = code.element(c.reduce, node);
      for (product_tile& known : c.tiles)
        if (code.element(c.reduce, known.node) == element) return known.nodes.push_back(node);
      product_tile t;
      t.node = node;
      t.nodes = {node};
      t.left = left;
      t.name = fmt::format("{}_tile{}", c.p.stem(e.symbol), c.tiles.size());
      t.along_depth = contiguous(c, e, c.depth);
      t.along_own = contiguous(c, e, left ? m : c.column);
      c.tiles.push_back(t);
    });
    if (!good || !lefts || !rights) continue;
    c.row = m;
    for (const int b : c.p.rows.parallel)
      if (b != m && b != c.column) c.batch.push_back(b);
    return true;
  }
  return false;
}

}  // namespace

int product_plan::widest() const {
  const lane_code code(p);
  const auto wide = [](const std::string& type) { return type == "double" || type == "int64_t"; };
  const bool any = std::any_of(tiles.begin(), tiles.end(), [&](const product_tile& t) { return wide(tile_type(code, t)); });
  return any || wide(accumulator_of(p, code, reduce).type) ? 8 : 4;
}

bool product_plan::copies_whole() const {
  const lane_code code(p);
  return std::all_of(tiles.begin(), tiles.end(), [&](const product_tile& t) {
    return is_float(type_of(t)) && tile_type(code, t) == (type_of(t) == dtype::f64 ? "double" : "float") &&
           (type_of(t) == dtype::f32 || type_of(t) == dtype::f64);
  });
}

std::optional<product_plan> plan_product(const tensor_ir& ir, const fusion_group& group) {
  std::optional<simt_program> p = analyse_simt(ir, group);
  if (!p) return std::nullopt;
  product_plan c;
  c.p = std::move(*p);
  if (!find_parts(c) || !find_tiles(c)) return std::nullopt;
  return c;
}

}  // namespace kernsmith::agents::simt
