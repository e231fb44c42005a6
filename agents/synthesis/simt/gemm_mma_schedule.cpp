#include "agents/synthesis/simt/gemm_mma_schedule.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace kernsmith::agents::simt {
namespace {

constexpr std::int64_t tile_code = 1000;  // a tile decision's value is rows * 1000 + columns
constexpr int most_registers = 255;       // of a thread
constexpr int other_registers = 40;       // beside sums and operands: addresses, counters
constexpr int most_threads = 512;
constexpr int wide_promote = 4;                     // slots summed on tensor cores when the result keeps more bits than they do
constexpr std::int64_t driver_shared_bytes = 1024;  // of each block, beside its own

int threads_of(const gemm_schedule& s) {
  return s.tile_m / s.warp_m * (s.tile_n / s.warp_n) * 32;
}

/// Registers of a thread: sums, operands of two phases, the rest.
int registers_of(const gemm_plan& plan, const gemm_schedule& s) {
  const int words = plan.wide() ? 2 : 1;
  const int sums = s.warp_m * s.warp_n / 32 * words * (s.promote > 0 ? 2 : 1);
  const int lefts = s.warp_m / 16 * (plan.wide() ? s.step_k(plan) / 2 : 4), rights = s.warp_n / 8 * (plan.wide() ? s.step_k(plan) / 4 : 2);
  const int operands = (s.left_planes(plan) * lefts + s.right_planes(plan) * rights) * words;
  return sums + 2 * operands + other_registers;
}

/// Pieces of 16 bytes in the longest line of a tile: a thread copies pieces of one column.
int longest_line(const gemm_plan& plan, const gemm_schedule& s) {
  int elements = s.tile_k;
  if (plan.left.along) elements = std::max(elements, s.tile_m);
  if (plan.right.along) elements = std::max(elements, s.tile_n);
  return elements * plan.element_bytes() / 16;
}

bool warp_fits(const gemm_plan& plan, const gemm_schedule& s) {
  return s.warp_m <= s.tile_m && s.warp_n <= s.tile_n && registers_of(plan, s) <= most_registers && threads_of(s) >= longest_line(plan, s);
}

/// Where a warp's tile doesn't fit its block or its registers: the largest that does and isn't larger.
void fit_warp(const gemm_plan& plan, gemm_schedule& s) {
  if (warp_fits(plan, s)) return;
  gemm_schedule best = s;
  best.warp_m = best.warp_n = 0;
  for (const std::int64_t code : mma_warp_tiles(plan)) {
    gemm_schedule smaller = s;
    smaller.warp_m = static_cast<int>(code / tile_code), smaller.warp_n = static_cast<int>(code % tile_code);
    const int area = smaller.warp_m * smaller.warp_n;
    if (area <= s.warp_m * s.warp_n && area > best.warp_m * best.warp_n && warp_fits(plan, smaller)) best = smaller;
  }
  s = best.by_warps() ? best : s;
}

bool fits(const gemm_plan& plan, const gemm_schedule& s, const simt_model& model) {
  return s.stages * s.slot_bytes(plan) + driver_shared_bytes <= model.shared_bytes_per_block;
}

/// Products of a multiprocessor in one clock cycle, as warps get them, by the vendor's tables and what was measured on an H200.
double products_per_clock(const gemm_plan& plan, const simt_model& model) {
  const int capability = compute_capability(model);
  const bool large = capability == 80 || capability == 90 || capability == 100;
  if (plan.wide()) return capability == 90 ? 128 : large ? 64 : 2;  // sm_86, 89, 120: units of f64 are few
  const double half = capability == 90 ? 1150 : large ? 1024 : 512;
  return plan.element == matrix_element::integer8 ? 2 * half : half;
}

/// f64: sm_90's longer instructions are faster than two of 8 rows; the longest takes too many registers.
int best_instruction(const simt_model& model) {
  return compute_capability(model) >= 90 ? 1608 : 804;
}

std::int64_t blocks_of(std::int64_t extent, std::int64_t unit) {
  return (extent + unit - 1) / unit;
}

/// Blocks that a multiprocessor holds at a time.
std::int64_t resident(const gemm_plan& plan, const gemm_schedule& s, const simt_model& model) {
  const std::int64_t threads = threads_of(s);
  const std::int64_t registers = std::min(registers_of(plan, s), most_registers) * threads;
  return std::max<std::int64_t>(1, std::min({model.shared_bytes_per_multiprocessor / (s.stages * s.slot_bytes(plan) + driver_shared_bytes),
                                             model.registers_per_multiprocessor / registers, model.threads_per_multiprocessor / threads}));
}

}  // namespace

int compute_capability(const simt_model& model) {
  int number = 0;
  if (!model.architecture.starts_with("sm_")) return 0;
  std::from_chars(model.architecture.data() + 3, model.architecture.data() + model.architecture.size(), number);
  return number;
}

std::vector<std::int64_t> mma_tiles(const gemm_plan& plan) {
  if (plan.wide()) return {32032, 32064, 64032, 64064, 64128, 128064, 128128};
  return {16128, 32064, 32128, 64064, 64128, 64256, 128064, 128128, 128256, 256128};
}

std::vector<std::int64_t> mma_warp_tiles(const gemm_plan& plan) {
  if (plan.wide()) return {32032};  // larger ones spill registers
  return {16032, 32032, 32064, 64032, 64064};
}

std::vector<std::int64_t> mma_instructions(const simt_model& model) {
  return compute_capability(model) >= 90 ? std::vector<std::int64_t>{804, 1604, 1608, 1616} : std::vector<std::int64_t>{804};
}

double mma_cost(const gemm_plan& plan, const gemm_sizes& size, const gemm_schedule& s, const simt_model& model) {
  // Fitted to some hundred schedules on an H200.
  constexpr double clock_ghz = 1.7;
  constexpr double shared_bytes_per_clock = 128, l2_bytes_per_clock = 44;  // of a multiprocessor
  constexpr double latency_clocks = 1200;                                  // of memory
  constexpr double block_clocks = 2000;                                    // until the ring is full
  constexpr double finish_clocks_per_result = 0.18;                        // of 16 bits or f32
  constexpr double barrier_clocks = 100;                                   // at every slot, unless other blocks go on meanwhile
  constexpr double copied_bytes_per_clock = 300;                           // by instructions that the multiplying warps have to issue
  constexpr double launch_ns = 3000;
  constexpr double full_warps = 8;  // that keep the units busy; each unit is one of four
  const std::int64_t items = blocks_of(size.rows, s.tile_m) * blocks_of(size.columns, s.tile_n) * size.batches * s.splits;
  const auto steps = static_cast<double>(blocks_of(blocks_of(size.depth, s.tile_k), s.splits));
  const auto blocks = static_cast<double>(blocks_of(items, model.multiprocessors));
  const auto most_together = static_cast<double>(resident(plan, s, model));
  const double together = std::min(blocks, most_together);
  const double warps = threads_of(s) / 32.0;
  const double efficiency = std::min({1.0, 0.5 + 0.5 * together * warps / full_warps, 0.6 * together * warps / 4});

  const auto products = static_cast<double>(s.products(plan).size());
  const double multiply = products * s.tile_m * s.tile_n * s.tile_k / products_per_clock(plan, model) / efficiency;
  const auto brought = static_cast<double>(s.slot_bytes(plan));
  const int again = products > 1 ? 1 : 0;  // the first planes are read twice
  const double read =
      warps * ((s.left_planes(plan) + again) * s.warp_m + (s.right_planes(plan) + again) * s.warp_n) * s.tile_k * plan.element_bytes();
  const double feed = std::min(l2_bytes_per_clock, together * (s.stages - 1) * brought / latency_clocks);
  const double step = std::max({multiply, (read + brought) / shared_bytes_per_clock, brought / feed}) + barrier_clocks / together +
                      brought / copied_bytes_per_clock;
  const double finish = finish_clocks_per_result * s.tile_m * s.tile_n * (plan.wide() ? 2 : 1);
  const double clocks = blocks * (steps * step + finish) + std::ceil(blocks / most_together) * block_clocks;

  const auto elements = static_cast<double>((size.rows + size.columns) * size.depth * size.batches) * plan.element_bytes();
  const auto results = static_cast<double>(size.rows * size.columns * size.batches);
  const double join = s.splits > 1 ? launch_ns + results * s.splits * 4 * (plan.wide() ? 8 : 4) / model.memory_gb_per_s : 0;
  const double compute = clocks / clock_ghz, memory = elements / (0.9 * model.memory_gb_per_s);
  return std::max(compute, memory) + 0.05 * std::min(compute, memory) + join;  // less work among equals
}

gemm_schedule prefer_mma(const gemm_plan& plan, const simt_model& model, dtype lowest) {
  gemm_schedule best;
  double best_cost = 0;
  const gemm_sizes size = sizes_of(plan);
  const auto consider = [&](const gemm_schedule& wanted) {
    gemm_schedule s = wanted;
    fit_mma(plan, model, s);
    if (s.tile_m != wanted.tile_m || s.tile_n != wanted.tile_n || s.warp_m != wanted.warp_m || s.warp_n != wanted.warp_n) return;
    const double cost = mma_cost(plan, size, s, model);
    if (best.by_warps() && cost >= best_cost) return;
    best = s;
    best_cost = cost;
  };
  gemm_schedule s;
  s.instruction = best_instruction(model);
  s.order = precise_orders(plan, lowest).front();
  s.promote = plan.emulated() ? 1 : plan.wide_results() ? wide_promote : 0;
  std::vector<std::int64_t> tiles = mma_tiles(plan);
  std::reverse(tiles.begin(), tiles.end());  // the largest of equals
  for (const std::int64_t tile : tiles) {
    for (const std::int64_t warp : mma_warp_tiles(plan)) {
      s.tile_m = static_cast<int>(tile / tile_code), s.tile_n = static_cast<int>(tile % tile_code);
      s.warp_m = static_cast<int>(warp / tile_code), s.warp_n = static_cast<int>(warp % tile_code);
      for (s.splits = 1; s.splits <= 16; s.splits *= 2) {
        if (s.splits > 1 && (plan.element == matrix_element::integer8 || size.depth < s.splits * 128)) break;
        for (const int line_bytes : plan.wide() ? std::array{256, 128} : std::array{128, 64}) {
          s.tile_k = line_bytes / plan.element_bytes();
          for (const int stages : {4, 6, 8, 3}) {  // two wait for memory at every slot
            s.stages = stages;
            consider(s);
          }
        }
      }
    }
  }
  return best;
}

void fit_mma(const gemm_plan& plan, const simt_model& model, gemm_schedule& s) {
  s.in_turn = false;
  s.cluster = 1;
  if (plan.emulated()) s.promote = std::max(s.promote, 1);  // what rounding towards zero adds would be more than f32 loses
  if (plan.wide()) s.promote = 0;
  const std::vector<std::int64_t> instructions = mma_instructions(model);
  if (std::find(instructions.begin(), instructions.end(), s.instruction) == instructions.end()) s.instruction = best_instruction(model);
  s.tile_k = std::max(s.tile_k, 2 * s.step_k(plan));  // registers change with every phase
  fit_warp(plan, s);
  while (threads_of(s) > most_threads || threads_of(s) * registers_of(plan, s) > model.registers_per_multiprocessor)
    (s.tile_m > s.tile_n && s.tile_m > s.warp_m ? s.tile_m : s.tile_n > s.warp_n ? s.tile_n : s.tile_m) /= 2;
  fit_warp(plan, s);
  // Too large for shared memory: a shallower ring, shallower slots, a smaller tile, in this order.
  while (s.stages > 2 && !fits(plan, s, model)) --s.stages;
  while (s.tile_k > 2 * s.step_k(plan) && !fits(plan, s, model)) s.tile_k /= 2;
  while (!fits(plan, s, model) && (s.tile_m > s.warp_m || s.tile_n > s.warp_n))
    (s.tile_n > s.warp_n && (s.tile_n >= s.tile_m || s.tile_m == s.warp_m) ? s.tile_n : s.tile_m) /= 2;
}

}  // namespace kernsmith::agents::simt
