#include "agents/synthesis/contraction_grammar_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace kernsmith::agents::nest {
namespace {

constexpr int tile_code = 100;         // a tile decision's value is rows * 100 + vectors
constexpr std::int64_t few_rows = 16;  // up to here the right operand is better streamed than packed
constexpr std::int64_t tiny_matrix = 64 * 64 * 64;

struct tile {
  int rows, vectors;
};
// At most 28 of 32 (12 of 16) registers hold sums; the rest hold one step's operands.
constexpr std::array tiles_32_registers = {tile{1, 2}, tile{1, 4}, tile{1, 8},  tile{2, 8},  tile{4, 6},
                                           tile{6, 4}, tile{8, 3}, tile{12, 2}, tile{14, 2}, tile{24, 1}};
constexpr std::array tiles_16_registers = {tile{1, 2}, tile{1, 4}, tile{1, 8}, tile{2, 5}, tile{3, 4},
                                           tile{4, 3}, tile{5, 2}, tile{6, 2}, tile{12, 1}};

/// Extents under the heaviest workload.
struct sizes {
  std::int64_t batches = 1, rows = 1, columns = 1, depth = 1;
};

sizes sizes_of(const contraction_plan& plan) {
  sizes s;
  const std::vector<workload>& workloads = plan.p.ir->workloads;
  std::vector<std::int64_t> axes;
  for (const axis& a : plan.p.ir->axes) axes.push_back(a.extent);
  const auto heaviest =
      std::max_element(workloads.begin(), workloads.end(), [](const workload& a, const workload& b) { return a.weight < b.weight; });
  if (heaviest != workloads.end()) axes = heaviest->axes;
  for (const int variable : plan.batch) s.batches *= plan.extent(variable).value(axes);
  s.rows = plan.extent(plan.row).value(axes);
  s.columns = plan.extent(plan.column).value(axes);
  s.depth = plan.depth_extent().value(axes);
  return s;
}

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

template <std::size_t n>
std::size_t best_tile(const std::array<tile, n>& tiles, const sizes& s, int lanes) {
  std::size_t best = 0;
  double best_cost = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double padded =
        static_cast<double>(rounded_up(s.rows, tiles[i].rows)) * static_cast<double>(rounded_up(s.columns, tiles[i].vectors * lanes));
    // Loads per multiplication: what the tile shape costs besides padding.
    const double loads = 1.0 / tiles[i].rows + 1.0 / tiles[i].vectors;
    const double cost = padded * (1 + 0.2 * loads);
    if (i == 0 || cost < best_cost) {
      best = i;
      best_cost = cost;
    }
  }
  return best;
}

template <std::size_t n>
void add_tiles(decision& d, const std::array<tile, n>& tiles, const sizes& s, int lanes) {
  for (const tile& t : tiles) {
    d.values.push_back(t.rows * tile_code + t.vectors);
    d.labels.push_back(fmt::format("{}x{}", t.rows, t.vectors * lanes));
  }
  d.preferred = best_tile(tiles, s, lanes);
}

std::size_t nearest(const std::vector<std::int64_t>& values, std::int64_t wanted) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::abs(values[i] - wanted) < std::abs(values[best] - wanted)) best = i;
  return best;
}

decision numeric(std::string name, std::vector<std::int64_t> values, std::int64_t wanted, std::string meaning, double weight = 1) {
  decision d;
  d.name = std::move(name);
  d.preferred = nearest(values, wanted);
  d.values = std::move(values);
  d.meaning = std::move(meaning);
  d.weight = weight;
  return d;
}

decision labelled(std::string name, std::vector<std::string> labels, std::size_t preferred, std::string meaning, double weight = 1) {
  decision d;
  d.name = std::move(name);
  for (std::size_t i = 0; i < labels.size(); ++i) d.values.push_back(static_cast<std::int64_t>(i));
  d.labels = std::move(labels);
  d.preferred = preferred;
  d.meaning = std::move(meaning);
  d.weight = weight;
  return d;
}

/// A load of the sums' own type and nothing else.
bool plain_load(const contraction_plan& plan, int root) {
  const node& n = plan.p.nodes[static_cast<std::size_t>(root)];
  const dtype sums = plan.sums == sum_kind::f64 ? dtype::f64 : dtype::f32;
  return plan.sums != sum_kind::i32 && n.kind == node_kind::load && n.guards.empty() &&
         plan.p.ir->tensors[static_cast<std::size_t>(n.where.tensor)].type == sums;
}

std::int64_t element_bytes(const contraction_plan& plan) {
  return plan.sums == sum_kind::f64 ? 8 : 4;
}

sharing preferred_sharing(const sizes& s, const machine_model& machine, int tile_rows, int tile_columns) {
  const std::int64_t row_tiles = (s.rows + tile_rows - 1) / tile_rows;
  const std::int64_t column_tiles = (s.columns + tile_columns - 1) / tile_columns;
  const std::int64_t cores = machine.cores;
  if (s.batches >= cores) return sharing::rows;
  if (row_tiles >= 4 * cores) return sharing::rows;
  if (column_tiles >= cores) return sharing::columns;
  if (row_tiles >= cores) return sharing::rows;
  if (row_tiles * column_tiles >= cores) return sharing::grid;
  return s.depth >= 4096 ? sharing::depth : sharing::columns;
}

}  // namespace

contraction_options options_of(const contraction_plan& plan) {
  contraction_options o;
  const bool one_depth = plan.depth.size() == 1;
  o.left_in_place = one_depth && plain_load(plan, plan.left);
  o.right_in_place = one_depth && plain_load(plan, plan.right) && contiguous(plan.p, plan.right, plan.column) &&
                     plan.p.used(plan.right).contains(plan.column);
  const auto bf16 = [&](int root) {
    const node& n = plan.p.nodes[static_cast<std::size_t>(root)];
    return n.kind == node_kind::load && n.guards.empty() &&
           plan.p.ir->tensors[static_cast<std::size_t>(n.where.tensor)].type == dtype::bf16;
  };
  o.pair_bf16 = one_depth && plan.sums == sum_kind::f32 && bf16(plan.left) && bf16(plan.right);
  o.dot = one_depth && plan.sums != sum_kind::i32 && contiguous(plan.p, plan.right, plan.depth[0]) &&
          vectorisable(plan.p, plan.right, plan.depth[0]) && plan.p.used(plan.right).contains(plan.depth[0]);
  return o;
}

std::vector<decision> contraction_decisions(const contraction_plan& plan, const std::string& group, const machine_model& machine) {
  const contraction_options options = options_of(plan);
  const sizes s = sizes_of(plan);
  const int lanes = machine.vector_bytes / static_cast<int>(element_bytes(plan));
  const bool skinny = s.rows <= few_rows;
  std::vector<decision> all;
  if (options.dot)
    all.push_back(labelled(group + ".method", {"blocked", "dot"}, skinny ? 1 : 0,
                           "blocked: register tiles over packed panels; dot: stream the right operand along the depth, unpacked", 2));
  if (options.pair_bf16)
    all.push_back(labelled(group + ".products", {"f32", "bf16_pairs"}, machine.avx512_bf16 && !(skinny && options.dot) ? 1 : 0,
                           "bf16 operands: widened while packing, or kept as pairs for dot-product instructions", 1));
  decision tiles;
  tiles.name = group + ".tile";
  tiles.meaning = "rows x columns of sums kept in registers";
  tiles.weight = 2;
  if (machine.vector_registers >= 32)
    add_tiles(tiles, tiles_32_registers, s, lanes);
  else
    add_tiles(tiles, tiles_16_registers, s, lanes);
  // One row in place is bound by memory: narrow tiles keep the rows that are read together apart in L1.
  const bool stream_right = skinny && options.right_in_place;
  if (stream_right && s.rows == 1) tiles.preferred = 0;
  const int tile_rows = static_cast<int>(tiles.values[tiles.preferred]) / tile_code;
  const int tile_columns = static_cast<int>(tiles.values[tiles.preferred]) % tile_code * lanes;
  all.push_back(std::move(tiles));

  // A left panel (tile rows x depth block) takes at most half of L1; a right panel streams from L2.
  const std::int64_t depth_block =
      stream_right ? (s.rows <= 2 ? 16 : 64) : std::min<std::int64_t>(512, machine.l1_bytes / 2 / element_bytes(plan) / tile_rows);
  all.push_back(numeric(group + ".depth_block", {2, 4, 8, 16, 32, 64, 128, 192, 256, 384, 512, 768}, depth_block,
                        "depth of one block: sums leave the registers after that many steps"));
  const std::int64_t row_block = machine.l2_bytes / 4 / element_bytes(plan) / depth_block;
  all.push_back(numeric(group + ".row_block", {24, 48, 72, 120, 240, 480}, std::min<std::int64_t>(row_block, 120),
                        "rows of left panels packed at a time (kept in L2)"));
  all.push_back(numeric(group + ".column_block", {128, 256, 512, 1024, 2048, 4096}, stream_right ? (s.rows <= 2 ? 4096 : 2048) : 1024,
                        "columns of right panels packed at a time (kept in L2 or L3)"));
  if (options.left_in_place) {
    const bool tiny = s.rows * s.columns * s.depth <= tiny_matrix;
    all.push_back(
        labelled(group + ".left", {"in_place", "packed"}, tiny ? 0 : 1, "left operand: read where it lies, or copied into panels"));
  }
  if (options.right_in_place)
    all.push_back(
        labelled(group + ".right", {"in_place", "packed"}, skinny ? 0 : 1, "right operand: read where it lies, or copied into panels"));
  all.push_back(numeric(group + ".unroll", {1, 2, 4, 8}, 4, "depth steps per loop iteration", 0.5));
  all.push_back(numeric(group + ".prefetch", {0, 4, 8, 16, 32, 64}, stream_right && s.rows <= 2 ? depth_block : 0,
                        "right rows fetched ahead, in depth steps", 0.5));
  all.push_back(labelled(group + ".share", {"rows", "columns", "grid", "depth"},
                         static_cast<std::size_t>(preferred_sharing(s, machine, tile_rows, tile_columns)),
                         "what threads divide among themselves when there are fewer matrices than threads"));
  if (options.dot) {
    const bool registers = machine.vector_registers >= 32;
    std::vector<std::int64_t> rows = {1, 2, 4, 8}, columns = {1, 2, 3, 4, 6, 8}, vectors = {1, 2, 4};
    const std::int64_t wanted_rows = std::min<std::int64_t>(s.rows, 4);
    const std::int64_t wanted_columns = wanted_rows >= 4 ? (registers ? 6 : 2) : wanted_rows == 1 ? 8 : 4;
    all.push_back(numeric(group + ".dot_rows", rows, wanted_rows, "dot: rows per pass over the right operand"));
    all.push_back(numeric(group + ".dot_columns", columns, wanted_columns, "dot: columns of the right operand streamed together"));
    all.push_back(numeric(group + ".dot_vectors", vectors, 1, "dot: independent sums per row and column"));
  }
  return all;
}

contraction_schedule read_schedule(const std::string& group, const assignment& chosen) {
  const auto value = [&](const char* name, std::int64_t otherwise) {
    const auto found = chosen.find(group + "." + name);
    return found == chosen.end() ? otherwise : found->second;
  };
  contraction_schedule s;
  s.dot = value("method", 0) == 1;
  s.pair_bf16 = value("products", 0) == 1 && !s.dot;
  const int tile = static_cast<int>(value("tile", 604));
  s.tile_rows = tile / tile_code;
  s.tile_vectors = tile % tile_code;
  s.depth_block = value("depth_block", s.depth_block);
  s.row_block = rounded_up(value("row_block", s.row_block), s.tile_rows);
  s.column_block = value("column_block", s.column_block);
  s.unroll = static_cast<int>(value("unroll", s.unroll));
  s.prefetch = static_cast<int>(value("prefetch", s.prefetch));
  s.pack_left = value("left", 1) == 1;
  s.pack_right = value("right", 1) == 1;
  s.share = static_cast<sharing>(value("share", 0));
  s.dot_rows = static_cast<int>(value("dot_rows", s.dot_rows));
  s.dot_columns = static_cast<int>(value("dot_columns", s.dot_columns));
  s.dot_vectors = static_cast<int>(value("dot_vectors", s.dot_vectors));
  return s;
}

void normalise_contraction(const contraction_plan& plan, const std::string& group, const machine_model& machine, assignment& chosen) {
  const bool dot = read_schedule(group, chosen).dot;
  for (const decision& d : contraction_decisions(plan, group, machine)) {
    const std::string name = d.name.substr(group.size() + 1);
    const bool dot_only = name.starts_with("dot_");
    const bool blocked_only = !dot_only && name != "method" && name != "share" && name != "prefetch";
    if (dot ? blocked_only : dot_only) chosen[d.name] = d.values[d.preferred];
  }
  // The dot method shares rows or columns only.
  auto& share = chosen[group + ".share"];
  if (dot && static_cast<sharing>(share) != sharing::rows) share = static_cast<std::int64_t>(sharing::columns);
}

}  // namespace kernsmith::agents::nest
