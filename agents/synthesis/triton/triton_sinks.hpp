// How reductions and scans accumulate in Triton.
#pragma once

#include <string>

#include "config/definition.hpp"

namespace kernsmith::agents::triton {

/// One reduction (other than argmax and argmin) over values of a class.
class accumulation {
 public:
  accumulation(reduction reducer, value_class of, std::string real_type) : reducer_(reducer), of_(of), real_type_(std::move(real_type)) {}

  [[nodiscard]] static bool is_position(reduction r) { return r == reduction::argmax || r == reduction::argmin; }
  /// Booleans are counted in the type of positions.
  [[nodiscard]] bool counts() const { return reducer_ == reduction::sum && of_ == value_class::boolean; }
  /// Class of the values that are taken in.
  [[nodiscard]] value_class taken() const;
  [[nodiscard]] std::string type() const;
  [[nodiscard]] std::string identity() const;
  /// `value` of class taken() in type().
  [[nodiscard]] std::string in_type(const std::string& value) const;
  /// `into` and `value` together, both of type().
  [[nodiscard]] std::string merged(const std::string& into, const std::string& value) const;
  /// A tile's rows reduced along its columns. `late_nan`: NaN may be passed over.
  [[nodiscard]] std::string reduced(const std::string& tile, bool late_nan) const;
  /// Running along columns.
  [[nodiscard]] std::string scanned(const std::string& tile) const;
  /// From type() to the class of the result.
  [[nodiscard]] std::string finished(const std::string& value) const;
  [[nodiscard]] value_class result() const { return taken(); }

 private:
  reduction reducer_;
  value_class of_;
  std::string real_type_;
};

}  // namespace kernsmith::agents::triton
