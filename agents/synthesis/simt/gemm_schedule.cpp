#include "agents/synthesis/simt/gemm_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "agents/synthesis/simt/gemm_mma_schedule.hpp"

namespace kernsmith::agents::simt {
namespace {

constexpr std::int64_t shared_reserve_bytes = 2048;  // alignment of the ring, barriers
constexpr int most_accumulators = 192;               // of the 232 registers that a consumer's thread may have
constexpr int most_accumulators_three = 112;         // of 160, with three consumers
constexpr int row_bytes = 128;                       // of the depth in one slot of the ring, usually: the widest swizzle
constexpr int wide_promote = 4;                      // slots summed on tensor cores when the result keeps more bits than they do
constexpr int tile_code = 1000;                      // a tile decision's value is tile_m * 1000 + tile_n

struct tile {
  int m, n, consumers;
};
constexpr std::array tiles = {tile{64, 64, 1},   tile{64, 128, 1},  tile{64, 256, 1},  tile{128, 64, 2},  tile{128, 128, 2},
                              tile{128, 192, 2}, tile{128, 256, 2}, tile{192, 128, 3}, tile{192, 192, 3}, tile{256, 128, 2}};

constexpr double product_ns = 75;  // of one m64n64k64 product of 16-bit elements on one multiprocessor

/// How long the model thinks it takes, in units of such a product. The factors were fitted to an H200.
double cost_of(const gemm_plan& plan, const gemm_sizes& size, const gemm_schedule& s, const simt_model& model) {
  constexpr double l2_bytes_per_product = 128 * 80;  // what one multiprocessor gets from L2 in the time of a product
  constexpr double finish_products = 6;              // writing a tile out takes as long as multiplying it so many steps deep
  constexpr double fill_steps = 6;                   // until the ring is full
  constexpr double launch_products = 40;             // of the kernel that joins split sums
  constexpr double one_at_a_time = 1.15;             // a lone warpgroup doesn't keep the tensor cores quite busy
  constexpr double step_overhead = 0.4, tile_overhead = 3;
  constexpr double cluster_overhead = 1.03, stream_overhead = 1.04;
  constexpr double clear_products = 100, part_products = 13;  // stream-K: another node of a graph; writing or adding a part
  const auto blocks = [](std::int64_t extent, std::int64_t unit) { return (extent + unit - 1) / unit; };
  const std::int64_t tile_count =
      blocks(size.rows, s.tile_m * s.cluster) * s.cluster * blocks(size.columns, s.tile_n) * size.batches * s.splits;
  const double fractional_waves = static_cast<double>(tile_count) / static_cast<double>(model.multiprocessors);
  const double waves = s.stream ? fractional_waves : static_cast<double>(blocks(tile_count, model.multiprocessors / s.cluster * s.cluster));
  const auto steps = static_cast<double>(blocks(blocks(size.depth, s.tile_k), s.splits));
  const double work = static_cast<double>(s.tile_m * s.tile_n) / (64 * 64);
  const double rows_fetched = s.tile_m * s.left_planes(plan) + 1.0 * s.tile_n * s.right_planes(plan) / s.cluster;
  const double alone = s.in_turn || s.consumers == 1 ? one_at_a_time + (s.promote > 0 ? 0.25 / s.promote : 0) : 1;
  // Narrow products are bound by shared memory; 192 rows or columns were seen slower than both neighbours.
  const double narrow = s.tile_n == 64 ? 1.15 : s.tile_n == 192 || s.consumers == 3 ? 1.1 : 1;
  const double multiply = work * static_cast<double>(s.products(plan).size()) * alone * narrow + step_overhead;
  // With one row of tiles nothing is read twice, so memory feeds the ring instead of L2.
  const double memory_bytes_per_product = model.memory_gb_per_s * 0.9 * product_ns;
  const bool streams = size.rows <= s.tile_m * s.cluster;
  const auto busy = static_cast<double>(s.stream ? model.multiprocessors : std::min(tile_count, model.multiprocessors));
  const double feed = streams ? std::min(memory_bytes_per_product / busy, l2_bytes_per_product) : l2_bytes_per_product;
  const double fetch = rows_fetched * row_bytes / feed;
  const double step = std::max(multiply, fetch) * s.tile_k * plan.element_bytes() / row_bytes;
  const double sums = steps * step, finish = finish_products * work + tile_overhead;
  // In turn, one warpgroup finishes while the other multiplies; the last tile is hidden by nothing.
  const double tiles_time = s.in_turn ? waves * std::max(sums, (sums + finish) / 2) + finish : waves * (sums + finish);
  // Sums of parts go to memory and back.
  const double parts = static_cast<double>(size.rows * size.columns * size.batches * s.splits);
  const double join = s.splits > 1 ? launch_products + parts * 2 * sizeof(float) / memory_bytes_per_product : 0;
  // Stream-K: flags are cleared first; a block gives one part and takes those of the tile that it finishes, one after the other.
  const auto dealt = static_cast<double>(std::max<std::int64_t>(1, tile_count % model.multiprocessors));
  const double parts_of_tile = static_cast<double>(model.multiprocessors) / dealt;
  const double fix_up = s.stream ? clear_products + part_products * work * (1 + parts_of_tile) : 0;
  return (tiles_time + fill_steps * step) * (s.cluster > 1 ? cluster_overhead : s.stream ? stream_overhead : 1) + join + fix_up;
}

bool fits(const gemm_plan& plan, const gemm_schedule& s, const simt_model& model) {
  const int most = s.consumers == 3 ? most_accumulators_three : most_accumulators;
  if (s.in_turn && s.tile_m > 128) return false;
  return s.stages * s.slot_bytes(plan) + shared_reserve_bytes <= model.shared_bytes_per_block && s.accumulators() <= most;
}

/// The most stages that fit, up to `wanted`; 0 when not even two do.
int most_stages(const gemm_plan& plan, gemm_schedule s, const simt_model& model, int wanted) {
  for (s.stages = wanted; s.stages >= 2; --s.stages)
    if (fits(plan, s, model)) return s.stages;
  return 0;
}

/// The schedule of warpgroups that the model takes for the fastest.
gemm_schedule prefer_warpgroups(const gemm_plan& plan, const simt_model& model, dtype lowest) {
  gemm_schedule best;
  double best_cost = 0;
  bool found = false;
  const gemm_sizes size = sizes_of(plan);
  const bool integers = plan.element == matrix_element::integer8;
  for (const tile& t : tiles) {
    for (const int cluster : {1, 2, -1, -2, 0}) {  // negative: in turn; 0: stream-K
      for (const int splits : {1, 2, 4, 8, 16}) {
        if ((splits > 1 && (integers || cluster == 0)) || (integers && cluster == 0)) break;
        gemm_schedule s;
        s.tile_m = t.m, s.tile_n = t.n, s.consumers = t.consumers;
        s.cluster = std::max(1, std::abs(cluster)), s.splits = splits;
        s.stream = cluster == 0;
        if (cluster < 0) s.in_turn = true, s.consumers = 2;
        s.order = precise_orders(plan, lowest).front();
        s.promote = plan.emulated() ? 1 : plan.wide_results() ? wide_promote : 0;
        s.tile_k = row_bytes / plan.element_bytes();
        if (most_stages(plan, s, model, 2) == 0) s.tile_k /= 2;
        s.stages = most_stages(plan, s, model, 8);
        if (s.stages == 0 || (splits > 1 && size.depth < splits * 256)) continue;
        const double cost = cost_of(plan, size, s, model);
        if (found && cost >= best_cost) continue;
        found = true;
        best = s;
        best_cost = cost;
      }
    }
  }
  return best;
}

decision numeric(std::string name, std::vector<std::int64_t> values, std::int64_t wanted, std::string meaning, double weight = 1) {
  decision d;
  d.name = std::move(name);
  d.preferred = static_cast<std::size_t>(std::find(values.begin(), values.end(), wanted) - values.begin()) % values.size();
  d.values = std::move(values);
  d.meaning = std::move(meaning);
  d.weight = weight;
  return d;
}

/// Rows x columns, coded as tile_code says.
decision tile_decision(std::string name, const std::vector<std::int64_t>& codes, int rows, int columns, std::string meaning,
                       double weight) {
  decision d = numeric(std::move(name), codes, rows * tile_code + columns, std::move(meaning), weight);
  for (const std::int64_t code : codes) d.labels.push_back(fmt::format("{}x{}", code / tile_code, code % tile_code));
  return d;
}

/// What a block computes, for all units that there are, in order of their size.
std::vector<std::int64_t> tile_codes(const gemm_plan& plan, const gemm_units& units) {
  std::vector<std::int64_t> codes;
  if (units.warpgroups)
    for (const tile& t : tiles) codes.push_back(t.m * tile_code + t.n);
  if (units.warps)
    for (const std::int64_t code : mma_tiles(plan))
      if (std::find(codes.begin(), codes.end(), code) == codes.end()) codes.push_back(code);
  std::sort(codes.begin(), codes.end());
  return codes;
}

/// Where both multiply: few rows and small products don't fill a warpgroup's 64 rows.
bool warps_are_faster(const gemm_plan& plan, const gemm_schedule& warps, const gemm_schedule& groups, const simt_model& model) {
  constexpr double benefit = 1.15;  // that the model must see: where it sees less it was seen wrong either way
  const gemm_sizes size = sizes_of(plan);
  return benefit * mma_cost(plan, size, warps, model) < cost_of(plan, size, groups, model) * product_ns;
}

decision units_decision(const std::string& name, const gemm_schedule& preferred) {
  decision d;
  d.name = name;
  d.values = {0, 1};
  d.labels = {"warpgroups", "warps"};
  d.preferred = preferred.by_warps() ? 1 : 0;
  d.meaning = "who multiplies: warpgroups (WGMMA), or single warps (mma.sync)";
  return d;
}

decision turns_decision(const std::string& name, const gemm_schedule& preferred) {
  decision d;
  d.name = name;
  d.values = {0, 1};
  d.labels = {"together", "in turn"};
  d.preferred = preferred.in_turn ? 1 : 0;
  d.meaning = "warpgroups share a tile, or each has its own and one finishes while the other multiplies";
  d.weight = 2;
  return d;
}

decision schedule_decision(const std::string& name, const gemm_schedule& preferred) {
  decision d;
  d.name = name;
  d.values = {0, 1};
  d.labels = {"tiles", "stream-K"};
  d.preferred = preferred.stream ? 1 : 0;
  d.meaning = "blocks take whole tiles, or equal shares of the steps of all tiles that don't fill a wave";
  return d;
}

decision order_decision(const std::string& name, const gemm_plan& plan, const std::vector<int>& orders) {
  decision d;
  d.name = name;
  for (const int order : orders) {
    gemm_schedule s;
    s.order = order;
    d.values.push_back(order);
    d.labels.push_back(fmt::format("{}", s.products(plan).size()));
  }
  d.meaning = "products of bf16 planes that stand for one product of wider numbers";
  return d;
}

}  // namespace

int gemm_schedule::step_k(const gemm_plan& plan) const {
  return plan.wide() ? std::max(8, instruction % 100) : 32 / plan.element_bytes();
}

int gemm_schedule::left_planes(const gemm_plan& plan) const {
  return std::min(plan.left.planes, order + 1);
}

int gemm_schedule::right_planes(const gemm_plan& plan) const {
  return std::min(plan.right.planes, order + 1);
}

std::vector<std::pair<int, int>> gemm_schedule::products(const gemm_plan& plan) const {
  std::vector<std::pair<int, int>> all;
  for (int sum = order; sum >= 0; --sum)
    for (int l = std::min(sum, plan.left.planes - 1); l >= 0; --l)
      if (sum - l < plan.right.planes) all.emplace_back(l, sum - l);
  return all;
}

std::int64_t gemm_schedule::slot_bytes(const gemm_plan& plan) const {
  return static_cast<std::int64_t>(left_planes(plan) * tile_m + right_planes(plan) * tile_n) * tile_k * plan.element_bytes();
}

int gemm_schedule::accumulators() const {
  return pieces() * tile_n / 2 * (promote > 0 ? 2 : 1);
}

std::vector<int> precise_orders(const gemm_plan& plan, dtype lowest) {
  const int all = plan.left.planes + plan.right.planes - 2;
  if (all == 0) return {0};
  const int enough = std::min(all, 2);
  std::vector<int> orders;
  if (lowest == dtype::f16 || lowest == dtype::bf16) orders.push_back(1);  // 2^-16 is below what either holds
  for (int order = enough; order <= all; ++order)
    if (orders.empty() || orders.back() < order) orders.push_back(order);
  return orders;
}

gemm_units units_of(const gemm_plan& plan, const simt_model& model) {
  if (model.language != dialect::cuda) return {};
  // Tiles that are gathered are left to warps: the copy engine that feeds warpgroups wants boxes.
  return {model.architecture == "sm_90a" && !plan.wide() && !plan.flat, compute_capability(model) >= 80};
}

std::vector<decision> gemm_decisions(const gemm_plan& plan, const std::string& group, const simt_model& model, dtype lowest) {
  const gemm_units units = units_of(plan, model);
  const gemm_schedule warps = units.warps ? prefer_mma(plan, model, lowest) : gemm_schedule{};
  const gemm_schedule groups = units.warpgroups ? prefer_warpgroups(plan, model, lowest) : gemm_schedule{};
  const gemm_schedule best = !units.warpgroups || (units.warps && warps_are_faster(plan, warps, groups, model)) ? warps : groups;
  const std::vector<int> orders = precise_orders(plan, lowest);
  const int widest = row_bytes / plan.element_bytes();
  std::vector<decision> all;
  if (units.warps && units.warpgroups) all.push_back(units_decision(group + ".units", best));
  all.push_back(tile_decision(group + ".tile", tile_codes(plan, units), best.tile_m, best.tile_n,
                              "rows x columns of the result that one block computes at a time", 3));
  if (units.warps && mma_warp_tiles(plan).size() > 1)
    all.push_back(tile_decision(group + ".warp", mma_warp_tiles(plan), warps.warp_m, warps.warp_n, "what one warp computes of it", 2));
  if (units.warpgroups) all.push_back(turns_decision(group + ".turns", groups));
  const std::vector<std::int64_t> depths = plan.wide() ? std::vector<std::int64_t>{16, 32} : std::vector<std::int64_t>{widest / 2, widest};
  all.push_back(numeric(group + ".tile_k", depths, best.tile_k, "depth of one slot of the ring", 0.5));
  all.push_back(numeric(group + ".stages", {2, 3, 4, 5, 6, 7, 8}, best.stages, "slots of the ring in shared memory; as many as fit"));
  if (units.warpgroups)
    all.push_back(numeric(group + ".cluster", {1, 2, 4}, groups.cluster, "blocks that share the right operand's tiles", 2));
  all.push_back(numeric(group + ".band", {1, 2, 4, 8, 16, 32}, best.band, "tile rows walked together, for L2", 2));
  if (plan.element == matrix_element::integer8) return all;
  all.push_back(numeric(group + ".splits", {1, 2, 3, 4, 6, 8, 16}, best.splits, "parts of the depth that different blocks sum"));
  if (units.warpgroups) all.push_back(schedule_decision(group + ".schedule", groups));
  if (plan.wide()) {
    const std::vector<std::int64_t> instructions = mma_instructions(model);
    if (instructions.size() == 1) return all;
    all.push_back(numeric(group + ".instruction", instructions, best.instruction, "one instruction's rows x columns x depth", 0.5));
    for (const std::int64_t code : instructions) all.back().labels.push_back(fmt::format("{}x8x{}", code / 100, code % 100));
    return all;
  }
  all.push_back(numeric(group + ".promote", {0, 1, 2, 4, 8}, best.promote,
                        "slots that the tensor cores sum up before the sum is rounded to nearest; 0: all", 0.5));
  if (orders.size() > 1) all.push_back(order_decision(group + ".products", plan, orders));
  return all;
}

double preferred_gemm_cost(const gemm_plan& plan, const simt_model& model, dtype lowest) {
  constexpr double launch_ns = 2000;
  const gemm_units units = units_of(plan, model);
  const gemm_sizes size = sizes_of(plan);
  double cost = 1e18;
  if (units.warps) cost = mma_cost(plan, size, prefer_mma(plan, model, lowest), model);
  if (units.warpgroups) cost = std::min(cost, cost_of(plan, size, prefer_warpgroups(plan, model, lowest), model) * product_ns);
  if (!plan.emulated()) return cost + launch_ns;
  // Operands are read and their planes written; the flag is cleared, and a kernel looks at it in the end.
  double bytes = 0;
  for (const gemm_operand* o : {&plan.left, &plan.right}) {
    const std::int64_t lines = o == &plan.left ? size.rows : size.columns;
    bytes += static_cast<double>(lines * size.depth * size.batches) * static_cast<double>(4 + plan.element_bytes() * o->planes);
  }
  return cost + 5 * launch_ns + bytes / (0.8 * model.memory_gb_per_s);
}

gemm_schedule read_gemm_schedule(const gemm_plan& plan, const std::string& group, const simt_model& model, dtype lowest,
                                 const assignment& chosen) {
  const auto get = [&](const char* name, int otherwise = 0) {
    const auto found = chosen.find(group + name);
    return found == chosen.end() ? otherwise : static_cast<int>(found->second);
  };
  const gemm_units units = units_of(plan, model);
  gemm_schedule s;
  s.tile_m = get(".tile") / tile_code;
  s.tile_n = get(".tile") % tile_code;
  s.tile_k = get(".tile_k");
  s.stages = get(".stages");
  s.band = get(".band");
  s.splits = std::max(get(".splits"), 1);
  s.promote = get(".promote");
  s.order = get(".products", precise_orders(plan, lowest).front());
  if (units.warps && (!units.warpgroups || get(".units") == 1)) {
    const int warp = get(".warp", static_cast<int>(mma_warp_tiles(plan).front()));
    s.warp_m = warp / tile_code;
    s.warp_n = warp % tile_code;
    s.instruction = get(".instruction", s.instruction);
    return s;
  }
  s.consumers = 0;
  for (const tile& t : tiles)
    if (t.m == s.tile_m && t.n == s.tile_n) s.consumers = t.consumers;
  if (s.consumers == 0) s.tile_m = 64, s.tile_n = std::max(s.tile_n, 64), s.consumers = 1;  // a tile of warps
  s.in_turn = get(".turns") != 0;
  if (s.in_turn) s.consumers = 2;
  s.cluster = get(".cluster", 1);
  s.stream = get(".schedule") == 1;
  return s;
}

namespace {

/// Too large for registers or shared memory: a narrower tile, a shallower ring, shallower slots, in this order.
void fit_warpgroups(const gemm_plan& plan, const simt_model& model, gemm_schedule& s) {
  if (s.accumulators() > (s.consumers == 3 ? most_accumulators_three : most_accumulators)) {
    s.tile_m = s.tile_n = 128;
    s.consumers = 2;
  }
  if (most_stages(plan, s, model, s.stages) == 0) s.tile_k = row_bytes / plan.element_bytes() / 2;
  if (most_stages(plan, s, model, s.stages) == 0) s.tile_m = s.tile_n = 128, s.consumers = 2;
  s.stages = most_stages(plan, s, model, s.stages);
}

}  // namespace

void normalise_gemm(const gemm_plan& plan, const std::string& group, const simt_model& model, dtype lowest, assignment& chosen) {
  const auto preferred = [&](const std::vector<std::string>& names) {
    const std::vector<decision> all = gemm_decisions(plan, group, model, lowest);
    for (const decision& d : all)
      if (std::find(names.begin(), names.end(), d.name.substr(group.size())) != names.end()) chosen[d.name] = d.values[d.preferred];
  };
  gemm_schedule s = read_gemm_schedule(plan, group, model, lowest, chosen);
  if (s.by_warps()) {
    if (chosen.contains(group + ".units")) preferred({".turns", ".cluster", ".schedule"});
    fit_mma(plan, model, s);
    if (chosen.contains(group + ".warp")) chosen[group + ".warp"] = s.warp_m * tile_code + s.warp_n;
    if (chosen.contains(group + ".instruction")) chosen[group + ".instruction"] = s.instruction;
  } else {
    if (chosen.contains(group + ".warp")) preferred({".warp"});
    if (plan.emulated()) s.promote = std::max(s.promote, 1);  // what rounding towards zero adds would be more than f32 loses
    if (s.stream) {  // equal shares take one walk through tiles, of one block, whose parts meet in one place
      chosen[group + ".turns"] = 0;
      chosen[group + ".cluster"] = 1;
      chosen[group + ".splits"] = 1;
      const int promote = s.promote;
      s = read_gemm_schedule(plan, group, model, lowest, chosen);
      s.promote = promote;
    }
    if (s.in_turn && (s.tile_m > 128 || s.accumulators() > most_accumulators)) {
      chosen[group + ".turns"] = 0;
      const int promote = s.promote;
      s = read_gemm_schedule(plan, group, model, lowest, chosen);
      s.promote = promote;
    }
    fit_warpgroups(plan, model, s);
  }
  chosen[group + ".tile"] = s.tile_m * tile_code + s.tile_n;
  chosen[group + ".tile_k"] = s.tile_k;
  chosen[group + ".stages"] = s.stages;
  if (chosen.contains(group + ".promote")) chosen[group + ".promote"] = s.promote;
}

}  // namespace kernsmith::agents::simt
