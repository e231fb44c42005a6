// The writer of kernels whose threads lie across rows: maps in row_simt_across.cpp, reductions in the thread in row_simt_columns.cpp.
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

class across_writer {
 public:
  across_writer(const simt_program& p, const across_choice& choice, int lane)
      : p_(p), choice_(choice), lane_(lane), plan_(row::schedule(p.rows, row::plan_with(row::lanes::across))), name_(p.rows.name) {
    extent_ = p.class_extent(lane);
    for (const int c : p.rows.parallel)
      if (c != lane) others_.push_back(c);
  }

  [[nodiscard]] row_code run();

 private:
  struct pack {
    std::string name, element;
    dtype type = dtype::f32;
  };

  std::string pack_type(dtype type) const { return fmt::format("ks_pack<{}, kVector>", simt_storage_type(type)); }
  const char* stream_loads() const { return choice_.stream_loads ? "true" : "false"; }
  const char* stream_stores() const { return choice_.stream_stores ? "true" : "false"; }

  /// Packed loads of the statements, each element text once.
  std::vector<pack> packs_of(const lane_code& code, const std::vector<int>& statements, const std::set<std::string>& known) const;

  void bind(lane_code& code, const std::vector<int>& statements, const std::vector<pack>& packs, const std::string& index) const;

  std::string row_name(int i) const { return p_.stem(p_.at(i).tensor) + "_row"; }
  std::string out_name(int i) const { return p_.stem(p_.at(i).tensor) + "_out"; }
  std::string part_name(int i) const { return p_.stem(p_.at(i).tensor) + "_part"; }
  std::string map_name(int i) const { return p_.stem(p_.at(i).tensor) + "_value"; }

  void comment();

  /// From the number of a pack to its first row: `first` along the lane index, the other indices by name.
  void unpack(const std::string& number);

  /// Maps of several indices, whose rows along the lane may begin between two packs: packs then begin ahead of them, so that they are
  /// aligned in the first result that is written by packs.
  bool shifts() const { return !others_.empty() && plan_.sweeps.empty(); }
  std::string shift_element() const;
  /// How packs of the result meet the ends of rows.
  std::string output_edge(const lane_code& code, int i) const;

  /// Packs are whole unless the lane index is the only one and its extent no multiple of the pack.
  void count_packs();

  // ---- maps ----

  void map_kernel();

  /// Borders that rows are counted against stand in shared memory.
  void plant_tree();

  /// What the rows of a pack are compared with borders by, then all counts at once.
  void count_borders(lane_code& code);

  void open_items();

  void open_lanes();

  void define(lane_code& code, int i, const std::string& name);

  void declare_outputs();

  /// Written once per row, by whole packs.
  bool packed_output(int i) const;

  void put_lane(const lane_code& code, int i, const std::string& value);

  void store_outputs(const lane_code& code);

  std::string arguments() const { return argument_text(p_.flat, kernel_parameters(p_)); }

  void open_launcher(bool scratch);

  /// Calls start(index type, vector, edge) in the right case, for all axes.
  template <class Start>
  void choose(const Start& start) {
    const std::string narrow = typically_narrow(p_) ? "int32_t" : "int64_t";
    const std::string fits = typically_narrow(p_) ? "fits && " : "";
    if (choice_.vector > 1) {
      out_.line(fmt::format("if ({}{} % {} == 0) return {};", fits, extent_, choice_.vector, start(narrow, choice_.vector, "ks_full")));
      if (others_.empty()) {
        if (narrow == "int32_t") out_.line(fmt::format("if (fits) return {};", start(narrow, choice_.vector, "ks_any")));
        out_.line(fmt::format("return {};", start("int64_t", choice_.vector, "ks_any")));
        return;
      }
      constexpr std::int64_t worth_cutting = 8;  // packs of a row
      if (shifts())
        out_.line(fmt::format("if ({}{} >= {}) return {};", fits, extent_, worth_cutting * choice_.vector,
                              start(narrow, choice_.vector, "ks_any")));
    } else if (narrow == "int32_t") {
      out_.line(fmt::format("if (fits) return {};", start("int32_t", 1, "ks_full")));
    }
    out_.line(fmt::format("return {};", start("int64_t", 1, "ks_full")));
  }

  void map_launcher();

  /// The launch of the map kernel with these template arguments, on at most so many blocks per multiprocessor.
  std::string start_map(const std::string& kernel, std::int64_t vector, std::int64_t blocks, const std::string& shared_bytes) const;

  /// Levels that searches of the workloads' borders take, as far as they have a kernel of their own, then 0: any number.
  std::vector<int> search_levels() const;

  // ---- reductions in the thread ----

  std::int64_t width() const { return choice_.threads / choice_.slices; }

  void column_kernel();

  bool point_here(int i, int stage) const { return p_.at(i).kind == row::role::point && plan_.stage[static_cast<std::size_t>(i)] == stage; }

  /// Values of rows that are known after a stage, one for each row of the pack.
  void point_step(lane_code& code, int stage);

  void load_packs(lane_code& code, const std::vector<int>& statements, const std::string& suffix);

  /// The condition, the same for all rows of a pack, under which the statements look at the pack's elements; nothing: always.
  struct condition {
    int statement = -1, node = -1;
  };
  std::optional<condition> wanted_when(const lane_code& code, const std::vector<int>& statements, const pack& k) const;

  std::string next_suffix(const std::string& suffix);

  std::vector<int> statements_of(const row::sweep& w) const;

  void sweep(lane_code& code, const row::sweep& w);
  std::string sweep_begin(const row::sweep& w, std::size_t loop) const;
  std::string sweep_step(const row::sweep& w, std::size_t loop) const;

  /// The rows of the pack at one step of the sweep, whose loads are done.
  void sweep_lanes(lane_code& code, const row::sweep& w);

  /// Several steps of the innermost loop at a time: first all conditions, then all loads that are wanted, then the rows.
  bool loads_are_conditional(const lane_code& code, const row::sweep& w) const;
  void staged_steps(lane_code& code, const row::sweep& w, const std::string& c, const std::string& extent, const std::string& stride);

  /// The loop that slices and blocks share: the longest one.
  std::size_t shared_loop(const row::sweep& w) const;

  void merge_slices(lane_code& code, int i);

  void settle(lane_code& code, int i, const accumulator& a);

  /// Row values to memory, by the first slice.
  void write_rows(const lane_code& code);

  // ---- several blocks for each sweep ----

  static constexpr std::int64_t accumulator_bytes = 16;
  /// Bytes per row and part.
  std::int64_t scratch_stride() const { return accumulator_bytes * static_cast<std::int64_t>(plan_.sweeps[0].sinks.size()); }
  std::string scratch_offset(int i) const;

  void finish_kernel();

  void column_launcher();

  /// The two kernels one after the other: defined ahead of the host function that calls it.
  void prepend_both();

  const simt_program& p_;
  const across_choice& choice_;
  int lane_;
  row::plan plan_;
  std::string name_, extent_;
  std::vector<int> others_;
  tile_code tiles_;
  std::int64_t splits_ = 1;
  int loads_ = 0;
  std::string edge_ = "kEdge";  ///< how the packs being written meet the ends of rows
  source_writer out_;
};

}  // namespace kernsmith::agents::simt
