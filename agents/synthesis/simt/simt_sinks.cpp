#include "agents/synthesis/simt/simt_sinks.hpp"

#include <fmt/format.h>

namespace kernsmith::agents::simt {
namespace {

bool finds_position(reduction r) {
  return r == reduction::argmax || r == reduction::argmin;
}

std::string merger_of(reduction r) {
  switch (r) {
    case reduction::sum:
      return "ks_adds{}";
    case reduction::prod:
      return "ks_multiplies{}";
    case reduction::max:
      return "ks_takes_larger{}";
    case reduction::min:
      return "ks_takes_smaller{}";
    case reduction::any:
      return "ks_ors{}";
    case reduction::all:
      return "ks_ands{}";
    case reduction::argmax:
      return "ks_takes_position<true>{}";
    case reduction::argmin:
      return "ks_takes_position<false>{}";
  }
  return "ks_adds{}";
}

}  // namespace

accumulator accumulator_of(const simt_program& p, const lane_code& code, int i) {
  const row::row_statement& s = p.at(i);
  const value_class body = s.nodes[static_cast<std::size_t>(s.value)].type;
  accumulator a;
  a.merge = merger_of(s.reducer);
  a.is_position = finds_position(s.reducer);
  a.of = a.is_position ? (body == value_class::boolean ? value_class::integer : body) : accumulated_class(s.reducer, body);
  const std::string value_type = code.type_text(i, a.of);
  a.type = a.is_position ? fmt::format("ks_position<{}>", value_type) : value_type;
  a.initial = a.is_position ? a.type + "{0, -1}" : fmt::format("{}({})", a.type, identity_of(s.reducer, a.of));
  return a;
}

accumulator extreme_of(const simt_program& p, const lane_code& code, int i) {
  const bool largest = p.at(i).reducer == reduction::argmax;
  accumulator a = accumulator_of(p, code, i);
  a.type = code.type_text(i, a.of);
  a.initial = fmt::format("{}({})", a.type, identity_of(largest ? reduction::max : reduction::min, a.of));
  a.merge = largest ? "ks_takes_larger_number{}" : "ks_takes_smaller_number{}";
  a.is_position = false;
  return a;
}

std::vector<std::string> take_in(const simt_program& p, const lane_code& code, int i, const std::string& into) {
  const row::row_statement& s = p.at(i);
  const accumulator a = accumulator_of(p, code, i);
  const std::string value = code.value(i, s.value, a.of);
  if (!a.is_position) return {accumulate(s.reducer, a.of, a.type, into, value)};
  return {fmt::format("ks_take<{}>({}, {}({}), int64_t({}));", s.reducer == reduction::argmax, into, code.type_text(i, a.of), value,
                      p.class_name(s.bound[0]))};
}

std::string finished(const lane_code& code, int i, const accumulator& a, const std::string& name) {
  return a.is_position ? code.seen(i, name + ".at", value_class::integer) : code.seen(i, name, a.of);
}

}  // namespace kernsmith::agents::simt
