// The writer of row kernels.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "agents/synthesis/triton/triton_rows.hpp"
#include "agents/synthesis/triton/triton_tile.hpp"

namespace kernsmith::agents::triton {

class row_writer {
 public:
  row_writer(const simt::simt_program& p, const tensor_ir& host, const row_choice& choice);
  [[nodiscard]] std::string run();

 private:
  /// A kernel's form: maps only; rows held whole; swept block by block; parts of rows, and what puts them together.
  enum class form : std::uint8_t { map, whole, sweep, part, finish };

  [[nodiscard]] std::string kernel_name(form f) const;
  [[nodiscard]] std::vector<kernel_constant> constants(form f) const;
  void kernel(form f);
  void place_map(tile_writer& code);
  void place_rows(tile_writer& code, form f);
  void place_columns(tile_writer& code, const std::vector<int>& classes, const std::string& start);
  void points(tile_writer& code, int stage);
  void whole(tile_writer& code);
  void swept(tile_writer& code, form f);
  void loaded_parts(tile_writer& code);
  void declare(tile_writer& code, const row::sweep& w);
  void step(tile_writer& code, const row::sweep& w, bool held);
  void take(tile_writer& code, int i, bool held);
  void take_position(tile_writer& code, int i, bool held);
  void scan(tile_writer& code, int i, bool held);
  void nested(tile_writer& code, int i);
  void finish(tile_writer& code, int i, const std::string& tile);
  [[nodiscard]] std::string masked(const tile_writer& code, const std::string& value, const std::string& identity) const;
  void host_function();
  void host_map(const std::string& options);
  void host_parts(const std::string& options);
  [[nodiscard]] std::string part_name(int i) const { return p_.stem(p_.at(i).tensor) + "_parts"; }
  [[nodiscard]] std::string rows_count() const { return p_.product(p_.rows.parallel); }
  [[nodiscard]] std::int64_t block() const { return std::max<std::int64_t>(1, choice_.tile / rows()); }
  [[nodiscard]] std::int64_t rows() const { return p_.rows.parallel.empty() ? 1 : std::min(choice_.rows, choice_.tile); }
  [[nodiscard]] std::vector<int> sinks() const;
  void start(form f, const std::string& programs, const std::string& options);

  const simt::simt_program& p_;
  const tensor_ir& host_;
  row_choice choice_;
  row::plan plan_;
  std::optional<int> across_;
  int overlooks_nan_ = -1;  ///< a maximum or minimum that may pass NaN over
  python_writer out_;
};

}  // namespace kernsmith::agents::triton
