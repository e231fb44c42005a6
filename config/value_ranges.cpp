#include "config/value_ranges.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace kernsmith {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr value_interval anything{-infinity, infinity};
constexpr value_interval truth{0, 1};
constexpr double exact_integers = 0x1p53;  // doubles hold every integer up to here

/// An interval with an undefined or inexact end says nothing about integers.
value_interval trusted(value_interval v) {
  if (std::isnan(v.low) || std::isnan(v.high) || std::fabs(v.low) > exact_integers || std::fabs(v.high) > exact_integers) return anything;
  return v;
}

value_interval times(value_interval a, value_interval b) {
  const double products[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  for (const double product : products)
    if (std::isnan(product)) return anything;  // 0 * infinity
  return {*std::min_element(std::begin(products), std::end(products)), *std::max_element(std::begin(products), std::end(products))};
}

value_interval dtype_range(dtype type) {
  if (is_float(type)) return anything;
  return {lowest_value(type), largest_finite(type)};
}

value_interval hull(value_interval a, value_interval b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

double product_of(const std::vector<int>& axes, const std::vector<std::int64_t>& extents) {
  double product = 1;
  for (const int a : axes) product *= static_cast<double>(extents[static_cast<std::size_t>(a)]);
  return product;
}

}  // namespace

value_ranges::value_ranges(const problem& p, const std::vector<std::int64_t>& axes) : p_(p), axes_(axes) {
  for (const tensor_declaration& t : p.tensors) tensors_.push_back(t.role == tensor_role::input ? of_input(t) : anything);
  for (const statement& s : p.statements) {
    const auto target = static_cast<std::size_t>(s.target);
    const tensor_declaration& t = p.tensors[target];
    const value_interval written = of_node(s, s.root);
    const value_interval held = dtype_range(t.type);
    const bool wraps = t.role == tensor_role::intermediate && t.type_declared && (written.low < held.low || written.high > held.high);
    tensors_[target] = wraps ? held : written;
  }
}

double value_ranges::extent(const statement& s, int variable) const {
  return static_cast<double>(extent_of(s.variables[static_cast<std::size_t>(variable)].extent, axes_));
}

value_interval value_ranges::of_input(const tensor_declaration& t) const {
  value_interval range = dtype_range(t.type);
  const init_spec& init = t.init.which == init_spec::kind::sorted ? t.init.of.front() : t.init;
  const auto narrow = [&](double low, double high) { range = {std::max(range.low, low), std::min(range.high, high)}; };
  switch (init.which) {
    case init_spec::kind::integers:
      narrow(init.lo, init.hi);
      break;
    case init_spec::kind::zipf:
      if (init.n > 0) narrow(0, static_cast<double>(init.n - 1));
      break;
    case init_spec::kind::constant:
      narrow(init.value, init.value);
      break;
    case init_spec::kind::arange: {
      const double last = init.start + init.step * static_cast<double>(element_count(shape_of(t, axes_)) - 1);
      const bool wraps = std::min(init.start, last) < range.low || std::max(init.start, last) > range.high;
      if (!wraps) narrow(std::min(init.start, last), std::max(init.start, last));
      break;
    }
    default:
      break;
  }
  // Inputs are kept inside these limits whatever their init says (input_values.hpp): integers by clamping their ends, others by wrapping.
  for (const dim& limit : t.index_limits) {
    const double last = static_cast<double>(extent_of(limit, axes_) - 1);
    const bool clamped = !t.init.is_default && t.init.which == init_spec::kind::integers;
    if (clamped || (range.low >= 0 && range.high <= last && !t.init.is_default)) {
      range = {std::clamp(range.low, 0.0, last), std::clamp(range.high, 0.0, last)};
    } else {
      range = {0, last};
    }
  }
  return trusted(range);
}

value_interval value_ranges::of_position(const statement& s, const index_expression& position) const {
  if (!position.is_affine) return of_node(s, position.gather);
  const auto constant = static_cast<double>(position.constant);
  value_interval sum{constant, constant};
  std::map<int, double> coefficients;  // terms of one index move together: n*i - 2*i
  for (const affine_term& term : position.terms)
    coefficients[term.index] += static_cast<double>(term.coefficient) * product_of(term.axes, axes_);
  for (const auto& [index, coefficient] : coefficients) {
    const double last = index >= 0 ? extent(s, index) - 1 : 0;
    const value_interval part = index >= 0 ? times({coefficient, coefficient}, {0, last}) : value_interval{coefficient, coefficient};
    sum = {sum.low + part.low, sum.high + part.high};
  }
  return trusted(sum);
}

bool value_ranges::fits(const statement& s, const index_expression& position) const {
  double total = std::fabs(static_cast<double>(position.constant));
  for (const affine_term& term : position.terms) {
    const double last = term.index >= 0 ? extent(s, term.index) : 1;
    total += std::fabs(static_cast<double>(term.coefficient)) * product_of(term.axes, axes_) * last;
  }
  return total <= exact_integers;
}

value_interval value_ranges::of_node(const statement& s, int node) const {
  const expression& e = s.nodes[static_cast<std::size_t>(node)];
  switch (e.kind) {
    case expression_kind::number:
      return {e.number, e.number};
    case expression_kind::index:
      return {0, extent(s, e.symbol) - 1};
    case expression_kind::axis: {
      const auto value = static_cast<double>(axes_[static_cast<std::size_t>(e.symbol)]);
      return {value, value};
    }
    case expression_kind::load: {
      const tensor_declaration& t = p_.tensors[static_cast<std::size_t>(e.symbol)];
      const value_interval stored = tensors_[static_cast<std::size_t>(e.symbol)];
      return t.pad ? hull(stored, {*t.pad, *t.pad}) : stored;
    }
    case expression_kind::call:
      return trusted(of_call(s, e));
    case expression_kind::cast: {
      const value_interval inner = of_node(s, e.arguments.front());
      if (is_float(e.cast_to)) return trusted({round_through(inner.low, e.cast_to), round_through(inner.high, e.cast_to)});
      if (e.cast_to == dtype::boolean) return truth;
      const value_interval held = dtype_range(e.cast_to);
      return trusted({std::clamp(std::trunc(inner.low), held.low, held.high), std::clamp(std::trunc(inner.high), held.low, held.high)});
    }
    case expression_kind::reduce:
    case expression_kind::scan:
      return trusted(of_reduction(s, e));
  }
  return anything;
}

value_interval value_ranges::of_call(const statement& s, const expression& e) const {
  const value_interval a = of_node(s, e.arguments[0]);
  const value_interval b = e.arguments.size() > 1 ? of_node(s, e.arguments[1]) : anything;
  switch (e.op) {
    case operation::add:
      return {a.low + b.low, a.high + b.high};
    case operation::subtract:
      return {a.low - b.high, a.high - b.low};
    case operation::multiply:
      return times(a, b);
    case operation::divide:
      return b.low > 0 || b.high < 0 ? times(a, {1 / b.high, 1 / b.low}) : anything;
    case operation::negate:
      return {-a.high, -a.low};
    case operation::less:
    case operation::less_equal:
    case operation::greater:
    case operation::greater_equal:
    case operation::equal:
    case operation::not_equal:
    case operation::logical_and:
    case operation::logical_or:
    case operation::logical_not:
    case operation::sigmoid:
      return truth;
    case operation::select:
      return hull(b, of_node(s, e.arguments[2]));
    case operation::minimum:
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case operation::maximum:
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case operation::absolute:
      return {a.low > 0 ? a.low : a.high < 0 ? -a.high : 0, std::max(std::fabs(a.low), std::fabs(a.high))};
    case operation::tanh:
    case operation::erf:
    case operation::sin:
    case operation::cos:
      return {-1, 1};
    case operation::floor:
      return {std::floor(a.low), std::floor(a.high)};
    case operation::ceil:
      return {std::ceil(a.low), std::ceil(a.high)};
    case operation::round:
      return {std::nearbyint(a.low), std::nearbyint(a.high)};
    default:
      return anything;
  }
}

value_interval value_ranges::of_reduction(const statement& s, const expression& e) const {
  double count = 1;
  for (const int variable : e.bound) count *= extent(s, variable);
  const value_interval body = of_node(s, e.arguments.front());
  switch (e.reducer) {
    case reduction::sum:
      if (e.kind == expression_kind::scan) return {std::min(body.low, body.low * count), std::max(body.high, body.high * count)};
      return {body.low * count, body.high * count};
    case reduction::max:
    case reduction::min:
      return body;
    case reduction::any:
    case reduction::all:
      return truth;
    case reduction::argmax:
    case reduction::argmin:
      return {0, count - 1};
    case reduction::prod:
      return anything;
  }
  return anything;
}

}  // namespace kernsmith
