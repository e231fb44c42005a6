// Values of a row program as OpenCL C: scalars, or vectors of neighbouring elements along one index. What has no vector form is computed
// lane by lane and put together.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agents/synthesis/simt/simt_program.hpp"
#include "agents/synthesis/vector_c/c_scalar.hpp"

namespace kernsmith::agents::opencl {

/// Is the arithmetic of the program's lanes in double?
[[nodiscard]] bool lanes_are_wide(const simt::simt_program& p);

class lane_code {
 public:
  /// `width` neighbours along the class `lane`, whose index variable stands at the first of them; 1: scalars.
  lane_code(const simt::simt_program& p, int lane, std::int64_t width);

  /// Scalars that are computed in double, between sweeps whose arithmetic is in float.
  void use_double() { wide_ = true; }
  /// The same values at hand, `width` elements wide, in the program's own arithmetic.
  [[nodiscard]] lane_code with_width(std::int64_t width) const;
  [[nodiscard]] std::int64_t width() const { return width_; }

  /// Positions along a class are `by` further on.
  void shift(int index, std::int64_t by);
  /// The value of statement `i` is called `name` from now on, of type type(seen_class(i)): one for each lane, or one for all.
  void know(int i, const std::string& name, bool each_lane) { known_[i] = {name, each_lane && width_ > 1}; }
  void forget(int i) { known_.erase(i); }

  /// Powers by ks_fast_pow, from now on.
  void use_fast_powers() { fast_powers_ = true; }

  /// "float8"; integers are "int8" or "long8", scalars of them "int64_t"; booleans are integers 0 and 1.
  [[nodiscard]] std::string type(value_class of) const;
  /// "float", "int": of one element of type().
  [[nodiscard]] std::string element(value_class of) const;
  /// Of node of statement `i`, of type type(as).
  [[nodiscard]] std::string value(int i, int node, value_class as) const;
  /// What readers of statement `i` see of its value `text` of class `from`: rounded where a dtype is declared.
  [[nodiscard]] std::string seen(int i, const std::string& text, value_class from) const;
  [[nodiscard]] value_class seen_class(int i) const;
  /// Lines that put the value called `name`, of type type(seen_class(i)), into the target of statement `i`.
  [[nodiscard]] std::vector<std::string> store(int i, const std::string& name) const;

 private:
  enum class form : std::uint8_t { real, integer, mask };
  struct operand {
    std::string text;
    form is = form::real;
    std::string mask = {};  ///< element type of a mask
    bool each_lane = true;
    int node = -1;  ///< one for all lanes: taken from here, in the class that is wanted
  };
  struct known_value {
    std::string name;
    bool each_lane = false;
  };

  [[nodiscard]] vector_c::c_scalar scalar(int i, std::int64_t lane) const;
  [[nodiscard]] std::optional<std::string> at_hand(int i, int node, std::int64_t lane) const;
  [[nodiscard]] std::string seen_scalar(int i, const std::string& text, value_class from) const;
  [[nodiscard]] bool varies(int i, int node) const;
  [[nodiscard]] operand render(int i, int node) const;
  [[nodiscard]] operand load(int i, int node) const;
  [[nodiscard]] operand packed(int i, int node) const;
  [[nodiscard]] operand call(int i, int node) const;
  [[nodiscard]] operand compare(int i, const expression& e) const;
  [[nodiscard]] operand real_call(int i, int node) const;
  [[nodiscard]] operand integer_call(int i, int node) const;
  [[nodiscard]] operand cast(int i, int node) const;
  [[nodiscard]] operand by_lane(int i, int node) const;
  [[nodiscard]] std::string converted(int i, const operand& o, value_class as) const;
  [[nodiscard]] std::string mixed(int i, const operand& o, value_class as) const;
  [[nodiscard]] std::string mask_of(int i, const operand& o, const std::string& element) const;
  [[nodiscard]] std::string convert(const std::string& element, const std::string& text) const;
  [[nodiscard]] std::string spread(const std::string& element, const std::string& text) const;
  [[nodiscard]] std::string rounded(dtype to, const std::string& text) const;
  [[nodiscard]] const char* real_mask() const { return wide_ ? "long" : "int"; }
  [[nodiscard]] const statement& shifted(int i, std::int64_t lane) const;

  const simt::simt_program* p_;
  int lane_;
  std::int64_t width_;
  bool wide_, long_integers_, fast_powers_ = false;
  std::map<int, known_value> known_;
  std::map<int, std::int64_t> shifts_;
  mutable std::map<std::pair<int, std::int64_t>, statement> shifted_;
};

}  // namespace kernsmith::agents::opencl
