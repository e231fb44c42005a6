// How reductions and scans accumulate in a thread and over threads: types, initial values, updates and mergers as CUDA text.
#pragma once

#include <string>
#include <vector>

#include "agents/synthesis/simt/simt_program.hpp"

namespace kernsmith::agents::simt {

struct accumulator {
  std::string type;     ///< "float", "int64_t", "ks_position<float>"
  std::string initial;  ///< identity
  std::string merge;    ///< a function object of the prelude's "reduce": "ks_adds{}"
  value_class of = value_class::real;
  bool is_position = false;
};

/// Of the reduce or scan statement `i`.
[[nodiscard]] accumulator accumulator_of(const simt_program& p, const lane_code& code, int i);
/// Of the extreme whose place the argmax or argmin `i` gives, NaN left out.
[[nodiscard]] accumulator extreme_of(const simt_program& p, const lane_code& code, int i);
/// Lines that take the value at the bound index into `into`.
[[nodiscard]] std::vector<std::string> take_in(const simt_program& p, const lane_code& code, int i, const std::string& into);
/// What readers see of a finished accumulator called `name`.
[[nodiscard]] std::string finished(const lane_code& code, int i, const accumulator& a, const std::string& name);

}  // namespace kernsmith::agents::simt
