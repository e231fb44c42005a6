#include "agents/synthesis/simt/product_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "agents/synthesis/row_grammar_plan.hpp"
#include "agents/synthesis/simt/gemm_mma_schedule.hpp"

namespace kernsmith::agents::simt {
namespace {

constexpr int pair_code = 1000;      // a pair's value is rows * 1000 + columns
constexpr int most_registers = 255;  // of a thread
constexpr int other_registers = 16;  // beside results and operands: addresses, counters
constexpr int most_threads = 512;
constexpr std::int64_t driver_shared_bytes = 1024;  // of each block, beside its own

const std::vector<std::int64_t>& tile_codes() {
  static const std::vector<std::int64_t> codes = {16064, 32032, 32064, 32128, 64064, 64128, 128064, 128128, 128256, 256128};
  return codes;
}

const std::vector<std::int64_t>& own_codes() {
  static const std::vector<std::int64_t> codes = {4004, 4008, 8004, 8008, 8016, 16008};
  return codes;
}

/// Registers of a thread: results, operands of two elements of the depth, a slot's share on its way, the rest.
int registers_of(const product_plan& plan, const product_schedule& s) {
  const int words = plan.widest() / 4;
  int operands = 0, under_way = 0;
  for (const product_tile& t : plan.tiles) {
    operands += t.left ? s.own_m : s.own_n;
    if (!s.copies) under_way += std::max(product_chunk, s.depth * (t.left ? s.tile_m : s.tile_n) / s.threads());
  }
  return (s.own_m * s.own_n + 2 * operands + under_way) * words + s.own_m * s.own_n / 4 + other_registers;
}

bool has_copies(const product_plan& plan, const simt_model& model) {
  return model.language == dialect::cuda && compute_capability(model) >= 80 && plan.copies_whole();
}

bool fits_registers(const product_plan& plan, const product_schedule& s, const simt_model& model) {
  const int registers = registers_of(plan, s);
  return registers <= most_registers && static_cast<std::int64_t>(registers) * s.threads() <= model.registers_per_multiprocessor;
}

bool fits_shared(const product_plan& plan, const product_schedule& s, const simt_model& model) {
  return s.shared_bytes(plan) + driver_shared_bytes <= model.shared_bytes_per_block;
}

/// Fewer results for a thread while they don't fit its registers or the tile; a smaller tile while that has too many threads; fewer and
/// shallower slots while they don't fit shared memory.
void fit_product(const product_plan& plan, const simt_model& model, product_schedule& s) {
  if (!has_copies(plan, model)) s.copies = false;
  if (!s.copies) s.slots = 2;  // what comes through registers fills one slot while the other is read
  const auto halve = [](int& larger, int& smaller) { (larger >= smaller && larger > product_chunk ? larger : smaller) /= 2; };
  while (s.own_m > product_chunk && s.own_m * lanes_down > s.tile_m) s.own_m /= 2;
  while (s.own_n > product_chunk && s.own_n * lanes_across > s.tile_n) s.own_n /= 2;
  while (s.threads() > most_threads) (s.tile_m >= s.tile_n ? s.tile_m : s.tile_n) /= 2;
  while (!fits_registers(plan, s, model) && s.own_m * s.own_n > product_chunk * product_chunk) {
    halve(s.own_m, s.own_n);
    while (s.threads() > most_threads) (s.tile_m >= s.tile_n ? s.tile_m : s.tile_n) /= 2;
  }
  while (s.slots > 2 && !fits_shared(plan, s, model)) --s.slots;
  while (s.depth > 8 && !fits_shared(plan, s, model)) s.depth /= 2;
  while (!fits_shared(plan, s, model) && (s.warps_down() > 1 || s.warps_across() > 1))
    (s.warps_across() > 1 && (s.tile_n >= s.tile_m || s.warps_down() == 1) ? s.tile_n : s.tile_m) /= 2;
}

bool is_known(const std::vector<std::int64_t>& codes, int rows, int columns) {
  return std::find(codes.begin(), codes.end(), rows * pair_code + columns) != codes.end();
}

std::int64_t blocks_of(std::int64_t extent, std::int64_t unit) {
  return (extent + unit - 1) / unit;
}

decision numeric(std::string name, std::vector<std::int64_t> values, std::int64_t wanted, std::string meaning, double weight) {
  decision d;
  d.name = std::move(name);
  d.preferred = static_cast<std::size_t>(std::find(values.begin(), values.end(), wanted) - values.begin()) % values.size();
  d.values = std::move(values);
  d.meaning = std::move(meaning);
  d.weight = weight;
  return d;
}

decision pair_decision(std::string name, const std::vector<std::int64_t>& codes, int rows, int columns, std::string meaning,
                       double weight) {
  decision d = numeric(std::move(name), codes, rows * pair_code + columns, std::move(meaning), weight);
  for (const std::int64_t code : codes) d.labels.push_back(fmt::format("{}x{}", code / pair_code, code % pair_code));
  return d;
}

/// Multiply-adds of one multiprocessor in a clock cycle, by the vendors' tables.
double operations_per_clock(const product_plan& plan, const simt_model& model) {
  const int capability = compute_capability(model);
  const bool wide = plan.widest() == 8;
  if (model.language != dialect::cuda) return wide ? 64 : 128;  // CDNA; RDNA has fewer for f64
  if (wide) return capability == 80 || capability == 90 || capability == 100 ? 64 : 2;
  return capability == 75 || capability == 80 ? 64 : 128;
}

/// Instructions that take one element of the depth in: a multiply-add is one.
double operations_of(const product_plan& plan) {
  const row::row_statement& s = plan.p.at(plan.reduce);
  int calls = 0;
  row::walk(s, s.value, [&](int node) { calls += s.nodes[static_cast<std::size_t>(node)].kind == expression_kind::call ? 1 : 0; });
  const bool fused = s.reducer == reduction::sum && s.nodes[static_cast<std::size_t>(s.value)].op == operation::multiply;
  const bool extreme = s.reducer == reduction::min || s.reducer == reduction::max;
  return std::max(1, calls) + (fused ? 0 : extreme ? 2 : 1);  // extremes are found at half the rate
}

}  // namespace

std::int64_t product_schedule::shared_bytes(const product_plan& plan) const {
  const lane_code code(plan.p);
  std::int64_t bytes = 0;
  for (const product_tile& t : plan.tiles) {
    const std::string type = plan.tile_type(code, t);
    const std::int64_t element = type == "double" || type == "int64_t" ? 8 : type == "bool" ? 1 : 4;
    bytes += static_cast<std::int64_t>(slots) * depth * line(t) * element;
  }
  return bytes;
}

int product_schedule::resident(const product_plan& plan, const simt_model& model) const {
  const std::int64_t registers = std::min(registers_of(plan, *this), most_registers);
  const std::int64_t by_registers = model.registers_per_multiprocessor / (registers * threads());
  const std::int64_t by_shared = model.shared_bytes_per_multiprocessor / (shared_bytes(plan) + driver_shared_bytes);
  return static_cast<int>(std::max<std::int64_t>(1, std::min({by_registers, by_shared, model.threads_per_multiprocessor / threads()})));
}

double product_cost(const product_plan& plan, const product_schedule& s, const simt_model& model) {
  // Fitted to some hundred schedules on an H200.
  constexpr double clock_ghz = 1.7;
  constexpr double latency_clocks = 1500;  // of memory
  constexpr double level_clocks = 20;      // from shared memory to registers, unless other warps go on meanwhile
  constexpr double slot_clocks = 120;      // barrier, addresses, at every slot, unless other blocks go on meanwhile
  constexpr double block_clocks = 2500;    // until the ring is full, and writing results
  constexpr double launch_ns = 2000;
  const std::int64_t rows = plan.p.typical({plan.row}), columns = plan.p.typical({plan.column}), depth = plan.p.typical({plan.depth}),
                     batches = plan.p.typical(plan.batch);
  const std::int64_t items = blocks_of(rows, s.tile_m) * blocks_of(columns, s.tile_n) * batches * s.splits;
  const auto steps = static_cast<double>(blocks_of(blocks_of(depth, s.depth), s.splits));
  const auto blocks = static_cast<double>(blocks_of(items, model.multiprocessors));
  const double most_together = s.resident(plan, model), together = std::min(blocks, most_together);
  const double warps = together * s.threads() / 32.0;

  const double per_clock = operations_per_clock(plan, model), bytes = plan.widest(), operations = operations_of(plan);
  const double own = s.own_m * s.own_n, units = 4;  // a multiprocessor has so many, each with warps of its own
  // Instructions of a thread at one level: products, reads, its share of what brings a slot.
  double chunks = 0, brought = 0, bringing = 0;
  for (const product_tile& t : plan.tiles) {
    const double elements = static_cast<double>(s.depth) * (t.left ? s.tile_m : s.tile_n), share = elements / s.threads() / s.depth;
    chunks += (t.left ? s.own_m : s.own_n) / product_chunk;  // each takes two turns of the scheduler
    brought += bytes * elements;
    const bool by_elements = t.along_depth || !t.along_own;
    bringing += s.copies ? share * (by_elements ? (together < 2 ? 13 : warps > 8 ? 3.5 : 5) : 0.75) : share * (by_elements ? 2 : 1);
  }
  const double exposed = s.copies ? 1 : 1.02;                    // what comes through registers is waited for
  const double crowded = operations > 1 && own > 64 ? 1.15 : 1;  // what isn't a multiply-add was seen faster in smaller squares
  const double multiply = own * operations * s.threads() * s.depth / per_clock;
  const double issue = multiply * (1 + (2 * chunks + bringing) / (own * operations)) * exposed * crowded;
  // Half a warp reads 128 different bytes at most in one clock cycle.
  const double read = s.threads() / 32.0 * s.depth * chunks * 2 * bytes / 4;
  const double feed = std::min(44.0, together * (s.slots - 1) * brought / latency_clocks);
  const double alone = s.depth * (own * operations * 128 / per_clock * std::max(1.0, s.threads() / (32 * units)) + level_clocks) / together;
  const double step = std::max({issue, read, brought / feed, alone}) + slot_clocks / together;
  const double clocks = blocks * steps * step + std::ceil(blocks / most_together) * block_clocks;

  const double elements = static_cast<double>((rows + columns) * depth * batches) * bytes;
  const double join =
      s.splits > 1 ? launch_ns + static_cast<double>(rows * columns * batches) * s.splits * 2 * bytes / model.memory_gb_per_s : 0;
  const double compute = clocks / clock_ghz, memory = elements / (0.9 * model.memory_gb_per_s);
  return launch_ns + std::max(compute, memory) + 0.05 * std::min(compute, memory) + join;  // less work among equals
}

product_schedule prefer_product(const product_plan& plan, const simt_model& model) {
  product_schedule best;
  double best_cost = 0;
  const std::int64_t depth = plan.p.typical({plan.depth});
  for (const std::int64_t tile : tile_codes())
    for (const std::int64_t own : own_codes())
      for (const int slot_depth : {16, 8})
        for (int variant = 0; variant < 10; ++variant) {
          const int splits = 1 << variant / 2;
          if (splits > 1 && depth < splits * 64) break;
          product_schedule wanted;
          wanted.copies = variant % 2 == 0;
          wanted.tile_m = static_cast<int>(tile / pair_code), wanted.tile_n = static_cast<int>(tile % pair_code);
          wanted.own_m = static_cast<int>(own / pair_code), wanted.own_n = static_cast<int>(own % pair_code);
          wanted.depth = slot_depth, wanted.splits = splits;
          product_schedule s = wanted;
          fit_product(plan, model, s);
          if (s.tile_m != wanted.tile_m || s.tile_n != wanted.tile_n || s.own_m != wanted.own_m || s.own_n != wanted.own_n ||
              s.copies != (wanted.copies && has_copies(plan, model)))
            continue;
          if (s.own_m * s.own_n > 64 && s.threads() < 128) continue;  // so few threads bring too much each
          const double cost = product_cost(plan, s, model);
          if (best_cost > 0 && cost >= best_cost) continue;
          best = s;
          best_cost = cost;
        }
  if (best_cost == 0) fit_product(plan, model, best);
  return best;
}

std::vector<decision> product_decisions(const product_plan& plan, const std::string& prefix, const simt_model& model) {
  const product_schedule best = prefer_product(plan, model);
  std::vector<decision> all;
  all.push_back(pair_decision(prefix + "tile", tile_codes(), best.tile_m, best.tile_n, "rows x columns of results of a block", 3));
  all.push_back(pair_decision(prefix + "own", own_codes(), best.own_m, best.own_n, "rows x columns of results of a thread", 3));
  all.push_back(numeric(prefix + "depth", {8, 16, 32}, best.depth, "elements of the summed index in one slot of shared memory", 1.5));
  if (has_copies(plan, model)) {
    all.push_back(numeric(prefix + "slots", {2, 3, 4}, best.slots, "slots of the ring in shared memory; as many as fit", 1));
    decision copies = numeric(prefix + "copies", {0, 1}, best.copies ? 1 : 0, "how operands get into shared memory", 1);
    copies.labels = {"through registers", "asynchronous"};
    all.push_back(copies);
  }
  all.push_back(numeric(prefix + "band", {1, 4, 8, 16}, best.band, "tile rows walked together, for L2", 1));
  all.push_back(numeric(prefix + "splits", {1, 2, 3, 4, 6, 8, 16}, best.splits, "parts of the depth that different blocks reduce", 1.5));
  return all;
}

product_schedule read_product_schedule(const product_plan& plan, const std::string& prefix, const simt_model& model,
                                       const assignment& chosen) {
  const auto get = [&](const char* name, int otherwise) {
    const auto found = chosen.find(prefix + name);
    return found == chosen.end() ? otherwise : static_cast<int>(found->second);
  };
  product_schedule s;
  s.tile_m = get("tile", 64064) / pair_code;
  s.tile_n = get("tile", 64064) % pair_code;
  s.own_m = get("own", 4004) / pair_code;
  s.own_n = get("own", 4004) % pair_code;
  s.depth = get("depth", s.depth);
  s.slots = get("slots", 2);
  s.copies = get("copies", 0) == 1;
  s.band = get("band", s.band);
  s.splits = get("splits", 1);
  fit_product(plan, model, s);
  return s;
}

void normalise_product(const product_plan& plan, const std::string& prefix, const simt_model& model, assignment& chosen) {
  product_schedule s = read_product_schedule(plan, prefix, model, chosen);
  // Halving may have led to a pair that isn't among the choices: then the smallest, which fits everywhere.
  if (!is_known(tile_codes(), s.tile_m, s.tile_n) || !is_known(own_codes(), s.own_m, s.own_n)) {
    s.tile_m = s.tile_n = 32;
    s.own_m = s.own_n = product_chunk;
    fit_product(plan, model, s);
  }
  chosen[prefix + "tile"] = s.tile_m * pair_code + s.tile_n;
  chosen[prefix + "own"] = s.own_m * pair_code + s.own_n;
  chosen[prefix + "depth"] = s.depth;
  if (chosen.contains(prefix + "slots")) chosen[prefix + "slots"] = s.slots;
  if (chosen.contains(prefix + "copies")) chosen[prefix + "copies"] = s.copies ? 1 : 0;
}

}  // namespace kernsmith::agents::simt
