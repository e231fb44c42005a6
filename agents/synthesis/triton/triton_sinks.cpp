#include "agents/synthesis/triton/triton_sinks.hpp"

#include <fmt/format.h>

namespace kernsmith::agents::triton {
namespace {

constexpr const char* propagate_nan = ", propagate_nan=tl.PropagateNan.ALL";

}  // namespace

value_class accumulation::taken() const {
  if (reducer_ == reduction::any || reducer_ == reduction::all) return value_class::boolean;
  if (of_ == value_class::boolean) return value_class::integer;
  return of_;
}

std::string accumulation::type() const {
  if (counts()) return "index";
  switch (taken()) {
    case value_class::real:
      return real_type_;
    case value_class::integer:
      return "tl.int64";
    case value_class::boolean:
      return "tl.int1";
  }
  return real_type_;
}

std::string accumulation::identity() const {
  const bool real = taken() == value_class::real;
  switch (reducer_) {
    case reduction::prod:
      return real ? "1.0" : "1";
    case reduction::max:
    case reduction::argmax:
      return real ? "float(\"-inf\")" : "-2**63";
    case reduction::min:
    case reduction::argmin:
      return real ? "float(\"inf\")" : "2**63 - 1";
    case reduction::any:
      return "False";
    case reduction::all:
      return "True";
    case reduction::sum:
      break;
  }
  return real ? "0.0" : "0";
}

std::string accumulation::in_type(const std::string& value) const {
  return counts() ? value + ".to(index)" : value;
}

std::string accumulation::merged(const std::string& into, const std::string& value) const {
  const bool real = taken() == value_class::real;
  switch (reducer_) {
    case reduction::prod:
      return fmt::format("{} * {}", into, value);
    case reduction::max:
      return fmt::format("tl.maximum({}, {}{})", into, value, real ? propagate_nan : "");
    case reduction::min:
      return fmt::format("tl.minimum({}, {}{})", into, value, real ? propagate_nan : "");
    case reduction::any:
      return fmt::format("{} | {}", into, value);
    case reduction::all:
      return fmt::format("{} & {}", into, value);
    default:
      return fmt::format("{} + {}", into, value);
  }
}

std::string accumulation::reduced(const std::string& tile, bool late_nan) const {
  const bool exact = taken() == value_class::real && !late_nan;
  switch (reducer_) {
    case reduction::prod:
      return fmt::format("tl.reduce({}, 1, ks_times, keep_dims=True)", tile);
    case reduction::max:
      return exact ? fmt::format("ks_row_max({})", tile) : fmt::format("tl.max({}, 1, keep_dims=True)", tile);
    case reduction::min:
      return exact ? fmt::format("ks_row_min({})", tile) : fmt::format("tl.min({}, 1, keep_dims=True)", tile);
    case reduction::any:
      return fmt::format("tl.max({}.to(tl.int32), 1, keep_dims=True) > 0", tile);
    case reduction::all:
      return fmt::format("tl.min({}.to(tl.int32), 1, keep_dims=True) > 0", tile);
    default:
      return fmt::format("tl.sum({}, 1, keep_dims=True)", tile);
  }
}

std::string accumulation::scanned(const std::string& tile) const {
  const bool real = taken() == value_class::real;
  switch (reducer_) {
    case reduction::prod:
      return fmt::format("tl.cumprod({}, 1)", tile);
    case reduction::max:
      return fmt::format("tl.associative_scan({}, 1, {})", tile, real ? "ks_max" : "ks_whole_max");
    case reduction::min:
      return fmt::format("tl.associative_scan({}, 1, {})", tile, real ? "ks_min" : "ks_whole_min");
    default:
      return fmt::format("tl.cumsum({}, 1)", tile);
  }
}

std::string accumulation::finished(const std::string& value) const {
  return counts() ? value + ".to(tl.int64)" : value;
}

}  // namespace kernsmith::agents::triton
