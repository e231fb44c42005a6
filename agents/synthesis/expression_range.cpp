// Interval arithmetic over integer expressions: decides how wide an intermediate must be.
#include <algorithm>
#include <limits>

#include "agents/synthesis/expression_tools.hpp"

namespace kernsmith::agents {
namespace {

using wide = __int128;

std::optional<integer_range> checked(wide low, wide high) {
  constexpr wide smallest = std::numeric_limits<std::int64_t>::min(), largest = std::numeric_limits<std::int64_t>::max();
  if (low < smallest || high > largest) return std::nullopt;
  return integer_range{static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)};
}

std::optional<integer_range> of_dtype(dtype type) {
  switch (type) {
    case dtype::i32:
      return integer_range{std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    case dtype::i16:
      return integer_range{std::numeric_limits<std::int16_t>::min(), std::numeric_limits<std::int16_t>::max()};
    case dtype::i8:
      return integer_range{-128, 127};
    case dtype::u8:
      return integer_range{0, 255};
    case dtype::boolean:
      return integer_range{0, 1};
    default:
      return std::nullopt;
  }
}

/// An axis may have any extent up to the largest tensor; a literal is what it is.
std::int64_t largest_extent(const dim& d) {
  return d.axis < 0 ? d.constant : max_elements_per_tensor;
}

std::optional<integer_range> product(const integer_range& a, const integer_range& b) {
  const wide corners[] = {wide{a.low} * b.low, wide{a.low} * b.high, wide{a.high} * b.low, wide{a.high} * b.high};
  return checked(*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4));
}

std::optional<integer_range> of_call(const expression& e, const std::vector<integer_range>& a) {
  switch (e.op) {
    case operation::add:
      return checked(wide{a[0].low} + a[1].low, wide{a[0].high} + a[1].high);
    case operation::subtract:
      return checked(wide{a[0].low} - a[1].high, wide{a[0].high} - a[1].low);
    case operation::multiply:
      return product(a[0], a[1]);
    case operation::negate:
      return checked(-wide{a[0].high}, -wide{a[0].low});
    case operation::absolute:
      return checked(0, std::max(-wide{a[0].low}, wide{a[0].high}));
    case operation::minimum:
      return integer_range{std::min(a[0].low, a[1].low), std::min(a[0].high, a[1].high)};
    case operation::maximum:
      return integer_range{std::max(a[0].low, a[1].low), std::max(a[0].high, a[1].high)};
    case operation::select:
      return integer_range{std::min(a[1].low, a[2].low), std::max(a[1].high, a[2].high)};
    default:
      return e.type == value_class::boolean ? std::optional<integer_range>(integer_range{0, 1}) : std::nullopt;
  }
}

std::optional<integer_range> of_reduction(const statement& s, const expression& e, const std::optional<integer_range>& body) {
  wide count = 1;
  for (const int variable : e.bound) count *= largest_extent(s.variables[static_cast<std::size_t>(variable)].extent);
  switch (e.reducer) {
    case reduction::any:
    case reduction::all:
      return integer_range{0, 1};
    case reduction::argmax:
    case reduction::argmin:
      return checked(0, count - 1);
    case reduction::max:
    case reduction::min:
      return body;
    case reduction::sum:
      if (!body || count > max_elements_per_tensor) return std::nullopt;
      return checked(std::min(wide{0}, body->low * count), std::max(wide{0}, body->high * count));
    case reduction::prod:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<integer_range> range_of(const std::vector<tensor_declaration>& tensors, const statement& s, int node) {
  const expression& e = s.nodes[static_cast<std::size_t>(node)];
  if (e.type == value_class::boolean) return integer_range{0, 1};
  if (e.type == value_class::real) return std::nullopt;
  std::vector<integer_range> arguments;
  bool all_known = true;
  for (const int argument : e.arguments) {
    const std::optional<integer_range> known = range_of(tensors, s, argument);
    all_known = all_known && known.has_value();
    arguments.push_back(known.value_or(integer_range{}));
  }
  switch (e.kind) {
    case expression_kind::number:
      return integer_range{e.integer, e.integer};
    case expression_kind::index:
      return integer_range{0, largest_extent(s.variables[static_cast<std::size_t>(e.symbol)].extent) - 1};
    case expression_kind::axis:
      return integer_range{1, max_elements_per_tensor};
    case expression_kind::load: {
      const tensor_declaration& tensor = tensors[static_cast<std::size_t>(e.symbol)];
      std::optional<integer_range> range = of_dtype(tensor.type);
      if (range && tensor.pad) {  // a load outside gives the pad, whatever the dtype could hold
        range->low = std::min(range->low, static_cast<std::int64_t>(*tensor.pad));
        range->high = std::max(range->high, static_cast<std::int64_t>(*tensor.pad));
      }
      return range;
    }
    case expression_kind::cast:
      return of_dtype(e.cast_to);
    case expression_kind::call:
      // The condition of a select is a boolean and always known.
      return all_known ? of_call(e, arguments) : std::nullopt;
    case expression_kind::reduce:
    case expression_kind::scan:
      return of_reduction(s, e, all_known ? std::optional(arguments.front()) : std::nullopt);
  }
  return std::nullopt;
}

}  // namespace kernsmith::agents
