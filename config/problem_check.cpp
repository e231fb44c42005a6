// Are these axes a legal workload? Sizes and the reach of every load.
#include <fmt/format.h>

#include "config/definition_resolver.hpp"
#include "config/problem.hpp"
#include "config/refusal.hpp"
#include "config/value_ranges.hpp"

namespace kernsmith {

namespace {

std::string describe_axes(const problem& p, const std::vector<std::int64_t>& axes) {
  std::string text;
  for (std::size_t i = 0; i < axes.size(); ++i) text += fmt::format("{}{} = {}", i == 0 ? "" : ", ", p.axes[i].name, axes[i]);
  return text.empty() ? "the one workload" : text;
}

std::string describe_term(const problem& p, const statement& s, const affine_term& term) {
  std::string text;
  const std::int64_t magnitude = term.coefficient < 0 ? -term.coefficient : term.coefficient;
  const bool factors = !term.axes.empty() || term.index >= 0;
  if (magnitude != 1 || !factors) text = fmt::format("{}", magnitude);
  for (const int a : term.axes) text += (text.empty() ? "" : "*") + p.axes[static_cast<std::size_t>(a)].name;
  if (term.index >= 0) text += (text.empty() ? "" : "*") + s.variables[static_cast<std::size_t>(term.index)].name;
  return text;
}

std::string describe_position(const problem& p, const statement& s, const index_expression& position) {
  if (!position.is_affine) return "gathered";
  std::string text;
  // Terms without an index come first in normal form; people write them last.
  for (const bool indexed : {true, false}) {
    for (const affine_term& term : position.terms) {
      if ((term.index >= 0) != indexed) continue;
      const bool negative = term.coefficient < 0;
      text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
      text += describe_term(p, s, term);
    }
  }
  if (text.empty()) return fmt::format("{}", position.constant);
  if (position.constant != 0)
    text += fmt::format(" {} {}", position.constant < 0 ? "-" : "+", position.constant < 0 ? -position.constant : position.constant);
  return text;
}

std::string describe_bound(double value) {
  return fmt::format("{:.0f}", value);
}

tl::unexpected<error> refused(const problem& p, source_place place, const std::string& message) {
  return fail(fault::bad_request, place_message(p.path.string(), place, message));
}

result<void> check_load(const problem& p, const std::vector<std::int64_t>& axes, const value_ranges& ranges, const statement& s,
                        const expression& e) {
  const tensor_declaration& t = p.tensors[static_cast<std::size_t>(e.symbol)];
  for (std::size_t d = 0; d < e.indices.size(); ++d) {
    const index_expression& position = e.indices[d];
    const std::string shown = describe_position(p, s, position);
    if (position.is_affine && !ranges.fits(s, position))
      return refused(p, e.place,
                     fmt::format("index {} ({}) of '{}' is too large to compute in 53 bits, for {}; lower the axes or its coefficients",
                                 d + 1, shown, t.name, describe_axes(p, axes)));
    if (t.pad) continue;
    const value_interval reach = ranges.of_position(s, position);
    const std::int64_t extent = extent_of(t.shape[d], axes);
    if (reach.low >= 0 && reach.high <= static_cast<double>(extent - 1)) continue;
    const std::string remedy =
        position.is_affine
            ? fmt::format("declare 'pad' on '{}' or change the axes", t.name)
            : fmt::format("declare 'pad' on '{}', clamp the index with min and max, or give what it reads a narrower init", t.name);
    return refused(p, e.place,
                   fmt::format("index {} ({}) of '{}' reaches {}..{}, outside of 0..{}, for {}; {}", d + 1, shown, t.name,
                               describe_bound(reach.low), describe_bound(reach.high), extent - 1, describe_axes(p, axes), remedy));
  }
  return {};
}

}  // namespace

std::string place_message(const std::string& file, source_place place, const std::string& message) {
  std::string text = file;
  if (place.line > 0) text += fmt::format(":{}", place.line);
  if (place.line > 0 && place.column > 0) text += fmt::format(":{}", place.column);
  return text.empty() ? message : text + ": " + message;
}

result<void> check_axes(const problem& p, const std::vector<std::int64_t>& axes) {
  if (axes.size() != p.axes.size()) return refused(p, {}, fmt::format("{} axes given, the problem has {}", axes.size(), p.axes.size()));
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] < 1) return refused(p, {}, fmt::format("axis '{}' is {}; it must be at least 1", p.axes[i].name, axes[i]));
  for (const tensor_declaration& t : p.tensors) {
    std::int64_t count = 1;
    bool too_many = false;
    for (const std::int64_t extent : shape_of(t, axes)) too_many = too_many || __builtin_mul_overflow(count, extent, &count);
    if (too_many || count > max_elements_per_tensor)
      return refused(p, t.place,
                     fmt::format("'{}' has more than {} elements, the most one tensor may have, for {}; lower the axes", t.name,
                                 max_elements_per_tensor, describe_axes(p, axes)));
  }
  const value_ranges ranges(p, axes);
  for (const statement& s : p.statements) {
    for (const expression& e : s.nodes) {
      if (e.kind != expression_kind::load) continue;
      if (auto checked = check_load(p, axes, ranges, s, e); !checked) return checked;
    }
  }
  return {};
}

}  // namespace kernsmith
