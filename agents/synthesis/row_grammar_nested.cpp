// Reductions inside a sweep: a serial loop per vector, shared by all nested reductions over the same indices.
#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/row_grammar_expression.hpp"
#include "agents/synthesis/row_grammar_reduce.hpp"

namespace kernsmith::agents::row {
namespace {

// Elements summed in plain float lanes before they join a compensated total.
constexpr int nested_block = 128;

bool contains(const std::vector<int>& list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// Nested reductions, scans and buffered values that evaluating `s` reads, directly or through maps.
void sweep_values_read(const row_program& p, const row_statement& s, std::vector<int>& found) {
  for (const expression& e : s.nodes) {
    if (e.kind != expression_kind::load || p.written_by(e.symbol) < 0) continue;
    const int from = p.written_by(e.symbol);
    const row_statement& producer = p.statements[static_cast<std::size_t>(from)];
    if (producer.kind == role::nested || producer.kind == role::scan) {
      if (!contains(found, from)) found.push_back(from);
    } else if (producer.kind == role::map) {
      sweep_values_read(p, producer, found);
    }
  }
}

}  // namespace

std::string expression_writer::nested(int statement, lane_scope& scope) {
  const row_statement& lead = p_.statements[static_cast<std::size_t>(statement)];
  std::vector<int> before;
  sweep_values_read(p_, lead, before);
  for (const int i : before) value_of(i, scope);

  std::vector<int> together = {statement};
  if (scope.within != nullptr)
    for (const int i : scope.within->needed) {
      const row_statement& s = p_.statements[static_cast<std::size_t>(i)];
      std::vector<int> reads;
      sweep_values_read(p_, s, reads);
      if (i != statement && s.kind == role::nested && s.bound == lead.bound && reads.empty() && !scope.values.contains(i))
        together.push_back(i);
    }

  text_block& out = *scope.body;
  bool blocked = false;
  for (const int i : together) {
    const row_statement& s = p_.statements[static_cast<std::size_t>(i)];
    const std::string name = stem(s.tensor);
    if (is_compensated(p_, s)) {
      out.line(fmt::format("precise {}_sum;", name));
      blocked = true;
    } else {
      out.line(fmt::format("{} {}_acc = {};", accumulator_type(s), name, initial_lanes(s)));
    }
  }
  int depth = out.depth();
  const auto put = [&](const std::string& text) {
    text_block one(depth);
    one.line(text);
    out.append(one);
  };
  std::vector<int> order = lead.bound;
  const int innermost = order.back();
  for (const int c : order) {
    const std::string name = class_name(c), extent = class_extent(c);
    if (c == innermost && blocked) {
      put(fmt::format("for (int64_t {0}_block = 0; {0}_block < {1}; {0}_block += {2}) {{", name, extent, nested_block));
      ++depth;
      for (const int i : together)
        if (is_compensated(p_, p_.statements[static_cast<std::size_t>(i)]))
          put(fmt::format("real {}_part = splat(0.0);", stem(p_.statements[static_cast<std::size_t>(i)].tensor)));
      put(fmt::format("for (int64_t {0} = {0}_block; {0} < std::min<int64_t>({1}, {0}_block + {2}); ++{0}) {{", name, extent,
                      nested_block));
    } else {
      put(fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0}) {{", name, extent));
    }
    ++depth;
  }
  text_block inside(depth);
  lane_scope inner = scope;
  inner.hoisted = &inside;
  inner.body = &inside;
  for (const int i : together) {
    const row_statement& s = p_.statements[static_cast<std::size_t>(i)];
    const std::string acc = stem(s.tensor) + (is_compensated(p_, s) ? "_part" : "_acc");
    const std::string value = vector(s, s.value, accumulated_as(s), inner);
    inside.line(fmt::format("{} = {};", acc, update_lanes(s, acc, value)));
  }
  out.append(inside);
  for (auto c = order.rbegin(); c != order.rend(); ++c) {
    --depth;
    put("}");
    if (*c != innermost || !blocked) continue;
    for (const int i : together)
      if (is_compensated(p_, p_.statements[static_cast<std::size_t>(i)]))
        put(fmt::format("{0}_sum.add({0}_part);", stem(p_.statements[static_cast<std::size_t>(i)].tensor)));
    --depth;
    put("}");
  }
  for (const int i : together) {
    const row_statement& s = p_.statements[static_cast<std::size_t>(i)];
    const std::string text = stem(s.tensor) + (is_compensated(p_, s) ? "_sum.value()" : "_acc");
    const std::string name = fresh(value_name(s));
    const std::string value = convert_lanes(text, accumulated_as(s), s.type);
    out.line(fmt::format("const {} {} = {};", s.type == value_class::real ? "real" : "whole", name, rounded_to_tensor(s, value, s.type)));
    scope.values[i] = name;
  }
  return scope.values[statement];
}

}  // namespace kernsmith::agents::row
