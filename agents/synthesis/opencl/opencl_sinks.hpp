// How reductions and scans accumulate in an item, over the lanes of a vector, and over the items of a work-group.
#pragma once

#include <string>
#include <vector>

#include "agents/synthesis/opencl/opencl_lanes.hpp"
#include "agents/synthesis/source_writer.hpp"

namespace kernsmith::agents::opencl {

/// Of the reduce, nested or scan statement `i`.
class accumulation {
 public:
  /// `in_double`: sums of reals, whatever the lanes' arithmetic.
  accumulation(const simt::simt_program& p, int i, bool in_double);

  /// Class of the accumulator's value.
  [[nodiscard]] value_class of() const { return of_; }
  /// Class in which readers get it.
  [[nodiscard]] value_class result() const { return position_ ? value_class::integer : of_; }
  [[nodiscard]] bool finds_position() const { return position_; }
  /// Declares the accumulator `name` as the identity, of code.width() lanes.
  void declare(source_writer& out, const lane_code& code, const std::string& name) const;
  /// Takes the statement's argument in.
  void take(source_writer& out, const lane_code& code, const std::string& name) const;
  /// Two accumulators' value, in lanes of `code`.
  [[nodiscard]] std::string merged(const lane_code& code, const std::string& a, const std::string& b) const;
  /// One value of the lanes of the vector `text`.
  [[nodiscard]] std::string folded(const lane_code& code, const std::string& text) const;
  /// The finished value of the accumulator `name`, of class result() in lanes of `code`.
  [[nodiscard]] std::string finished(const lane_code& code, const std::string& name) const;

 private:
  [[nodiscard]] std::string type(const lane_code& code) const;
  [[nodiscard]] std::string identity(const lane_code& code) const;

  const simt::simt_program& p_;
  int i_;
  reduction reducer_;
  value_class of_;
  bool position_, in_double_;
};

}  // namespace kernsmith::agents::opencl
