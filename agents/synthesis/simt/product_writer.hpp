// What writes the parts of a product's source: the kernel (product_kernel.cpp), what follows the reduction and the host function
// (product_emit.cpp).
#pragma once

#include <string>

#include "agents/synthesis/simt/product_schedule.hpp"
#include "agents/synthesis/simt/simt_sinks.hpp"

namespace kernsmith::agents::simt {

class product_writer {
 public:
  product_writer(const product_plan& plan, const product_schedule& schedule, const simt_model& model)
      : c_(plan), p_(plan.p), s_(schedule), model_(model), code_(p_), sum_(accumulator_of(p_, code_, plan.reduce)) {}

  /// The function of what follows the reduction, for four neighbouring columns.
  std::string finish();
  std::string kernel();
  /// The kernel that merges the parts of a split depth.
  std::string join() const;
  std::string launcher() const;

  /// Bytes of the parts' results, as C++ over the problem's axes; empty without parts.
  std::string scratch_bytes(const tensor_ir& ir) const;

 private:
  std::string name(int index) const { return p_.class_name(index); }
  std::string extent(int index) const { return p_.class_extent(index); }
  std::string own_extent(const product_tile& t) const { return extent(t.left ? c_.row : c_.column); }
  std::string own_name(const product_tile& t) const { return name(t.left ? c_.row : c_.column); }
  std::string storage(const product_tile& t) const;
  std::string parameters() const;
  std::string arguments() const;
  /// Declarations of the batch's indices, from the number of the matrix.
  std::string unpack_batch(const std::string& matrix, const std::string& indent) const;
  /// "x_at(m, k)": the address of an operand's element.
  std::string address_function(const product_tile& t, const std::string& type, const std::string& indent) const;
  /// Is there a copy of the kernel for operands whose lines begin at multiples of 16 bytes?
  bool has_aligned() const;
  /// The condition of it, for the host.
  std::string aligned_condition() const;
  /// Elements that are moved at once.
  std::string unit(const product_tile& t) const;
  std::string tiles() const;
  std::string shares() const;
  std::string copies() const;
  std::string loads() const;
  std::string finish_call() const;
  std::string partial_store() const;

  const product_plan& c_;
  const simt_program& p_;
  const product_schedule& s_;
  const simt_model& model_;
  lane_code code_;
  accumulator sum_;
};

}  // namespace kernsmith::agents::simt
