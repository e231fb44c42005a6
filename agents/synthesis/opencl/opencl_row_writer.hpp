// The writers of row kernels.
#pragma once

#include <string>
#include <vector>

#include "agents/synthesis/opencl/opencl_emission.hpp"
#include "agents/synthesis/opencl/opencl_lanes.hpp"
#include "agents/synthesis/opencl/opencl_rows.hpp"
#include "agents/synthesis/opencl/opencl_sinks.hpp"
#include "agents/synthesis/row_grammar_plan.hpp"
#include "agents/synthesis/source_writer.hpp"

namespace kernsmith::agents::opencl {

class row_writer {
 protected:
  row_writer(const simt::simt_program& p, const tensor_ir& host, const row_choice& choice, int lane);

  [[nodiscard]] std::string kernel_name() const { return name_ + "_rows"; }
  [[nodiscard]] std::string value_name(int i) const { return p_.stem(p_.at(i).tensor) + "_value"; }
  [[nodiscard]] std::string accumulator_name(int i) const { return p_.stem(p_.at(i).tensor) + "_part"; }
  /// In local memory.
  [[nodiscard]] std::string items_name(int i) const { return p_.stem(p_.at(i).tensor) + "_items"; }
  [[nodiscard]] lane_code lanes(std::int64_t width) const;
  [[nodiscard]] accumulation accumulation_of(int i) const { return {p_, i, choice_.double_sums}; }
  void open_kernel(const std::string& title, std::int64_t group);
  /// The command for launch(); `groups` is a host expression in the names of the kernel.
  [[nodiscard]] std::string command(const std::string& groups) const;
  /// That hold so many items, as a host expression.
  [[nodiscard]] std::string work_groups(const std::string& items) const;
  [[nodiscard]] static std::vector<int> statements_of(const row::sweep& w);
  /// Does statement `i` give row values that are known after this stage, not by a reduction?
  [[nodiscard]] bool is_point(int i, int stage) const;
  void define(lane_code& code, int i, const std::string& name, const std::string& value, value_class of);
  void define_nested(lane_code& code, int i, const std::string& name);
  void store(const lane_code& code, int i, const std::string& name);
  void step(lane_code& code, const row::sweep& w, const std::string& suffix, const std::string& accumulator_suffix);
  void forget_swept(lane_code& code, const row::sweep& w) const;
  void title(const row::sweep& w);

  const simt::simt_program& p_;
  const tensor_ir& host_;
  row_choice choice_;
  int lane_;
  std::string name_;
  row::plan plan_;
  source_writer out_;
};

/// Rows one after the other: an item, or a work-group whose items share it, sweeps over vectors of a row.
class along_writer : row_writer {
 public:
  along_writer(const simt::simt_program& p, const tensor_ir& host, const row_choice& choice)
      : row_writer(p, host, choice, *along_class(p)) {}
  [[nodiscard]] row_kernel run();

 private:
  [[nodiscard]] bool shared() const { return choice_.items > 1; }
  [[nodiscard]] lane_code row_lanes() const;
  void declare_local();
  void points(lane_code& row, int stage);
  void sweep(lane_code& row, const row::sweep& w);
  void loop(const lane_code& row, const row::sweep& w, std::int64_t width, std::int64_t packs, const std::string& from);
  void finish(lane_code& row, int i);
  void merge_items(lane_code& row, int i, const accumulation& sum);
  void store_row(const lane_code& row, int i, const std::string& name);
  [[nodiscard]] bool in_vectors(const row::sweep& w, int i) const;
};

/// Neighbouring rows in the lanes of vectors: an item takes one or more vectors, and some values of another row index.
class across_writer : row_writer {
 public:
  across_writer(const simt::simt_program& p, const tensor_ir& host, const row_choice& choice)
      : row_writer(p, host, choice, *across_class(p)) {
    if (choice.tall > 1) tall_ = tall_class(p);
  }
  [[nodiscard]] row_kernel run();

 private:
  struct cell {
    lane_code code;
    std::string suffix;
  };
  [[nodiscard]] std::int64_t breadth() const { return choice_.vector * choice_.packs; }
  [[nodiscard]] std::string first(int c) const { return "ks_first_" + p_.class_name(c); }
  /// Items along a class.
  [[nodiscard]] std::string count(int c) const;
  [[nodiscard]] std::int64_t taken(int c) const { return c == lane_ ? breadth() : tall_ && c == *tall_ ? choice_.tall : 1; }
  void unpack();
  void body(std::vector<cell> cells);
  void points(std::vector<cell>& cells, int stage);
  void sweep(std::vector<cell>& cells, const row::sweep& w);
  [[nodiscard]] std::vector<cell> whole_cells() const;

  std::optional<int> tall_;
};

}  // namespace kernsmith::agents::opencl
