// A fusion group for SIMT emission: the analysis of the row grammar (which indices are walked together, which number independent pieces of
// work, what each statement is relative to those), and the same group as a tensor IR of its own in which collapsed indices are ordinary
// ones.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agents/synthesis/row_grammar_plan.hpp"
#include "agents/synthesis/scalar_expression.hpp"
#include "agents/synthesis/simt/simt_emission.hpp"

namespace kernsmith::agents::simt {

/// Extent that stands for a product of the problem's axes; an axis of simt_program::flat.
struct derived_axis {
  int axis = -1;
  std::string product;  ///< over the problem's axes, in the names of `flat`
};

struct simt_program {
  row::row_program rows;
  tensor_ir flat;  ///< statements of the group only, in order; every class of `rows` is a variable of every statement, by its number
  std::vector<derived_axis> derived;
  bool fast = false;  ///< functions of floats by the prelude's "fast"

  [[nodiscard]] const row::row_statement& at(int i) const { return rows.statements[static_cast<std::size_t>(i)]; }
  [[nodiscard]] int count() const { return static_cast<int>(rows.statements.size()); }
  [[nodiscard]] const tensor_declaration& tensor(int id) const { return flat.tensors[static_cast<std::size_t>(id)]; }
  [[nodiscard]] std::string class_name(int index) const { return rows.classes[static_cast<std::size_t>(index)].name; }
  /// "N" or "64".
  [[nodiscard]] std::string class_extent(int index) const;
  /// Product of the extents of classes, "1" for none.
  [[nodiscard]] std::string product(const std::vector<int>& classes) const;
  /// Largest product over the workloads.
  [[nodiscard]] std::int64_t typical(const std::vector<int>& classes) const;
  /// What names derived from a tensor begin with; "<stem>_..." is nobody else's name.
  [[nodiscard]] const std::string& stem(int tensor) const { return rows.names.stems[static_cast<std::size_t>(tensor)]; }
};

/// nullopt when the group isn't a row program (row_grammar_program.hpp).
[[nodiscard]] std::optional<simt_program> analyse_simt(const tensor_ir& ir, const fusion_group& group);

/// Tensors in memory that the group's kernels take, and the axes of `flat`.
[[nodiscard]] function_parameters kernel_parameters(const simt_program& p);
/// The same for the host function: only the problem's own axes.
[[nodiscard]] function_parameters host_parameters(const simt_program& p);
/// `const int64_t B_by_N = B * N;` for every derived axis.
[[nodiscard]] std::vector<std::string> derive_axes(const simt_program& p);
/// Statement ids of `flat`, all of them.
[[nodiscard]] std::vector<int> all_statements(const simt_program& p);

/// Do the workloads' tensors allow positions in 32 bits?
[[nodiscard]] bool typically_narrow(const simt_program& p);

/// The prelude's "fast" function of an operation, or empty.
[[nodiscard]] std::string_view fast_function(operation op);

/// Class of the values that a tensor of this dtype holds.
[[nodiscard]] value_class class_of(dtype type);

/// Values that are at hand while a kernel's code is written, and expressions in terms of them.
class lane_code {
 public:
  explicit lane_code(const simt_program& p);
  lane_code(const lane_code&) = delete;
  lane_code& operator=(const lane_code&) = delete;

  /// Value of a node of statement `i`.
  [[nodiscard]] std::string value(int i, int node, value_class type) const {
    return writers_[static_cast<std::size_t>(i)].value(node, type);
  }
  /// C++ type of values of this class in statement `i`.
  [[nodiscard]] std::string type_text(int i, value_class type) const { return writers_[static_cast<std::size_t>(i)].type_text(type); }
  /// "x[b * N + n]" for a load, "y[...]" for the target.
  [[nodiscard]] std::string element(int i, int node) const { return writers_[static_cast<std::size_t>(i)].load_element(node); }
  [[nodiscard]] std::string target_element(int i) const { return writers_[static_cast<std::size_t>(i)].target_element(); }
  /// `text`, a value of class `type` in statement `i`, as an element of its target.
  [[nodiscard]] std::string stored(int i, const std::string& text, value_class type) const;
  /// What readers of statement `i` see of its value `text` of class `type`: as the class of its tensor, rounded where a dtype is declared.
  [[nodiscard]] std::string seen(int i, const std::string& text, value_class type) const;
  /// C++ type of seen().
  [[nodiscard]] std::string seen_type(int i) const;

  /// The value of statement `i` is called `name` from now on.
  void know(int i, const std::string& name) { values_[i] = name; }
  void forget(int i) { values_.erase(i); }
  [[nodiscard]] bool knows(int i) const { return values_.contains(i); }
  /// The element that a load node reads is at hand as `text`, in its storage type.
  void have(int i, int node, const std::string& text) { elements_[{i, node}] = text; }
  /// The value of a node is at hand as `text`, in its class.
  void ready(int i, int node, const std::string& text) { ready_[{i, node}] = text; }
  void forget_ready(int i, int node) { ready_.erase({i, node}); }
  void forget_elements() { elements_.clear(); }
  /// Divisions by the value of statement `i` become ks_quotient(dividend, `divisor`), where arithmetic is in float.
  void know_divisor(int i, const std::string& divisor) { divisors_[i] = divisor; }

 private:
  std::optional<std::string> at_hand(int i, int node) const;

  const simt_program& p_;
  std::vector<scalar_expression> writers_;
  std::map<int, std::string> values_, divisors_;
  std::map<std::pair<int, int>, std::string> elements_, ready_;
};

}  // namespace kernsmith::agents::simt
