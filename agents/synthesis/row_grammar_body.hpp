// Writes the function that computes one row (lanes along the sweep) or one strip of rows (lanes across them).
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agents/synthesis/row_grammar_expression.hpp"
#include "agents/synthesis/row_grammar_plan.hpp"

namespace kernsmith::agents::row {

/// Stands in the text of row() or strip() for the call of the same function with kExact set.
inline constexpr const char* restart_call = "@restart@";

/// Stands in the text of row() for the call that makes the last sweep of the row before.
inline constexpr const char* deferred_call = "@last sweep@";

/// Elements that each lane across rows sums in plain float before the partial sum joins the compensated total; a multiple of every
/// plan::block.
inline constexpr int across_block = 128;

/// Does the text hold the word, not as a part of a longer one?
[[nodiscard]] bool mentions_word(const std::string& text, const std::string& word);

/// The last sweep of a row as a function object that runs later: the statements that make it, and what it needs from its row.
struct deferred_sweep {
  std::string code;
  std::string extent;                                       ///< of the swept index
  std::vector<std::pair<std::string, std::string>> values;  ///< (type, name)
};

class body_writer {
 public:
  body_writer(const row_program& p, const plan& chosen) : p_(p), plan_(chosen), write_(p, chosen) {}

  /// Statements of the function's body, at depth 1.
  [[nodiscard]] std::string row();
  [[nodiscard]] std::string strip();
  /// Only with plan::behind.
  [[nodiscard]] deferred_sweep deferred();
  /// Members of the state in which a strip waits for its next block: (type, name) pairs, each an array over the strip's vectors.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> strip_state() const;
  /// Statements that merge such a state with that of another thread, `other`, for vector v.
  [[nodiscard]] std::vector<std::string> strip_merges() const;
  [[nodiscard]] const std::set<std::string>& preludes() const { return write_.preludes; }

 private:
  const row_statement& at(int i) const { return p_.statements[static_cast<std::size_t>(i)]; }
  [[nodiscard]] bool blocked() const { return plan_.block > 0; }
  int last_stage() const;
  bool read_later(int statement) const;
  void declare_buffers(text_block& out);
  void comment(text_block& out, const std::vector<int>& statements, const std::string& title) const;

  void points_inner(text_block& out, int stage);
  void points_across(text_block& out, int stage);
  void store_scalar(text_block& out, const row_statement& s);
  void store_lanes(text_block& out, const row_statement& s, const std::string& value, value_class type, int lane);

  void sweep_inner(text_block& out, const sweep& w);
  void ask_for_next_row(text_block& body, const sweep& w);
  [[nodiscard]] bool is_deferred(const sweep& w) const;
  [[nodiscard]] bool carries_deferred(const sweep& w) const;
  [[nodiscard]] bool buffered_for_deferred(int statement) const;
  [[nodiscard]] bool overlooks_nan(int statement) const;
  void declare_inner(text_block& out, const sweep& w);
  void step_sinks_inner(lane_scope& scope, const sweep& w);
  void position_step(text_block& body, const row_statement& s, const std::string& value, int lane);
  void scan_step_inner(lane_scope& scope, int i);
  void finish_inner(text_block& out, const sweep& w);
  void finish_position(text_block& out, const row_statement& s);

  void sweep_across(text_block& out, const sweep& w);
  void take_up(text_block& out, const sweep& w);
  void leave(text_block& out, const sweep& w);
  void declare_across(text_block& out, const sweep& w);
  void step_sinks_across(lane_scope& scope, const sweep& w);
  [[nodiscard]] bool through_logs(const row_statement& s) const { return plan_.log_product && is_power_product(p_, s); }
  void power_step(lane_scope& scope, const row_statement& s);
  void check_logs(text_block& out, const sweep& w);
  void finish_across(text_block& out, const sweep& w);
  void prefetch(text_block& hoisted, const sweep& w);
  void put_in_buffers(lane_scope& scope, const sweep& w);

  const row_program& p_;
  const plan& plan_;
  expression_writer write_;
};

}  // namespace kernsmith::agents::row
