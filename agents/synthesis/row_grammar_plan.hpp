// A row program with its decisions taken: which lanes, which sweeps in which order, what is kept between them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agents/synthesis/row_grammar_program.hpp"

namespace kernsmith::agents::row {

/// Extents up to this are worth a copy of the code with the extent as a constant.
inline constexpr std::int64_t largest_fixed_extent = 16;

/// Where the SIMD lanes lie.
enum class lanes : std::uint8_t {
  inner,   ///< along the swept index: one row at a time, reductions end with a sum over lanes
  across,  ///< along the last parallel index: a strip of neighbouring rows at a time, reductions stay in lanes
};

enum class stores : std::uint8_t {
  cached,          ///< ordinary stores
  streaming,       ///< past the caches wherever alignment allows
  streaming_large  ///< past the caches when the outputs take a quarter of the last level or more
};

/// One pass over the swept indices of a row (or strip).
struct sweep {
  int stage = 1;                 ///< sweeps of stage k need the row values that stages below k finished
  std::vector<int> over;         ///< classes, outermost first; with lanes::inner the last one is the lane index
  std::vector<int> sinks;        ///< statements finished or stored here, in order
  std::vector<int> needed;       ///< maps and nested reductions evaluated here
  std::vector<int> from_buffer;  ///< statements whose values are read back from the row buffer
  std::vector<int> to_buffer;    ///< statements whose values are put there
};

struct plan {
  lanes where = lanes::inner;
  int lane = -1;   ///< lanes::across: the parallel class along which lanes lie
  int unroll = 4;  ///< vectors per step (inner) or per strip (across)
  stores how = stores::cached;
  bool reciprocal = true;    ///< divide by a row value by multiplying with its inverse
  bool next_row = false;     ///< lanes::inner: a sweep asks for the next row's inputs, see next_row_loads
  bool behind = false;       ///< lanes::inner: the last sweep of a row runs inside an earlier sweep of the next one, see find_deferral
  bool late_nan = false;     ///< lanes::inner: maxima that overlook NaN at first, see find_late_nan
  bool log_product = false;  ///< lanes::across: products of powers as exponentials of sums, see is_power_product
  std::int64_t chunk = 0;    ///< rows per scheduling chunk; 0: one even share per thread
  std::int64_t span = 0;     ///< lanes::across: lanes per task
  std::int64_t block =
      0;               ///< lanes::across: swept elements that all strips of a task take in before the next ones; 0: each strip takes all
  bool apart = false;  ///< lanes::across: the elements of a block lie far apart, see can_part
  bool split_rows = false;    ///< lanes::across: threads share the swept index rather than the lanes while those fit one task
  std::int64_t prefetch = 0;  ///< gathered rows fetched ahead
  std::int64_t fixed = 0;     ///< extent for which a specialised copy is made (of class `fixed_class`)
  int fixed_class = -1;
  std::vector<int> stage;  ///< per statement: row values are known after this stage; others are computable from the next one on
  std::vector<sweep> sweeps;
  std::vector<bool> kept;  ///< per statement: values go through a row buffer when a later sweep needs them
};

[[nodiscard]] inline plan plan_with(lanes where) {
  plan p;
  p.where = where;
  return p;
}

/// Can the lanes lie there at all?
[[nodiscard]] bool lanes_possible(const row_program& p, lanes where);
/// Estimated cost of memory access with the lanes there; lower is better.
[[nodiscard]] double lane_cost(const row_program& p, lanes where);

/// Can strips be left and taken up again between blocks of the sweep? So for one sweep over one index that only reduces.
[[nodiscard]] bool can_block(const row_program& p, const plan& chosen);
/// Can the elements of a block be any of the sweep's, in any order? Memory is then read in as many streams as a block has elements. Not so
/// for positions of extremes, which depend on the order.
[[nodiscard]] bool can_part(const row_program& p, const plan& chosen);

/// A maximum (or minimum) over values whose NaN would show in a later sum of the same row as well: softmax's. It may overlook NaN as long
/// as rows with such a sum are computed again exactly.
struct late_nan {
  int extreme = -1;  ///< statement
  int sum = -1;      ///< statement
};
[[nodiscard]] std::optional<late_nan> find_late_nan(const row_program& p);

/// prod(t: pow(u, a)) in float lanes: exp(sum(t: a * log(u))) where every u is positive and the sum of magnitudes is at most
/// largest_log_sum, so that rounding stays below 4e-6 of the result; other strips are computed again by powers.
[[nodiscard]] bool is_power_product(const row_program& p, const row_statement& s);
inline constexpr double largest_log_sum = 24;

/// A load of the first sweep, contiguous along it, whose next row lies at the next value of the last parallel index.
struct streamed_load {
  int statement = -1;
  int node = -1;
};
/// The loads that prefetching_sweep() can fetch ahead for the next row; empty when there is no such sweep.
[[nodiscard]] std::vector<streamed_load> next_row_loads(const row_program& p, const plan& chosen);
/// The sweep that asks for the next row: the second, the only one, or the one that carries the last sweep of the row before.
[[nodiscard]] int prefetching_sweep(const row_program& p, const plan& chosen);

/// A last sweep that only maps values that are then known, and an earlier sweep over the same index in which it can run for the row
/// before: so that writing results, arithmetic and reading overlap.
struct deferral {
  int carrier = -1;  ///< position in plan::sweeps
  int last = -1;     ///< position in plan::sweeps
};
[[nodiscard]] std::optional<deferral> find_deferral(const row_program& p, const plan& chosen);

/// Are the values of this statement stored as whole aligned vectors of lane elements, so that streaming stores can be used (and are, by
/// `chosen`)?
[[nodiscard]] bool streamable(const row_program& p, const plan& chosen, const row_statement& s);

/// Statements whose values more than one sweep wants: the ones for which keeping can be decided.
[[nodiscard]] std::vector<int> keepable(const row_program& p);

/// Fills stage, sweeps and lane from the decisions in `base` (where, kept).
[[nodiscard]] plan schedule(const row_program& p, plan base);

}  // namespace kernsmith::agents::row
