#include "agents/synthesis/opencl/opencl_sinks.hpp"

#include <fmt/format.h>

#include "agents/synthesis/simt/simt_emission.hpp"

namespace kernsmith::agents::opencl {

accumulation::accumulation(const simt::simt_program& p, int i, bool in_double) : p_(p), i_(i), reducer_(p.at(i).reducer) {
  const row::row_statement& s = p.at(i);
  const value_class body = s.nodes[static_cast<std::size_t>(s.value)].type;
  position_ = reducer_ == reduction::argmax || reducer_ == reduction::argmin;
  const value_class kept = position_ ? body : simt::accumulated_class(reducer_, body);
  of_ = kept == value_class::boolean ? value_class::integer : kept;
  in_double_ = in_double && reducer_ == reduction::sum && of_ == value_class::real;
}

std::string accumulation::type(const lane_code& code) const {
  if (!in_double_) return code.type(of_);
  return code.width() == 1 ? "double" : fmt::format("double{}", code.width());
}

std::string accumulation::finished(const lane_code& code, const std::string& name) const {
  if (position_) return name + "_at";
  return in_double_ && code.width() > 1 && type(code) != code.type(of_) ? fmt::format("convert_{}({})", code.type(of_), name) : name;
}

std::string accumulation::identity(const lane_code& code) const {
  const bool real = of_ == value_class::real, narrow = code.element(of_) == "int";
  switch (reducer_) {
    case reduction::prod:
    case reduction::all:
      return "1";
    case reduction::max:
      return real ? "-INFINITY" : narrow ? "INT_MIN" : "LONG_MIN";
    case reduction::min:
      return real ? "INFINITY" : narrow ? "INT_MAX" : "LONG_MAX";
    default:
      return "0";
  }
}

void accumulation::declare(source_writer& out, const lane_code& code, const std::string& name) const {
  const std::string own = type(code), start = identity(code);
  out.line(fmt::format("{} {} = {};", own, name, code.width() == 1 ? start : fmt::format("({})({})", own, start)));
  if (position_) out.line(fmt::format("int64_t {}_at = -1;", name));
}

void accumulation::take(source_writer& out, const lane_code& code, const std::string& name) const {
  const row::row_statement& s = p_.at(i_);
  if (position_) {
    const std::string next = name + "_next";
    out.open_scope();
    out.line(fmt::format("const {} {} = {};", code.type(of_), next, code.value(i_, s.value, of_)));
    out.open(fmt::format("if ({0}_at < 0 || {1} {2} {0})", name, next, reducer_ == reduction::argmax ? ">" : "<"));
    out.line(fmt::format("{} = {};", name, next));
    out.line(fmt::format("{}_at = {};", name, p_.class_name(s.bound[0])));
    out.close();
    out.close();
    return;
  }
  const bool logical = reducer_ == reduction::any || reducer_ == reduction::all;
  const std::string value = code.value(i_, s.value, logical ? value_class::boolean : of_);
  if (in_double_ && code.width() > 1 && type(code) != code.type(of_))
    out.line(fmt::format("{} += convert_{}({});", name, type(code), value));
  else if (reducer_ == reduction::sum)
    out.line(fmt::format("{} += {};", name, value));
  else
    out.line(fmt::format("{} = {};", name, merged(code, name, value)));
}

std::string accumulation::merged(const lane_code& code, const std::string& a, const std::string& b) const {
  const bool real = of_ == value_class::real;
  const std::string type = code.width() > 1 ? code.type(of_) : code.element(of_) == "float" ? "f32" : "f64";
  switch (reducer_) {
    case reduction::sum:
      return fmt::format("{} + {}", a, b);
    case reduction::prod:
      return fmt::format("{} * {}", a, b);
    case reduction::max:
      return real ? fmt::format("ks_larger_{}({}, {})", type, a, b) : fmt::format("max({}, ({})({}))", a, code.type(of_), b);
    case reduction::min:
      return real ? fmt::format("ks_smaller_{}({}, {})", type, a, b) : fmt::format("min({}, ({})({}))", a, code.type(of_), b);
    case reduction::all:
      return fmt::format("{} & {}", a, b);
    default:
      return fmt::format("{} | {}", a, b);
  }
}

std::string accumulation::folded(const lane_code& code, const std::string& text) const {
  if (code.width() == 1) return text;
  const bool real = of_ == value_class::real;
  const char* how = "or";
  if (reducer_ == reduction::sum) how = "sum";
  if (reducer_ == reduction::prod) how = "product";
  if (reducer_ == reduction::max) how = real ? "larger" : "largest";
  if (reducer_ == reduction::min) how = real ? "smaller" : "smallest";
  if (reducer_ == reduction::all) how = "and";
  return fmt::format("ks_fold_{}_{}({})", how, type(code), text);
}

}  // namespace kernsmith::agents::opencl
