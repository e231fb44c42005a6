// Sweeps with the lanes along the swept index: one row at a time.
#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/row_grammar_body.hpp"
#include "agents/synthesis/row_grammar_reduce.hpp"

namespace kernsmith::agents::row {
namespace {

// Elements summed in plain float lanes before the partial sums join the compensated total.
constexpr int inner_block = 8192;

}  // namespace

bool body_writer::overlooks_nan(int statement) const {
  return plan_.late_nan && find_late_nan(p_)->extreme == statement;
}

void body_writer::declare_inner(text_block& out, const sweep& w) {
  for (const int i : w.sinks) {
    const row_statement& s = at(i);
    const std::string name = write_.stem(s.tensor);
    if (s.kind == role::scan) {
      out.line(fmt::format("{} {}_carry = {};", scalar_type(accumulated_as(s)), name, initial_scalar(s)));
    } else if (s.kind == role::reduce && is_compensated(p_, s)) {
      out.line(fmt::format("precise {}_sum;", name));
    } else if (s.kind == role::reduce) {
      const std::string type = accumulator_type(s);
      out.line(fmt::format("{} {}_acc[U];", type, name));
      out.line(fmt::format("fill({}_acc, {});", name, initial_lanes(s)));
      if (is_position(s.reducer)) {
        out.line(fmt::format("whole {}_at[U];", name));
        out.line(fmt::format("fill({}_at, splat_whole(-1));", name));
      }
    }
  }
}

/// The first position of the extreme value, lane by lane. NaN is never better than what stands, but a NaN at position 0 stays.
void body_writer::position_step(text_block& body, const row_statement& s, const std::string& value, int lane) {
  const std::string name = write_.stem(s.tensor);
  const char* const slot = plan_.where == lanes::inner ? "u" : "v";
  const char* const order = s.reducer == reduction::argmax ? ">" : "<";
  const std::string best = fmt::format("{}_acc[{}]", name, slot), where = fmt::format("{}_at[{}]", name, slot);
  const bool real = accumulated_as(s) == value_class::real;
  body.line(fmt::format("const {} {}_new = {};", real ? "real" : "whole", name, value));
  const std::string index = plan_.where == lanes::inner ? fmt::format("(splat_whole({}) + lane_numbers())", write_.class_name(lane))
                                                        : fmt::format("splat_whole({})", write_.class_name(lane));
  std::string better = fmt::format("({0}_new {1} {2}) | ({3} < 0)", name, order, best, where);
  if (real) better = fmt::format("({0}_new {1} {2}) | (({3} < 0) & (({0}_new == {0}_new) | ({4} == 0)))", name, order, best, where, index);
  if (plan_.where == lanes::inner) better = fmt::format("keep(lanes, {}, splat_whole(0))", better);
  body.line(fmt::format("const whole {}_better = {};", name, better));
  body.line(fmt::format("{0} = vselect({1}_better, {1}_new, {0});", best, name));
  body.line(fmt::format("{0} = vselect({1}_better, {2}, {0});", where, name, index));
}

void body_writer::scan_step_inner(lane_scope& scope, int i) {
  const row_statement& s = at(i);
  const std::string name = write_.stem(s.tensor);
  const value_class type = accumulated_as(s);
  const bool real = type == value_class::real;
  const std::string value = write_.vector(s, s.value, type, scope);
  text_block& body = *scope.body;
  body.line(fmt::format("const {} {}_prefix = prefix({}, {}, {});", real ? "real" : "whole", name, value, initial_lanes(s), merger(s)));
  const std::string carry = fmt::format("{}({}_carry)", real ? "splat" : "splat_whole", name);
  const std::string local = write_.fresh(write_.value_name(s));
  const std::string result = update_lanes(s, carry, name + "_prefix");
  body.line(fmt::format("const {} {} = {};", real ? "real" : "whole", local, write_.rounded_to_tensor(s, result, type)));
  const std::string last = fmt::format("{}({}_prefix[W - 1])", real ? "double" : "int64_t", name);
  body.line(fmt::format("{}_carry = {};", name, update_lanes(s, name + "_carry", last)));
  scope.values[i] = local;
  if (s.stored) store_lanes(body, s, local, type, scope.lane);
}

void body_writer::step_sinks_inner(lane_scope& scope, const sweep& w) {
  for (const int i : w.sinks) {
    const row_statement& s = at(i);
    const std::string name = write_.stem(s.tensor);
    if (s.kind == role::scan) {
      scan_step_inner(scope, i);
    } else if (s.kind == role::map) {
      const std::string value = write_.value_of(i, scope);
      store_lanes(*scope.body, s, value, s.type, scope.lane);
    } else if (is_position(s.reducer)) {
      const std::string value = write_.vector(s, s.value, accumulated_as(s), scope);
      position_step(*scope.body, s, value, scope.lane);
    } else {
      const std::string value = write_.vector(s, s.value, accumulated_as(s), scope);
      const std::string acc = fmt::format("{}_{}[u]", name, is_compensated(p_, s) ? "part" : "acc");
      std::string updated = update_lanes(s, acc, value);
      if (overlooks_nan(i))
        updated = fmt::format("kExact ? {} : {}({}, {})", updated, s.reducer == reduction::max ? "vmax_raw" : "vmin_raw", value, acc);
      scope.body->line(fmt::format("{0} = keep(lanes, {1}, {0});", acc, updated));
    }
  }
  put_in_buffers(scope, w);
}

void body_writer::finish_position(text_block& out, const row_statement& s) {
  const std::string name = write_.stem(s.tensor);
  const std::string type = scalar_type(accumulated_as(s));
  const bool real = accumulated_as(s) == value_class::real;
  const char* const order = s.reducer == reduction::argmax ? ">" : "<";
  // The first of the best: better value, or the same value at an earlier place; a NaN that stood at position 0 beats all.
  const std::string better = fmt::format("b.at >= 0 && (a.at < 0 || {}b.value {} a.value || (b.value == a.value && b.at < a.at))",
                                         real ? "b.value != b.value || " : "", order);
  out.line(fmt::format("struct {}_candidate {{ {} value; int64_t at; }};", name, type));
  out.line(fmt::format("const auto {0}_better = []({0}_candidate a, {0}_candidate b) {{ return {1} ? b : a; }};", name, better));
  out.line(fmt::format("{0}_candidate {0}_best = {{0, -1}};", name));
  out.line("for (int u = 0; u < U; ++u)");
  out.line(fmt::format("for (int l = 0; l < W; ++l) {0}_best = {0}_better({0}_best, {{{1}({0}_acc[u][l]), {0}_at[u][l]}});", name, type),
           1);
  out.line(fmt::format("const int64_t {} = std::max<int64_t>(0, combine(crew, {}_best, {}_better).at);", write_.value_name(s), name, name));
}

void body_writer::finish_inner(text_block& out, const sweep& w) {
  for (const int i : w.sinks) {
    const row_statement& s = at(i);
    if (s.kind != role::reduce) continue;
    const std::string name = write_.stem(s.tensor);
    if (is_position(s.reducer)) {
      finish_position(out, s);
    } else {
      const value_class type = accumulated_as(s);
      std::string mine;
      if (is_compensated(p_, s))
        mine = fmt::format("double(hsum({}_sum.value()))", name);
      else if (type == value_class::boolean)
        mine = fmt::format("across_lanes<int64_t>(fold({0}_acc, {1}), {1}) != 0", name, merger(s));
      else
        mine = fmt::format("across_lanes<{0}>(fold({1}_acc, {2}), {2})", scalar_type(type), name, merger(s));
      const std::string all = fmt::format("combine(crew, {}, {})", mine, merger(s));
      out.line(fmt::format("const {} {} = {};", scalar_type(s.type), write_.value_name(s),
                           write_.rounded_scalar(s, expression_writer::convert_scalar(all, type, s.type))));
      if (plan_.late_nan && find_late_nan(p_)->sum == i) {
        out.line("// A NaN was overlooked, perhaps: once more, exactly.");
        out.line(fmt::format("if (!kExact && {0} != {0}) return {1};", write_.value_name(s), restart_call));
      }
    }
    if (s.stored) store_scalar(out, s);
  }
}

void body_writer::sweep_inner(text_block& out, const sweep& w) {
  comment(out, w.sinks, "");
  declare_inner(out, w);
  const int lane = w.over.back();
  const std::string name = write_.class_name(lane);
  const bool split = std::none_of(w.sinks.begin(), w.sinks.end(), [&](int i) { return at(i).kind == role::scan; });
  const bool blocked =
      std::any_of(w.sinks.begin(), w.sinks.end(), [&](int i) { return at(i).kind == role::reduce && is_compensated(p_, at(i)); });

  out.line("{");
  int depth = out.depth() + 1;
  const auto put = [&](const std::string& text) {
    text_block one(depth);
    one.line(text);
    out.append(one);
  };
  const int first = w.over.front();
  const std::string first_extent = write_.class_extent(first);
  if (split)
    put(fmt::format("const range part = share(crew, {}, {});", first_extent, first == lane ? "W" : "1"));
  else
    put(fmt::format("const range part = {{0, {}}};", first_extent));
  std::vector<std::string> closing;
  for (std::size_t k = 0; k + 1 < w.over.size(); ++k) {
    const std::string index = write_.class_name(w.over[k]);
    const std::string from = k == 0 ? "part.begin" : "0", to = k == 0 ? "part.end" : write_.class_extent(w.over[k]);
    put(fmt::format("for (int64_t {0} = {1}; {0} < {2}; ++{0}) {{", index, from, to));
    ++depth;
  }
  const bool carries = carries_deferred(w);
  if (carries) {
    put("const bool waits = waiting.waits;");
    put(fmt::format("const auto behind = {};", deferred_call));
  }
  const std::string begin = w.over.size() == 1 ? "part.begin" : "0", end = w.over.size() == 1 ? "part.end" : write_.class_extent(lane);

  text_block hoisted(depth), body(depth + (blocked ? 2 : 1));
  lane_scope scope{nullptr, &hoisted, &body, lane, &w, {}, {}};
  step_sinks_inner(scope, w);
  ask_for_next_row(body, w);
  out.append(hoisted);
  if (blocked) {
    put(fmt::format("for (int64_t block = {0}; block < {1}; block += {2}) {{", begin, end, inner_block));
    ++depth;
    for (const int i : w.sinks)
      if (at(i).kind == role::reduce && is_compensated(p_, at(i))) {
        put(fmt::format("real {}_part[U];", write_.stem(at(i).tensor)));
        put(fmt::format("fill({}_part, splat(0.0));", write_.stem(at(i).tensor)));
      }
  }
  const std::string from = blocked ? "block" : begin,
                    to = blocked ? fmt::format("std::min<int64_t>({}, block + {})", end, inner_block) : end;
  const std::string step = fmt::format("[&](int64_t {}, int lanes, int u) __attribute__((always_inline)) {{", name);
  put(carries ? "const auto step = " + step : fmt::format("each_vector<U>({}, {}, {}", from, to, step));
  out.append(body);
  put(carries ? "};" : "});");
  if (carries) {
    put("if (waits) {");
    put(fmt::format("  each_vector<U>({}, {}, {}", from, to, step));
    put(fmt::format("    step({}, lanes, u);", name));
    put(fmt::format("    behind({}, lanes, u);  // the row before", name));
    put("  });");
    put("} else {");
    put(fmt::format("  each_vector<U>({}, {}, step);", from, to));
    put("}");
  }
  if (blocked) {
    for (const int i : w.sinks)
      if (at(i).kind == role::reduce && is_compensated(p_, at(i)))
        put(fmt::format("{0}_sum.add(fold({0}_part, add));", write_.stem(at(i).tensor)));
    --depth;
    put("}");
  }
  for (std::size_t k = 0; k + 1 < w.over.size(); ++k) {
    --depth;
    put("}");
  }
  out.line("}");
  if (carries) out.line("waiting.waits = false;");
  finish_inner(out, w);
}

}  // namespace kernsmith::agents::row
