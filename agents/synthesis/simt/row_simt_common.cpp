// Questions about accesses and sweeps that both placements of threads ask.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "agents/synthesis/simt/row_simt.hpp"

namespace kernsmith::agents::simt {
namespace {

bool covers(const simt_program& p, int tensor, int lane) {
  return p.rows.shape(tensor).back() == p.rows.classes[static_cast<std::size_t>(lane)].size;
}

}  // namespace

bool is_packed(const simt_program& p, int statement, int node, int lane) {
  const row::row_statement& s = p.at(statement);
  const expression& e = s.nodes[static_cast<std::size_t>(node)];
  if (e.kind != expression_kind::load || p.rows.written_by(e.symbol) >= 0 || e.indices.empty()) return false;
  if (sole_index(e.indices.back()) != lane || !covers(p, e.symbol, lane)) return false;
  if (row::access_of(p.rows, s, e, lane) != row::access::contiguous) return false;
  for (std::size_t d = 0; d < e.indices.size(); ++d) {
    if (row::needs_bounds(p.rows, e, d)) return false;
    if (!e.indices[d].is_affine && row::depends_on(p.rows, s, e.indices[d].gather, lane)) return false;
  }
  return true;
}

bool is_packed_target(const simt_program& p, int statement, int lane) {
  const row::row_statement& s = p.at(statement);
  return !s.target.empty() && s.target.back() == lane && covers(p, s.tensor, lane);
}

bool can_split(const simt_program& p, const row::plan& plan) {
  if (plan.sweeps.size() != 1 || plan.sweeps[0].over.size() != 1) return false;
  for (const int i : plan.sweeps[0].sinks)
    if (p.at(i).kind != row::role::reduce) return false;
  // Point values that the sweep reads would have to be computed by every block.
  for (int i = 0; i < p.count(); ++i)
    if (p.at(i).kind == row::role::point && plan.stage[static_cast<std::size_t>(i)] == 0) return false;
  return true;
}

double access_cost(const simt_program& p, int lane) {
  constexpr double neighbours = 1, same = 0.25, apart = 8;
  const auto cost_of = [](row::access a) { return a == row::access::contiguous ? neighbours : a == row::access::absent ? same : apart; };
  double cost = 0;
  for (const row::row_statement& s : p.rows.statements) {
    for (const expression& e : s.nodes)
      if (e.kind == expression_kind::load && p.rows.written_by(e.symbol) < 0) cost += cost_of(row::access_of(p.rows, s, e, lane));
    if (!s.stored) continue;
    const bool along = std::find(s.target.begin(), s.target.end(), lane) != s.target.end();
    cost += !along ? same : s.target.back() == lane ? neighbours : apart;
  }
  return cost;
}

row_traffic traffic_along(const simt_program& p, int lane) {
  row_traffic traffic;
  const auto note = [&](std::int64_t bytes) {
    traffic.widest = std::max(traffic.widest, bytes);
    traffic.narrowest = std::min(traffic.narrowest, bytes);
  };
  std::set<std::string> seen;
  const lane_code code(p);
  for (int i = 0; i < p.count(); ++i) {
    const row::row_statement& s = p.at(i);
    if (s.stored && is_packed_target(p, i, lane)) note(static_cast<std::int64_t>(size_of(p.tensor(s.tensor).type)));
    for (std::size_t node = 0; node < s.nodes.size(); ++node) {
      if (!is_packed(p, i, static_cast<int>(node), lane)) continue;
      const expression& e = s.nodes[node];
      const auto bytes = static_cast<std::int64_t>(size_of(p.tensor(e.symbol).type));
      const bool varies = p.rows.parallel.empty() || std::any_of(p.rows.parallel.begin(), p.rows.parallel.end(), [&](int c) {
                            return row::access_of(p.rows, s, e, c) != row::access::absent;
                          });
      if (!varies) continue;
      note(bytes);
      if (!seen.insert(code.element(i, static_cast<int>(node))).second) continue;
      traffic.kept_bytes_per_element += bytes;
      ++traffic.kept_tensors;
    }
  }
  traffic.narrowest = std::min(traffic.narrowest, traffic.widest);
  return traffic;
}

std::vector<std::string> unpack_classes(const simt_program& p, const std::vector<int>& classes, const std::string& from) {
  std::vector<std::string> lines;
  std::string rest = from;
  for (std::size_t k = classes.size(); k-- > 0;) {
    const std::string name = p.class_name(classes[k]), extent = p.class_extent(classes[k]);
    if (k == 0) {
      lines.push_back(fmt::format("const ks_ix {} = {};", name, rest));
      continue;
    }
    lines.push_back(fmt::format("const ks_ix {} = {} % {};", name, rest, extent));
    const std::string next = fmt::format("ks_rest_{}", k);
    lines.push_back(fmt::format("const ks_ix {} = {} / {};", next, rest, extent));
    rest = next;
  }
  return lines;
}

}  // namespace kernsmith::agents::simt
