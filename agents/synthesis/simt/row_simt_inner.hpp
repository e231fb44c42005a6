// The writer of kernels whose threads lie along rows: a power of two of neighbouring threads takes a row, keeps what several sweeps read,
// and reduces over threads. Kernels and sweeps are in row_simt_inner.cpp, what lies around them in row_simt_inner_launch.cpp.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "agents/synthesis/simt/row_simt.hpp"
#include "agents/synthesis/simt/simt_prelude.hpp"
#include "agents/synthesis/simt/simt_sinks.hpp"
#include "agents/synthesis/source_writer.hpp"

namespace kernsmith::agents::simt {

/// Threads of the kernels that take rows of any length.
inline constexpr std::int64_t long_row_threads = 256;

/// What one copy of the kernel does differently.
enum class body : std::uint8_t {
  kept,       ///< a row fits the threads: what is read stays in registers or shared memory
  streaming,  ///< rows of any length: every sweep reads again
  part        ///< a part of a row's one sweep; the accumulators go to scratch memory
};

class inner_writer {
 public:
  inner_writer(const simt_program& p, const simt_model& model, const inner_choice& choice, int lane)
      : p_(p), model_(model), choice_(choice), lane_(lane), plan_(row::schedule(p.rows, row::plan_with(row::lanes::inner))) {
    extent_ = p.class_extent(lane);
    name_ = p.rows.name;
  }

  [[nodiscard]] row_code run();

 private:
  // ---- what is loaded ----

  struct pack {
    int statement = -1, node = -1;
    std::string name, element;
    bool varies = false;  ///< with the row
  };

  std::string pack_type(dtype type) const { return fmt::format("ks_pack<{}, kVector>", simt_storage_type(type)); }
  dtype type_of(const pack& k) const { return p_.tensor(p_.at(k.statement).nodes[static_cast<std::size_t>(k.node)].symbol).type; }

  bool varies_with_row(int i, int node) const;

  /// Packed loads of the statements, each element text once, in order.
  std::vector<pack> packs_of(const lane_code& code, const std::vector<int>& statements) const;

  /// Statements evaluated by lanes in the sweep: maps, then sinks.
  std::vector<int> statements_of(const row::sweep& w) const;

  std::vector<int> swept_statements() const;

  void bind(lane_code& code, const std::vector<int>& statements, const std::vector<pack>& packs, const std::string& index) const;

  // ---- configurations of the kept kernel ----

  struct configuration {
    std::int64_t threads = 32, items = 1, blocks = 1;
    keeping keep = keeping::registers;
    std::string edge = "ks_full";
    std::string condition;
  };

  /// Threads and accesses for a row of `n` elements; more threads than decided, then shared memory, where it doesn't fit otherwise.
  std::optional<configuration> place(std::int64_t n, std::int64_t kept_bytes_per_element) const;

  /// Blocks of a cluster; scans pass on from thread to thread of one block only.
  std::int64_t clusters() const;

  /// That rows have in the workloads.
  std::set<std::int64_t> lengths() const;

  /// One for each length that rows have in the workloads and that can be kept.
  std::vector<configuration> configurations() const;

  // ---- kernels ----

  void comment();

  std::string kernel_name(body b) const;

  void kernel(body b);

  /// The second number of __launch_bounds__.
  std::string blocks_side_by_side(body b, const std::string& threads) const;

  /// Threads of a block at least. Rows of up to a warp lie side by side in it; the reductions of longer ones need the whole block.
  std::int64_t block_threads() const { return keep_now_ == keeping::shared ? 2 * model_.warp_size : choice_.block; }

  void place_rows(body b);

  /// Rows may begin between two packs: the first pack then begins ahead of the row, so that the others are aligned.
  void find_shift(const lane_code& code, body b);

  std::string held_index() const { return keep_now_ == keeping::shared ? "" : "[item]"; }

  std::string first_text(body b) const;

  void load_row(const std::vector<pack>& held);

  // ---- rows in shared memory ----

  bool in_shared(body b) const { return b == body::kept && keep_now_ == keeping::shared; }

  std::int64_t shared_bytes(const configuration& c) const;
  /// Blocks side by side on a multiprocessor that the shared memory of a configuration leaves room for.
  std::int64_t resident(const configuration& c) const;

  /// All packs of the thread on their way into shared memory, and arrived.
  void bring_row(const std::vector<pack>& held);

  /// The packs that the statements read, out of shared memory.
  void take_out(const lane_code& code, const std::vector<int>& statements, const std::vector<pack>& held);

  void fetch(const pack& k, const std::string& into, const std::string& edge, bool stream);

  /// Elements in the order of the one that the shift is made for are aligned with it.
  std::string edge_of(const std::string& element) const;

  std::string part_name(int i) const { return p_.stem(p_.at(i).tensor) + "_part"; }
  std::string row_name(int i) const { return p_.stem(p_.at(i).tensor) + "_row"; }

  // ---- a sweep ----

  void sweep(lane_code& code, const row::sweep& w, const std::vector<pack>& held, body b);

  void take_steps(const std::string& step, body b);

  std::vector<int> scans_of(const row::sweep& w) const;

  /// Packs that aren't held are read where they are used.
  void load_step(lane_code& code, const row::sweep& w, const std::vector<pack>& held, body b);

  bool stored_in_sweep(int i) const { return p_.at(i).stored && p_.at(i).kind != row::role::reduce; }
  std::string out_name(int i) const { return p_.stem(p_.at(i).tensor) + "_out"; }

  void declare_outputs(const row::sweep& w);

  void store_outputs(const lane_code& code, const row::sweep& w, body);

  /// Opens the loop over the elements of a pack.
  void open_lanes(body b);

  /// Opens the body of a sweep as a function of how its packs meet the ends of the row.
  void open_step(const std::string& step);

  std::string map_name(int i) const { return p_.stem(p_.at(i).tensor) + "_value"; }

  void define_map(lane_code& code, int i);

  /// Values of the lanes up to each element, then what the threads before this one hold.
  void scan_step(lane_code& code, const std::vector<int>& scans, body b);

  /// Maps of the group that the argument of statement `i` is computed from.
  void collect_maps(int i, std::set<int>& found) const;

  void lanes(lane_code& code, const row::sweep& w, const std::vector<int>& scans, body b);

  void put_lane(const lane_code& code, int i);

  // ---- positions of extremes in rows that are kept ----

  /// First the extreme itself, then only the threads that hold it look for its place: for elements as they were read, whose values don't
  /// depend on where they are computed.
  bool looks_back(int i, body b) const;

  /// Lines that take the value at the bound index into the extreme of statement `i`.
  std::string take_extreme(const lane_code& code, int i);

  /// Row by row after the sweep: the threads' extremes are merged, and the first place that holds the row's is found.
  void find_place(lane_code& code, int i, const std::vector<pack>& held, body b);

  // ---- between sweeps ----

  void finish(lane_code& code, const row::sweep& w, const std::vector<pack>& held, body b);

  /// The finished value of a row, and its element where it is stored.
  void settle(lane_code& code, int i, const accumulator& a, body b);

  /// A row value that elements are divided by is inverted once.
  void invert(lane_code& code, int i);

  void store_row_value(const lane_code& code, int i, body);

  void points(lane_code& code, int stage, body b);

  // ---- rows shared by several blocks ----

  /// Bytes per row and part, each accumulator in 16 bytes of its own kind.
  static constexpr std::int64_t accumulator_bytes = 16;
  std::int64_t scratch_stride() const { return accumulator_bytes * static_cast<std::int64_t>(plan_.sweeps[0].sinks.size()); }
  std::string scratch_offset(int i) const;

  void finish_kernel();

  // ---- launching ----

  std::string arguments() const { return argument_text(p_.flat, kernel_parameters(p_)); }

  void open_launcher(bool scratch);

  void launcher();

  /// Enough threads that a few accesses each cover a row.
  std::int64_t long_threads() const;

  void split_launcher();

  const simt_program& p_;
  const simt_model& model_;
  const inner_choice& choice_;
  int lane_;
  row::plan plan_;
  std::string shift_element_;              ///< of the tensor that the packs are aligned to
  keeping keep_now_ = keeping::registers;  ///< of the kernel or launch being written
  std::string extent_, name_;
  source_writer out_;
};

}  // namespace kernsmith::agents::simt
