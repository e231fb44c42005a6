#include "config/interpreter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/refusal.hpp"

namespace kernsmith {

namespace {

// Signed overflow wraps in this language, so integers are computed as unsigned and read back.
std::int64_t wrapped(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}
std::uint64_t bits(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

std::int64_t wrap_to(std::int64_t value, dtype type) {
  std::int64_t element = 0;
  store_from_int64(&element, 0, type, value);
  return load_as_int64(&element, 0, type);
}

std::int64_t saturate_to(std::int64_t value, dtype type) {
  if (type == dtype::i64) return value;
  return std::clamp(value, static_cast<std::int64_t>(lowest_value(type)), static_cast<std::int64_t>(largest_finite(type)));
}

double larger(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}  // a NaN on either side stays
double smaller(double a, double b) {
  return std::isnan(a) || a < b ? a : b;
}

class statement_run {
 public:
  statement_run(const problem& p, const std::vector<std::int64_t>& axes, const statement& s, std::vector<tensor_values>& values)
      : p_(p), axes_(axes), s_(s), values_(values), at_(s.variables.size(), 0) {}

  result<void> run() {
    const tensor_declaration& target = p_.tensors[static_cast<std::size_t>(s_.target)];
    tensor_values& out = values_[static_cast<std::size_t>(s_.target)];
    const auto count = static_cast<std::size_t>(element_count(shape_of(target, axes_)));
    out = {};
    if (is_float(target.type))
      out.real.resize(count);
    else
      out.integer.resize(count);
    std::size_t element = 0;
    do {
      store(target, out, element++);
    } while (failure_.empty() && advance(s_.target_indices));
    if (!failure_.empty()) return fail(fault::bad_request, place_message(p_.path.string(), failed_at_, failure_));
    return {};
  }

 private:
  void store(const tensor_declaration& target, tensor_values& out, std::size_t element) {
    const bool rounded = target.role == tensor_role::intermediate && target.type_declared;
    if (is_float(target.type)) {
      const double value = real(s_.root);
      out.real[element] = rounded ? round_through(value, target.type) : value;
    } else {
      const std::int64_t value = integer(s_.root);
      out.integer[element] = rounded ? wrap_to(value, target.type) : value;
    }
  }

  [[nodiscard]] const expression& node(int id) const { return s_.nodes[static_cast<std::size_t>(id)]; }
  [[nodiscard]] std::int64_t extent(int variable) const {
    return extent_of(s_.variables[static_cast<std::size_t>(variable)].extent, axes_);
  }

  /// Steps the variables like an odometer, the last one fastest. False when they are back at zero.
  bool advance(const std::vector<int>& variables) {
    for (auto v = variables.rbegin(); v != variables.rend(); ++v) {
      std::int64_t& value = at_[static_cast<std::size_t>(*v)];
      if (++value < extent(*v)) return true;
      value = 0;
    }
    return false;
  }

  double real(int id) {
    const expression& e = node(id);
    if (e.type != value_class::real) return static_cast<double>(integer(id));
    switch (e.kind) {
      case expression_kind::number:
        return e.number;
      case expression_kind::load: {
        const std::int64_t at = offset(e);
        if (at < 0) return pad_of(e);
        return values_[static_cast<std::size_t>(e.symbol)].real[static_cast<std::size_t>(at)];
      }
      case expression_kind::call:
        return real_call(e);
      case expression_kind::cast:
        return round_through(real(e.arguments[0]), e.cast_to);
      case expression_kind::reduce:
        return real_reduce(e);
      case expression_kind::scan:
        return real_scan(e);
      default:
        return 0;  // indices and axes are integers
    }
  }

  std::int64_t integer(int id) {
    const expression& e = node(id);
    switch (e.kind) {
      case expression_kind::number:
        return e.integer;
      case expression_kind::index:
        return at_[static_cast<std::size_t>(e.symbol)];
      case expression_kind::axis:
        return axes_[static_cast<std::size_t>(e.symbol)];
      case expression_kind::load: {
        const std::int64_t at = offset(e);
        if (at < 0) return static_cast<std::int64_t>(pad_of(e));
        return values_[static_cast<std::size_t>(e.symbol)].integer[static_cast<std::size_t>(at)];
      }
      case expression_kind::call:
        return integer_call(e);
      case expression_kind::cast:
        return integer_cast(e);
      case expression_kind::reduce:
        return integer_reduce(e);
      case expression_kind::scan:
        return integer_scan(e);
    }
    return 0;
  }

  bool condition(int id) { return integer(id) != 0; }

  double pad_of(const expression& e) const { return p_.tensors[static_cast<std::size_t>(e.symbol)].pad.value_or(0); }

  std::int64_t position(const index_expression& i) {
    if (!i.is_affine) return integer(i.gather);
    std::int64_t sum = i.constant;
    for (const affine_term& term : i.terms) {
      std::int64_t product = term.coefficient;
      for (const int a : term.axes) product *= axes_[static_cast<std::size_t>(a)];
      if (term.index >= 0) product *= at_[static_cast<std::size_t>(term.index)];
      sum += product;
    }
    return sum;
  }

  /// Row-major offset of a load, or -1 outside of the tensor.
  std::int64_t offset(const expression& e) {
    const tensor_declaration& t = p_.tensors[static_cast<std::size_t>(e.symbol)];
    std::int64_t at = 0;
    for (std::size_t d = 0; d < e.indices.size(); ++d) {
      const std::int64_t size = extent_of(t.shape[d], axes_);
      const std::int64_t i = position(e.indices[d]);
      if (i < 0 || i >= size) {
        if (!t.pad && failure_.empty()) {
          failure_ = fmt::format("index {} of '{}' is {}, outside of 0..{}", d + 1, t.name, i, size - 1);
          failed_at_ = e.place;
        }
        return -1;
      }
      at = at * size + i;
    }
    return at;
  }

  double real_call(const expression& e) {
    const auto argument = [&](std::size_t i) { return real(e.arguments[i]); };
    switch (e.op) {
      case operation::add:
        return argument(0) + argument(1);
      case operation::subtract:
        return argument(0) - argument(1);
      case operation::multiply:
        return argument(0) * argument(1);
      case operation::divide:
        return argument(0) / argument(1);
      case operation::negate:
        return -argument(0);
      case operation::select:
        return condition(e.arguments[0]) ? argument(1) : argument(2);
      case operation::minimum:
        return smaller(argument(0), argument(1));
      case operation::maximum:
        return larger(argument(0), argument(1));
      case operation::absolute:
        return std::fabs(argument(0));
      case operation::exp:
        return std::exp(argument(0));
      case operation::log:
        return std::log(argument(0));
      case operation::log1p:
        return std::log1p(argument(0));
      case operation::expm1:
        return std::expm1(argument(0));
      case operation::sqrt:
        return std::sqrt(argument(0));
      case operation::rsqrt:
        return 1 / std::sqrt(argument(0));
      case operation::pow:
        return std::pow(argument(0), argument(1));
      case operation::tanh:
        return std::tanh(argument(0));
      case operation::erf:
        return std::erf(argument(0));
      case operation::sigmoid:
        return 1 / (1 + std::exp(-argument(0)));
      case operation::sin:
        return std::sin(argument(0));
      case operation::cos:
        return std::cos(argument(0));
      case operation::floor:
        return std::floor(argument(0));
      case operation::ceil:
        return std::ceil(argument(0));
      case operation::round:
        return std::nearbyint(argument(0));
      case operation::fma:
        return std::fma(argument(0), argument(1), argument(2));
      default:
        return 0;  // comparisons and logic are boolean
    }
  }

  std::int64_t integer_call(const expression& e) {
    const auto argument = [&](std::size_t i) { return integer(e.arguments[i]); };
    switch (e.op) {
      case operation::add:
        return wrapped(bits(argument(0)) + bits(argument(1)));
      case operation::subtract:
        return wrapped(bits(argument(0)) - bits(argument(1)));
      case operation::multiply:
        return wrapped(bits(argument(0)) * bits(argument(1)));
      case operation::negate:
        return wrapped(0 - bits(argument(0)));
      case operation::select:
        return condition(e.arguments[0]) ? argument(1) : argument(2);
      case operation::minimum:
        return std::min(argument(0), argument(1));
      case operation::maximum:
        return std::max(argument(0), argument(1));
      case operation::absolute: {
        const std::int64_t value = argument(0);
        return value < 0 ? wrapped(0 - bits(value)) : value;
      }
      case operation::logical_and:
        return condition(e.arguments[0]) && condition(e.arguments[1]) ? 1 : 0;
      case operation::logical_or:
        return condition(e.arguments[0]) || condition(e.arguments[1]) ? 1 : 0;
      case operation::logical_not:
        return condition(e.arguments[0]) ? 0 : 1;
      default:
        return comparison(e) ? 1 : 0;
    }
  }

  bool comparison(const expression& e) {
    const bool reals = node(e.arguments[0]).type == value_class::real || node(e.arguments[1]).type == value_class::real;
    if (reals) return compare(e.op, real(e.arguments[0]), real(e.arguments[1]));
    return compare(e.op, integer(e.arguments[0]), integer(e.arguments[1]));
  }

  template <class T>
  static bool compare(operation op, T a, T b) {
    switch (op) {
      case operation::less:
        return a < b;
      case operation::less_equal:
        return a <= b;
      case operation::greater:
        return a > b;
      case operation::greater_equal:
        return a >= b;
      case operation::equal:
        return a == b;
      default:
        return a != b;
    }
  }

  std::int64_t integer_cast(const expression& e) {
    const int inner = e.arguments[0];
    if (node(inner).type != value_class::real)
      return saturate_to(e.cast_to == dtype::boolean ? integer(inner) != 0 : integer(inner), e.cast_to);
    std::int64_t element = 0;
    store_from_double(&element, 0, e.cast_to, real(inner));
    return load_as_int64(&element, 0, e.cast_to);
  }

  static double combine(reduction reducer, double a, double b) {
    switch (reducer) {
      case reduction::sum:
        return a + b;
      case reduction::prod:
        return a * b;
      case reduction::max:
        return larger(a, b);
      default:
        return smaller(a, b);
    }
  }

  static std::int64_t combine(reduction reducer, std::int64_t a, std::int64_t b) {
    switch (reducer) {
      case reduction::sum:
        return wrapped(bits(a) + bits(b));
      case reduction::prod:
        return wrapped(bits(a) * bits(b));
      case reduction::max:
        return std::max(a, b);
      case reduction::min:
        return std::min(a, b);
      case reduction::any:
        return a != 0 || b != 0 ? 1 : 0;
      default:
        return a != 0 && b != 0 ? 1 : 0;
    }
  }

  double real_reduce(const expression& e) {
    double folded = real(e.arguments[0]);  // extents are at least 1, so there always is a first element
    while (advance(e.bound)) folded = combine(e.reducer, folded, real(e.arguments[0]));
    return folded;
  }

  std::int64_t integer_reduce(const expression& e) {
    if (e.reducer == reduction::argmax || e.reducer == reduction::argmin) return position_of_extreme(e);
    std::int64_t folded = integer(e.arguments[0]);
    if (e.reducer == reduction::any || e.reducer == reduction::all) folded = folded != 0 ? 1 : 0;
    while (advance(e.bound)) folded = combine(e.reducer, folded, integer(e.arguments[0]));
    return folded;
  }

  /// The first position (row-major over the bound indices) whose value no other exceeds.
  std::int64_t position_of_extreme(const expression& e) {
    const operation better = e.reducer == reduction::argmax ? operation::greater : operation::less;
    const bool reals = node(e.arguments[0]).type == value_class::real;
    double best_real = reals ? real(e.arguments[0]) : 0;
    std::int64_t best_integer = reals ? 0 : integer(e.arguments[0]);
    std::int64_t best = 0;
    for (std::int64_t position = 1; advance(e.bound); ++position) {
      if (reals) {
        const double value = real(e.arguments[0]);
        if (compare(better, value, best_real)) best_real = value, best = position;
      } else {
        const std::int64_t value = integer(e.arguments[0]);
        if (compare(better, value, best_integer)) best_integer = value, best = position;
      }
    }
    return best;
  }

  double real_scan(const expression& e) {
    std::int64_t& index = at_[static_cast<std::size_t>(e.bound[0])];
    const std::int64_t last = index;
    index = 0;
    double folded = real(e.arguments[0]);
    while (index < last) {
      ++index;
      folded = combine(e.reducer, folded, real(e.arguments[0]));
    }
    return folded;
  }

  std::int64_t integer_scan(const expression& e) {
    std::int64_t& index = at_[static_cast<std::size_t>(e.bound[0])];
    const std::int64_t last = index;
    index = 0;
    std::int64_t folded = integer(e.arguments[0]);
    while (index < last) {
      ++index;
      folded = combine(e.reducer, folded, integer(e.arguments[0]));
    }
    return folded;
  }

  const problem& p_;
  const std::vector<std::int64_t>& axes_;
  const statement& s_;
  std::vector<tensor_values>& values_;
  std::vector<std::int64_t> at_;  ///< current value of each variable
  std::string failure_;
  source_place failed_at_;
};

}  // namespace

result<void> interpret(const problem& p, const std::vector<std::int64_t>& axes, std::vector<tensor_values>& values) {
  if (auto legal = check_axes(p, axes); !legal) return legal;
  values.resize(p.tensors.size());
  for (const int input : p.inputs()) {
    const tensor_declaration& t = p.tensors[static_cast<std::size_t>(input)];
    const tensor_values& given = values[static_cast<std::size_t>(input)];
    const std::size_t size = is_float(t.type) ? given.real.size() : given.integer.size();
    if (size != static_cast<std::size_t>(element_count(shape_of(t, axes))))
      return fail(fault::bad_request,
                  fmt::format("{}: input '{}' holds {} values, which is not what its shape needs", p.path.string(), t.name, size));
  }
  for (const statement& s : p.statements)
    if (auto done = statement_run(p, axes, s, values).run(); !done) return done;
  return {};
}

}  // namespace kernsmith
