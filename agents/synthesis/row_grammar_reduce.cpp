#include "agents/synthesis/row_grammar_reduce.hpp"

#include <fmt/format.h>

namespace kernsmith::agents::row {

bool is_position(reduction r) {
  return r == reduction::argmax || r == reduction::argmin;
}

value_class accumulated_as(const row_statement& s) {
  if (s.reducer == reduction::any || s.reducer == reduction::all) return value_class::boolean;
  const value_class argument = s.nodes[static_cast<std::size_t>(s.value)].type;
  return argument == value_class::boolean ? value_class::integer : argument;
}

bool is_compensated(const row_program& p, const row_statement& s) {
  return s.reducer == reduction::sum && accumulated_as(s) == value_class::real && !p.wide;
}

std::string accumulator_type(const row_statement& s) {
  return accumulated_as(s) == value_class::real ? "real" : "whole";
}

std::string initial_lanes(const row_statement& s) {
  const bool real = accumulated_as(s) == value_class::real;
  if (s.reducer == reduction::any) return "splat_whole(0)";
  if (s.reducer == reduction::all) return "splat_whole(-1)";
  return fmt::format("{}({})", real ? "splat" : "splat_whole", initial_scalar(s));
}

std::string initial_scalar(const row_statement& s) {
  const bool real = accumulated_as(s) == value_class::real;
  switch (s.reducer) {
    case reduction::sum:
      return real ? "0.0" : "int64_t(0)";
    case reduction::prod:
      return real ? "1.0" : "int64_t(1)";
    case reduction::max:
    case reduction::argmax:
      return real ? "-double(INFINITY)" : "int64_t(std::numeric_limits<whole_element>::min())";
    case reduction::min:
    case reduction::argmin:
      return real ? "double(INFINITY)" : "int64_t(std::numeric_limits<whole_element>::max())";
    case reduction::any:
      return "false";
    case reduction::all:
      return "true";
  }
  return "0.0";
}

std::string update_lanes(const row_statement& s, const std::string& into, const std::string& value) {
  switch (s.reducer) {
    case reduction::sum:
      return fmt::format("{} + {}", into, value);
    case reduction::prod:
      return fmt::format("{} * {}", into, value);
    case reduction::max:
    case reduction::argmax:
      return fmt::format("larger({}, {})", into, value);
    case reduction::min:
    case reduction::argmin:
      return fmt::format("smaller({}, {})", into, value);
    case reduction::any:
      return fmt::format("{} | {}", into, value);
    case reduction::all:
      return fmt::format("{} & {}", into, value);
  }
  return value;
}

std::string merger(const row_statement& s) {
  switch (s.reducer) {
    case reduction::sum:
      return "add";
    case reduction::prod:
      return "multiply";
    case reduction::max:
    case reduction::argmax:
      return "largest";
    case reduction::min:
    case reduction::argmin:
      return "smallest";
    case reduction::any:
      return "either";
    case reduction::all:
      return "both";
  }
  return "add";
}

std::string scalar_type(value_class type) {
  if (type == value_class::real) return "double";
  return type == value_class::integer ? "int64_t" : "bool";
}

}  // namespace kernsmith::agents::row
