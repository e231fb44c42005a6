// Statements of a row program or product while a kernel is written: which values are at hand, and by which names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agents/synthesis/simt/simt_program.hpp"
#include "agents/synthesis/triton/triton_emission.hpp"
#include "agents/synthesis/triton/triton_expression.hpp"
#include "agents/synthesis/triton/triton_sinks.hpp"

namespace kernsmith::agents::triton {

class tile_writer {
 public:
  tile_writer(const simt::simt_program& p, bool wide, python_writer& out);
  tile_writer(const tile_writer&) = delete;
  tile_writer& operator=(const tile_writer&) = delete;

  tile where;  ///< changed as indices come and go

  [[nodiscard]] const tile_expression& code(int i) const { return code_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] std::string value_name(int i) const { return p_.stem(p_.at(i).tensor) + "_value"; }
  [[nodiscard]] std::string accumulator_name(int i) const { return p_.stem(p_.at(i).tensor) + "_part"; }
  [[nodiscard]] accumulation accumulation_of(int i) const;
  [[nodiscard]] bool knows(int i) const { return hand_.values.contains(i); }
  void know(int i, const std::string& name) { hand_.values[i] = name; }
  void forget(int i) { hand_.values.erase(i); }
  /// Values at hand now: what is defined later is forgotten by going back to them.
  struct hand {
    std::map<int, std::string> values;            ///< by statement
    std::map<std::string, std::string> elements;  ///< by the text of the load
    std::map<int, int> numbered;                  ///< names given to elements of a tensor
  };
  [[nodiscard]] hand known() const { return hand_; }
  void go_back(hand known) { hand_ = std::move(known); }

  /// `name = value` as readers of statement `i` see it; a name without an operator in it.
  void define(int i, const std::string& value, value_class of);
  /// Defines the maps of the group that `node` of statement `i` reads and that aren't at hand.
  void define_operands(int i, int node);
  /// Gives names to the elements that `node` of statement `i` loads.
  void load_operands(int i, int node);
  /// Stores the value of statement `i`.
  void store(int i);
  /// `j = ...` for indices that a number counts, the last one fastest. One index: the number is it.
  void number_indices(const std::vector<int>& classes, const std::string& number, const std::string& value, tile_axes axes);
  [[nodiscard]] std::string count(const std::vector<int>& classes) const { return p_.product(classes); }

 private:
  std::optional<std::string> at_hand(int i, int node) const;

  const simt::simt_program& p_;
  python_writer& out_;
  std::vector<tile_expression> code_;
  hand hand_;
};

/// How the host names what kernels take: arguments in the order of simt::kernel_parameters().
[[nodiscard]] std::vector<std::string> kernel_arguments(const simt::simt_program& p, const tensor_ir& host);
/// Tensors and axes of the host function, by the names of launch().
[[nodiscard]] std::vector<std::string> host_arguments(const simt::simt_program& p, const tensor_ir& host);
/// Lines of the host function that give the kernels' names to what has others there.
[[nodiscard]] std::vector<std::string> host_names(const simt::simt_program& p, const tensor_ir& host);
/// choose_index() for all tensors of the kernel.
[[nodiscard]] std::string choose_index(const simt::simt_program& p, const tensor_ir& host, const std::vector<std::string>& counts);
/// An analysis, and the IR that it refers to.
struct analysis {
  std::unique_ptr<const tensor_ir> ir;
  simt::simt_program p;
};
[[nodiscard]] std::optional<analysis> analyse(const tensor_ir& ir, const fusion_group& group);

}  // namespace kernsmith::agents::triton
